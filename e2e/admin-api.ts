// Client of the control plane's admin API: over TLS, with the CA that the sidecar received.
import type { Kubectl } from './kubectl.ts';
import { ADMIN_KEY } from './product.ts';

export interface AdminRequest {
  method?: 'GET' | 'POST' | 'DELETE';
  /** The admin key; null sends none. Default: the key of the suites. */
  key?: string | null;
  /** Sent as JSON. */
  body?: object;
}

export interface AdminResponse<T> {
  status: number;
  body: T;
}

/** Sends the request from the sidecar of `pod` (`deploy/NAME` also works). Throws if the response has a body that is not JSON. */
export async function adminApi<T>(
  kubectl: Kubectl,
  pod: string,
  path: string,
  request: AdminRequest = {},
): Promise<AdminResponse<T>> {
  const { method = 'GET', key = ADMIN_KEY, body } = request;
  const headers = {
    ...(key === null ? {} : { 'x-admin-key': key }),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  };
  const script = `
    const url = new URL(${JSON.stringify(path)}, process.env.PLATFORM_URL);
    const ca = require('node:fs').readFileSync(process.env.PLATFORM_CA_FILE);
    const options = { ca, method: ${JSON.stringify(method)}, headers: ${JSON.stringify(headers)} };
    require('node:https').request(url, options, (response) => {
      let text = '';
      response.on('data', (chunk) => (text += chunk)).on('end', () => console.log(JSON.stringify({ status: response.statusCode, body: text === '' ? null : JSON.parse(text) })));
    }).end(${body === undefined ? '' : JSON.stringify(JSON.stringify(body))});`;
  return JSON.parse(await kubectl.script(pod, 'platform-sidecar', script)) as AdminResponse<T>;
}
