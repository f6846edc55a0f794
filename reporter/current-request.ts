import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';
import type { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';

/** A request of `node:http`, Express or Fastify, or a fetch `Request`. */
export interface RequestWithId {
  headers: Readonly<Record<string, string | string[] | undefined>> | FetchHeaders;
}

interface FetchHeaders {
  get(name: string): string | null;
}

/** The data of a request in its async context. Small, because work that outlives the request keeps it in memory. */
export interface RequestContext {
  readonly requestId: string | null;
  /** Milliseconds of `performance.now()`; null: the response has not closed. */
  closedAtMs: number | null;
  /** null: the response has closed. */
  response: ServerResponse | null;
}

/**
 * Work still belongs to the request for this time after the response has closed, in milliseconds. Usage is often recorded
 * after the response. A worker started by a request runs longer and no longer belongs to the request.
 */
const GRACE_MS = 60_000;
/** The sidecar's limit for the length of an id. */
const MAX_ID_LENGTH = 128;

const contexts = new AsyncLocalStorage<RequestContext>();
let isFollowing = false;

/** The id that the sidecar added to a request; null: the request did not come through a sidecar. */
export function requestIdOf({ headers }: RequestWithId): string | null {
  const id = isFetchHeaders(headers) ? headers.get('x-request-id') : headers['x-request-id'];
  return typeof id === 'string' && id !== '' && id.length <= MAX_ID_LENGTH ? id : null;
}

/** Tracks all new requests of this process's HTTP servers for `currentRequestId`. Idempotent. */
export function followRequests(): void {
  if (isFollowing) return;
  isFollowing = true;
  subscribe('http.server.request.start', (message) => {
    const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
    const context: RequestContext = { requestId: requestIdOf(request), closedAtMs: null, response };
    contexts.enterWith(context);
    response.once('close', () => {
      context.closedAtMs = performance.now();
      context.response = null;
    });
    // Since Node.js 24 events of the parser, such as the end of the body, run outside the context of the request.
    for (const emitter of [request, response]) keepContext(emitter, context);
  });
}

/** The request in whose async context the caller runs. null: no request, or its response closed more than one minute ago. */
export function currentRequest(nowMs = performance.now()): RequestContext | null {
  const context = contexts.getStore();
  if (context === undefined) return null;
  const { closedAtMs } = context;
  return closedAtMs === null || nowMs - closedAtMs <= GRACE_MS ? context : null;
}

/** The id of the current request. null: no current request, or the request did not come through a sidecar. */
export const currentRequestId = (nowMs?: number): string | null => currentRequest(nowMs)?.requestId ?? null;

function keepContext(emitter: EventEmitter, context: RequestContext): void {
  const emit = emitter.emit.bind(emitter);
  emitter.emit = (...event) => contexts.run(context, () => emit(...event));
}

const isFetchHeaders = (headers: RequestWithId['headers']): headers is FetchHeaders =>
  typeof headers.get === 'function';
