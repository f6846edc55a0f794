import type { Dispatcher } from 'undici';

/** A request that the fence blocked. */
export class NotAllowed extends Error {
  override readonly name = 'NotAllowed';
}

/**
 * Wraps the dispatcher so that a request is blocked while `isAllowed` returns false. `isAllowed` is called right before the
 * request is written to its connection, so a process that was suspended after its decision to write does not write late.
 * A process suspended in the microseconds between this call and the socket's write still sends that one request: its
 * resourceVersion, or its being a creation, must prevent it from overwriting newer data.
 */
export function fenced(dispatcher: Dispatcher, isAllowed: () => boolean): Dispatcher {
  return dispatcher.compose(
    (dispatch) => (options, handler) => dispatch(options, new FencedHandler(handler, isAllowed)),
  );
}

class FencedHandler implements Dispatcher.DispatchHandler {
  readonly #handler: Dispatcher.DispatchHandler;
  readonly #isAllowed: () => boolean;

  constructor(handler: Dispatcher.DispatchHandler, isAllowed: () => boolean) {
    this.#handler = handler;
    this.#isAllowed = isAllowed;
  }

  onRequestStart(...parts: Parameters<NonNullable<Dispatcher.DispatchHandler['onRequestStart']>>): void {
    if (!this.#isAllowed()) throw new NotAllowed('write blocked: this process is not the leader');
    this.#handler.onRequestStart?.(...parts);
  }

  onResponseStart(...parts: Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>): void {
    this.#handler.onResponseStart?.(...parts);
  }

  onResponseData(...parts: Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseData']>>): void {
    this.#handler.onResponseData?.(...parts);
  }

  onResponseEnd(...parts: Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseEnd']>>): void {
    this.#handler.onResponseEnd?.(...parts);
  }

  onResponseError(...parts: Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseError']>>): void {
    this.#handler.onResponseError?.(...parts);
  }
}
