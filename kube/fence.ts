import type { Dispatcher } from 'undici';

/** A request that had to stay here. */
export class NotAllowed extends Error {
  override readonly name = 'NotAllowed';
}

/**
 * The dispatcher, but a request whose turn comes while `isAllowed` says no stays here. It is asked when the request is
 * about to be written to its connection: a process that was suspended between the decision and that moment finds out.
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
    if (!this.#isAllowed()) throw new NotAllowed('this process does not lead, so it writes nothing');
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
