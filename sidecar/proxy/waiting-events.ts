import type { ResponseWriter } from './response-writer.ts';
import { internalFailure, type UpstreamFailure, type UpstreamRequestHandle } from './upstream.ts';

/** The exchange whose events wait. */
export interface WaitingExchange {
  writer: ResponseWriter;
  control: () => UpstreamRequestHandle | null;
  onError: (failure: UpstreamFailure) => void;
}

/** The events of a response that wait, in their order, for a decision on the response. */
export class WaitingEvents {
  /** null: no decision is pending. */
  #events: (() => void)[] | null = null;

  get isPending(): boolean {
    return this.#events !== null;
  }

  /** A decision is pending: call `add` for each event until `settle`. */
  begin(): void {
    this.#events = [];
  }

  /** Returns how many events wait. */
  add(event: () => void): number {
    return this.#events?.push(event) ?? 0;
  }

  /** Continues with `go` and the events, each of which may begin another decision. An error in them ends the exchange. */
  settle(go: () => void, { writer, control, onError }: WaitingExchange): void {
    const events = this.#events ?? [];
    this.#events = null;
    try {
      go();
      for (const each of events) each();
      writer.flush();
    } catch (error) {
      this.#events = null;
      control()?.abort();
      onError(internalFailure(error));
      return;
    }
    if (this.#events === null && !writer.isFull) control()?.resume();
  }
}
