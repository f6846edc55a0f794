import type { IncomingHttpHeaders } from 'node:http';
import { jsonOf } from '../../core/untrusted/fields.ts';
import { quoted } from '../../core/untrusted/quoted.ts';
import { exchange, type Exchange } from '../../probe/http-exchange.ts';
import { detailOf, urlBelow } from '../../push/push-heartbeat.ts';
import { notFound, type Found } from '../admin-key.ts';
import { shownUrl } from '../sidecar-request.ts';
import type { Target } from './target.ts';

/** The readiness report of a sidecar takes up to five seconds even if its probes hang. */
const TIMEOUT_MS = 15_000;
const MAX_BYTES = 4 * 1024 * 1024;
const MAX_DETAIL = 300;

/** One GET request. */
export interface Route {
  path: string;
  query?: Readonly<Record<string, string | number | undefined>>;
  /** Status with a report, in addition to 200. */
  alsoStatus?: number;
}

export interface Reply {
  value: unknown;
  headers: IncomingHttpHeaders;
}

/** Requests JSON from the target. Errors are for people and never contain the admin key. Never rejects. */
export async function getJson(target: Target, route: Route, signal: AbortSignal): Promise<Found<Reply>> {
  const response = await exchange(withQuery(urlBelow(target.base, route.path), route.query ?? {}), {
    headers: headersOf(target),
    timeoutMs: TIMEOUT_MS,
    maxBytes: MAX_BYTES,
    signal,
  });
  const server = serverOf(target);
  if (!response.answered)
    return notFound(`cannot connect to ${server}: ${response.reason}. ${REACH[target.mode]}`);
  const { status, body, headers } = response;
  if (status !== 200 && status !== route.alsoStatus) return notFound(statusFailure(target, route, response));
  if (body === null)
    return notFound(
      `${server} sent no complete response to GET ${route.path} (limits: ${MAX_BYTES >> 20} MiB, ${TIMEOUT_MS / 1_000} s)`,
    );
  return { ok: true, value: { value: jsonOf(body.toString('utf8')), headers } };
}

/** The target in messages and results, for example `the sidecar at http://localhost:4001`. */
export function serverOf({ mode, base }: Target): string {
  return `the ${mode === 'sidecar' ? 'sidecar' : 'control plane'} at ${shownUrl(base)}`;
}

export function headersOf(target: Target): Record<string, string> {
  return target.mode === 'sidecar' ? {} : { 'x-admin-key': target.adminKey };
}

export function withQuery(url: URL, query: Readonly<Record<string, string | number | undefined>>): URL {
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) url.searchParams.set(name, String(value));
  return url;
}

const REACH = {
  sidecar:
    'Check that the sidecar is running and that the URL is its control port (4001). In a cluster use a port-forward: kubectl port-forward pod/<pod> 4001',
  operator: 'Check the URL and that the control plane is running',
} as const;

/** What to do about a status, by mode. */
const ADVICE: Readonly<Record<string, string>> = {
  'sidecar 403':
    'it restricts remote access (CONTROL_ACCESS=local); use a port-forward: kubectl port-forward pod/<pod> 4001',
  'sidecar 404': 'check that the URL is the control port of a sidecar (4001), not its proxy port (4000)',
  'operator 401': 'check whether a proxy removes the header X-Admin-Key',
  'operator 403': 'the admin key differs from the PLATFORM_ADMIN_KEY of this control plane',
};

function statusFailure(target: Target, { path }: Route, response: Exchange & { answered: true }): string {
  const { status, body } = response;
  const detail = detailOf(body?.toString('utf8') ?? '');
  const advice = ADVICE[`${target.mode} ${status}`];
  return [
    `${serverOf(target)} returned ${status} for GET ${path}`,
    ...(detail === '' ? [] : [`detail ${quoted(detail, MAX_DETAIL)}`]),
    ...(advice === undefined ? [] : [advice]),
  ].join('; ');
}
