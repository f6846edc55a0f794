import { jsonOf } from '../core/untrusted/fields.ts';
import { exchange, type Exchange } from '../probe/http-exchange.ts';

export type ResponseHeaders = (Exchange & { answered: true })['headers'];

/** The readiness report takes up to five seconds even if its probes hang. */
const TIMEOUT_MS = 15_000;
const MAX_BYTES = 32 * 1024 * 1024;

const ADVICE = {
  reach:
    'Check that the sidecar is running and that the URL is its control port (4001). In a cluster: kubectl port-forward pod/<pod> 4001, then use http://localhost:4001',
  other: 'Pass the control port of a sidecar (4001), not its proxy port (4000) or the agent.',
  local:
    'It restricts remote access (CONTROL_ACCESS=local). Use a port-forward: kubectl port-forward pod/<pod> 4001, then use http://localhost:4001',
} as const;

/** Why a sidecar returned no report, with advice for the user. */
export class SidecarFailure extends Error {
  readonly advice: string;

  constructor(reason: string, advice: keyof typeof ADVICE) {
    super(reason);
    this.advice = ADVICE[advice];
  }
}

/** What went wrong and what to do. Throws every other error. */
export function failureText(error: unknown): string {
  if (!(error instanceof SidecarFailure)) throw error;
  return `${error.message}\n${error.advice}`;
}

/** The URL without user and password. */
export function shownUrl({ origin, pathname }: URL): string {
  return `${origin}${pathname.replace(/\/+$/, '')}`;
}

/**
 * `GET path` of the sidecar at `base`, which may end with `/platform`. `parse` returns null for an invalid response.
 * Rejects with a SidecarFailure.
 */
export async function requestJson<T>(
  base: URL,
  path: string,
  parse: (value: unknown, headers: ResponseHeaders) => T | null,
  signal?: AbortSignal,
): Promise<T> {
  const server = shownUrl(base);
  const response = await exchange(new URL(`${base.pathname.replace(/\/+$/, '')}${path}`, base), {
    timeoutMs: TIMEOUT_MS,
    maxBytes: MAX_BYTES,
    signal,
  });
  if (!response.answered)
    throw new SidecarFailure(`cannot connect to ${server}: ${response.reason}`, 'reach');
  const { status, body, headers } = response;
  const route = `GET ${path.replace(/\?.*/, '')}`;
  if (status === 403) throw new SidecarFailure(`${server} returned 403 for ${route}`, 'local');
  // Readiness returns 503 if the agent is not ready.
  if (status !== 200 && !(status === 503 && path === '/health/ready'))
    throw new SidecarFailure(
      `${server} is not the control port of a sidecar: ${route} returned ${status}`,
      'other',
    );
  if (body === null)
    throw new SidecarFailure(
      `${server} sent no complete response to ${route} (limit ${MAX_BYTES >> 20} MiB)`,
      'reach',
    );
  if (body.length === 0) throw new SidecarFailure(`${server} returned no body for ${route}`, 'local');
  const value = parse(jsonOf(body.toString('utf8')), headers);
  if (value === null) throw invalidResponse(base, route);
  return value;
}

/** The failure for a response that no sidecar sends. `route`: for example `GET /audit`. */
export function invalidResponse(base: URL, route: string): SidecarFailure {
  return new SidecarFailure(`${shownUrl(base)} returned an invalid response to ${route}`, 'other');
}
