import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';
import type { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';

/** A request of `node:http` (or Express, or Fastify's), or one of fetch. */
export interface RequestWithId {
  headers: Readonly<Record<string, string | string[] | undefined>> | FetchHeaders;
}

interface FetchHeaders {
  get(name: string): string | null;
}

/** What a request leaves in its async context: little, since work that outlives the request keeps it. */
interface RequestContext {
  requestId: string | null;
  /** Milliseconds of `performance.now()`; null: the response has not closed. */
  closedAtMs: number | null;
}

/**
 * Milliseconds after the response has closed in which work belongs to the request. Usage is often recorded after the
 * response was sent; a worker that a request has started goes on for longer.
 */
const GRACE_MS = 60_000;
/** The sidecar's limit of an id. */
const MAX_ID_LENGTH = 128;

const contexts = new AsyncLocalStorage<RequestContext>();
let isFollowing = false;

/** The id that the sidecar gave a request; null: the request did not come through a sidecar. */
export function requestIdOf({ headers }: RequestWithId): string | null {
  const id = isFetchHeaders(headers) ? headers.get('x-request-id') : headers['x-request-id'];
  return typeof id === 'string' && id !== '' && id.length <= MAX_ID_LENGTH ? id : null;
}

/** Makes the requests that this process's HTTP servers receive from now on known to `currentRequestId`; idempotent. */
export function followRequests(): void {
  if (isFollowing) return;
  isFollowing = true;
  subscribe('http.server.request.start', (message) => {
    const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
    const context: RequestContext = { requestId: requestIdOf(request), closedAtMs: null };
    contexts.enterWith(context);
    response.once('close', () => {
      context.closedAtMs = performance.now();
    });
    // Since Node.js 24 what the parser emits (the end of the body) has not the context of the request.
    for (const emitter of [request, response]) keepContext(emitter, context);
  });
}

/**
 * The id of the request in whose async context the caller runs; null: there is none, it did not come through a sidecar, or
 * its response has closed more than a minute ago.
 */
export function currentRequestId(nowMs = performance.now()): string | null {
  const context = contexts.getStore();
  if (context === undefined) return null;
  const { requestId, closedAtMs } = context;
  return closedAtMs === null || nowMs - closedAtMs <= GRACE_MS ? requestId : null;
}

function keepContext(emitter: EventEmitter, context: RequestContext): void {
  const emit = emitter.emit.bind(emitter);
  emitter.emit = (...event) => contexts.run(context, () => emit(...event));
}

const isFetchHeaders = (headers: RequestWithId['headers']): headers is FetchHeaders =>
  typeof headers.get === 'function';
