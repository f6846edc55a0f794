import { agentDetail } from '../../core/shapes/agent-detail.ts';
import { agentSelection } from '../../core/shapes/agent-row.ts';
import { stopEntry } from '../../core/shapes/agent-stop.ts';
import { parseWith, type Field } from '../../core/shapes/field.ts';
import { list } from '../../core/shapes/object.ts';
import { jsonOf } from '../../core/untrusted/fields.ts';
import { exchange } from '../../probe/http-exchange.ts';
import { detailOf, urlBelow } from '../../push/push-heartbeat.ts';
import { shownUrl } from '../sidecar-request.ts';
import type { AgentKey, Stops } from './stops.ts';

const TIMEOUT_MS = 15_000;
const MAX_BYTES = 32 * 1024 * 1024;
const STOPS = '/api/v1/stops';
const AGENTS = '/api/v1/agents';
const DIRECT = 'in a cluster, use a kubeconfig instead of --url, with --direct if no control plane runs';

interface ControlPlaneAccess {
  base: URL;
  headers: Readonly<Record<string, string>>;
  ca: string | null;
}

class RouteError extends Error {
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

/** Sends one request; `path` may have a query. Throws a RouteError. */
async function send(
  { base, headers, ca }: ControlPlaneAccess,
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  body?: object,
): Promise<{ text: string; link: string }> {
  const url = urlBelow(base, path.replace(/\?.*/, ''));
  url.search = path.replace(/^[^?]*/, '');
  const server = shownUrl(base);
  const response = await exchange(url, {
    method,
    headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
    maxBytes: MAX_BYTES,
    timeoutMs: TIMEOUT_MS,
    ca: ca ?? undefined,
  });
  if (!response.answered)
    throw new RouteError(`cannot connect to ${server}: ${response.reason}; ${DIRECT}`, 0);
  const { status } = response;
  const text = response.body?.toString('utf8') ?? '';
  if (status < 400) return { text, link: [response.headers['link'] ?? ''].flat().join() };
  const detail = detailOf(text);
  const what = `${server} returned ${status} for ${method} ${path.replace(/\?.*/, '')}${detail && `: ${detail}`}`;
  throw new RouteError(`${what}${adviceOf(status, path, 'authorization' in headers)}`, status);
}

function adviceOf(status: number, path: string, isToken: boolean): string {
  if (status === 401 || status === 403)
    return `; the request had ${isToken ? 'the token of PLATFORM_TOKEN' : 'the key of PLATFORM_ADMIN_KEY or --admin-key-file'}`;
  if (path === STOPS && (status === 404 || status === 405))
    return `; it is not a control plane that stops agents, or an earlier version; ${DIRECT}`;
  return status >= 500 ? `; ${DIRECT}` : '';
}

function parsed<T>(field: Field<T>, { text }: { text: string }): T {
  const result = parseWith(field, jsonOf(text));
  if (result.ok) return result.value;
  throw new RouteError('the control plane returned an invalid response; check its version', 200);
}

/** null if the object does not exist. */
async function orMissing<T>(act: Promise<T>): Promise<T | null> {
  try {
    return await act;
  } catch (error) {
    if (error instanceof RouteError && error.status === 404) return null;
    throw error;
  }
}

const pathOf = (root: string, ...parts: string[]): string =>
  [root, ...parts.map(encodeURIComponent)].join('/');

/** Stops through the routes of a control plane. */
export const stopsByRoutes = (access: ControlPlaneAccess): Stops => ({
  pods: null,
  list: async () => parsed(list('The stops.', stopEntry), await send(access, 'GET', STOPS)),
  create: async (request) => parsed(stopEntry, await send(access, 'POST', STOPS, request)),
  async remove({ namespace, name }) {
    await orMissing(send(access, 'DELETE', pathOf(STOPS, namespace, name)));
  },
  async agents(namespace) {
    const all: AgentKey[] = [];
    const only = namespace === null ? '' : `&namespace=${encodeURIComponent(namespace)}`;
    for (let path = `${AGENTS}?limit=1000&fields=namespace,agentName${only}`; path !== '';) {
      const page = await send(access, 'GET', path);
      for (const { namespace: home = '', agentName: name = '' } of parsed(
        list('Agents.', agentSelection),
        page,
      ))
        all.push({ namespace: home, name });
      path = /<([^>]+)>; rel="next"/.exec(page.link)?.[1] ?? '';
    }
    return all;
  },
  async status({ namespace, name }) {
    const path = `${pathOf(AGENTS, name)}?namespace=${encodeURIComponent(namespace)}`;
    const found = await orMissing(send(access, 'GET', path));
    return found && parsed(agentDetail, found).status;
  },
});
