// The control plane's API as a person with the admin key asks it: over TLS, with the authority that a sidecar was given.
import type { Kubectl } from './kubectl.ts';
import { ADMIN_KEY } from './product.ts';

export interface AdminRequest {
  method?: 'GET' | 'POST' | 'DELETE';
  /** The admin key; null sends none. Default: the suites' own. */
  key?: string | null;
  /** Sent as JSON. */
  body?: object;
}

export interface AdminAnswer<T> {
  status: number;
  body: T;
}

/** Asks from inside the sidecar of `pod` (`deploy/NAME` will do). Throws when nothing that is JSON answers. */
export async function adminApi<T>(
  kubectl: Kubectl,
  pod: string,
  path: string,
  request: AdminRequest = {},
): Promise<AdminAnswer<T>> {
  const { method = 'GET', key = ADMIN_KEY, body } = request;
  const headers = {
    ...(key === null ? {} : { 'x-admin-key': key }),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  };
  const script = `
    const url = new URL(${JSON.stringify(path)}, process.env.PLATFORM_URL);
    const ca = require('node:fs').readFileSync(process.env.PLATFORM_CA_FILE);
    const options = { ca, method: ${JSON.stringify(method)}, headers: ${JSON.stringify(headers)} };
    require('node:https').request(url, options, (answer) => {
      let text = '';
      answer.on('data', (chunk) => (text += chunk)).on('end', () => console.log(JSON.stringify({ status: answer.statusCode, body: JSON.parse(text) })));
    }).end(${body === undefined ? '' : JSON.stringify(JSON.stringify(body))});`;
  return JSON.parse(await kubectl.script(pod, 'platform-sidecar', script)) as AdminAnswer<T>;
}
