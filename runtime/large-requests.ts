import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Clock } from './clock.ts';
import { sendProblem } from './http-app.ts';
import { Problem } from './problem.ts';

export interface LargeRequestOptions {
  /** A request whose body is longer than this, or of unknown length, is large; bytes. */
  above: number;
  /** How long one large request may take until its connection is closed, in milliseconds. */
  holdMs: number;
  /** How many large requests may wait; the next one gets 503. */
  mostWaiting: number;
  clock: Clock;
}

/**
 * Passes large requests to `handler` one at a time, so that their bodies are never in memory together. No byte of a waiting
 * request's body is read. Every other request passes at once.
 */
export function oneLargeRequestAtATime(
  handler: RequestListener,
  { above, holdMs, mostWaiting, clock }: LargeRequestOptions,
): RequestListener {
  const waiting = new Set<() => void>();
  let isBusy = false;

  function start(request: IncomingMessage, response: ServerResponse): void {
    isBusy = true;
    const ended = new AbortController();
    clock.sleep(holdMs, ended.signal).then(
      () => request.destroy(),
      () => undefined,
    );
    response.once('close', () => {
      ended.abort();
      isBusy = false;
      const [next] = waiting;
      next?.();
    });
    handler(request, response);
  }

  return (request, response) => {
    if (!isLarge(request, above)) {
      handler(request, response);
    } else if (!isBusy) {
      start(request, response);
    } else if (waiting.size >= mostWaiting) {
      const headers = { 'retry-after': '1', connection: 'close' };
      sendProblem(response, new Problem(503, 'too many large requests are waiting', { headers }));
    } else {
      const gone = (): void => void waiting.delete(next);
      const next = (): void => {
        waiting.delete(next);
        response.off('close', gone);
        start(request, response);
      };
      waiting.add(next);
      response.once('close', gone);
    }
  };
}

function isLarge({ headers }: IncomingMessage, above: number): boolean {
  if (headers['transfer-encoding'] !== undefined) return true;
  return Number(headers['content-length'] ?? 0) > above;
}
