import type { ClientRequest } from './client-message.ts';
import type { Framed } from './framing.ts';
import { requestHeaders, requestTrailers, type ForwardedFor } from './headers.ts';
import type { UpstreamRequest } from './upstream.ts';

const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'QUERY']);
const IDEMPOTENT: ReadonlySet<string> = new Set([...SAFE, 'PUT', 'DELETE']);

/** The client's request as it is sent to the agent, without its body. */
export function agentRequest(
  request: ClientRequest,
  { path, host, body }: Framed & { ok: true },
  own: Pick<ForwardedFor, 'requestId' | 'traceparent'>,
): UpstreamRequest {
  const remoteAddress = request.socket.remoteAddress ?? 'unknown';
  return {
    method: request.method ?? 'GET',
    path,
    headers: requestHeaders(request.rawHeaders, { ...own, host, remoteAddress }),
    body: null,
    chunked: body === 'chunked',
    trailers: () => requestTrailers(request.rawTrailers),
  };
}

/** Whether the order of such requests does not matter: the method is safe and there is no body. */
export function isSafe({ method }: UpstreamRequest, { body }: Framed & { ok: true }): boolean {
  return SAFE.has(method) && body === 'none';
}

/** Whether a request without a body may be sent twice: the agent may have received the first request. */
export function isRepeatable({ method }: UpstreamRequest): boolean {
  return IDEMPOTENT.has(method);
}
