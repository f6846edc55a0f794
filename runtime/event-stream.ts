import type { ServerResponse } from 'node:http';
import type { Clock } from './clock.ts';

/** Proxies close idle connections, commonly after a minute. */
const HEARTBEAT_MS = 15_000;
/** A reader that receives nothing for this many heartbeats is disconnected, to free its slot for another reader. */
const MAX_STUCK = 4;
/** Milliseconds after which a disconnected reader may reconnect. */
const RETRY_MS = 1_000;

/** The head of a response with server-sent events. */
export const EVENT_STREAM_HEADERS: Readonly<Record<string, string>> = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-store, no-transform',
  // The connection ends with the stream, so that it does not delay a shutdown.
  Connection: 'close',
  // Without this header nginx would buffer the response.
  'X-Accel-Buffering': 'no',
};

/** One server-sent event. JSON has no line breaks, so the data is one line. `id`: the reader can resume after it. */
export function eventText({ data, ...head }: { event: string; data: unknown; id?: number }): string {
  return eventOfJson({ ...head, json: JSON.stringify(data) });
}

/** Like `eventText`, for data that is JSON already. */
export function eventOfJson({ event, json, id }: { event: string; json: string; id?: number }): string {
  return `event: ${event}\n${id === undefined ? '' : `id: ${id}\n`}data: ${json}\n\n`;
}

export interface EventStreamOptions {
  clock: Clock;
  /** The reader accepts data again. */
  onDrain?: () => void;
  onClose: () => void;
}

/** A response with server-sent events, whose head was sent. Sends heartbeats, and disconnects a reader that stopped reading. */
export class EventStream {
  readonly #response: ServerResponse;
  readonly #clock: Clock;
  readonly #closed = new AbortController();
  #isStuck = false;
  /** Number of heartbeats since the write buffer became full. */
  #stuckFor = 0;

  constructor(response: ServerResponse, { clock, onDrain, onClose }: EventStreamOptions) {
    this.#response = response;
    this.#clock = clock;
    response
      .on('drain', () => {
        this.#isStuck = false;
        this.#stuckFor = 0;
        onDrain?.();
      })
      .once('close', () => {
        this.#closed.abort();
        onClose();
      });
    // Sends the response head immediately, before any event.
    this.write(`retry: ${RETRY_MS}\n\n`);
    void this.#beat();
  }

  /** The connection's write buffer is full. */
  get isStuck(): boolean {
    return this.#isStuck;
  }

  /** The connection is closed, or the stream has ended. */
  get isOver(): boolean {
    return this.#closed.signal.aborted || this.#response.destroyed || this.#response.writableEnded;
  }

  /** Bytes that the reader's connection has not accepted yet. */
  get unsentBytes(): number {
    return this.#response.writableLength;
  }

  write(data: string | Uint8Array): void {
    this.#isStuck = !this.#response.write(data);
  }

  /** Ends the stream after everything that was written. */
  end(): void {
    this.#response.end();
  }

  /** Closes the connection. What was not sent is lost. */
  cut(): void {
    this.#response.destroy();
  }

  /** Ends the stream, and does not wait for a reader that does not read. */
  endNow(): void {
    if (this.unsentBytes > 0) this.cut();
    else this.end();
  }

  async #beat(): Promise<void> {
    try {
      for (;;) {
        await this.#clock.sleep(HEARTBEAT_MS, this.#closed.signal);
        if (this.#response.destroyed) return;
        if (!this.#isStuck) this.#sendHeartbeat();
        else if (++this.#stuckFor >= MAX_STUCK) this.cut();
      }
    } catch {
      // The reader has disconnected.
    }
  }

  #sendHeartbeat(): void {
    if (!this.#response.writableEnded) this.write(': heartbeat\n\n');
  }
}
