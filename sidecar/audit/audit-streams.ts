import type { Response } from 'express';
import type { Clock } from '../../runtime/clock.ts';
import type { AuditLog } from './audit-log.ts';
import { StreamReader, type StreamMessage, type StreamStart } from './stream-reader.ts';

/** Maximum number of concurrent readers. */
export const MAX_STREAMS = 32;
/** Proxies close idle connections, commonly after a minute. */
const HEARTBEAT_MS = 15_000;
/** A reader that receives nothing for this many heartbeats is disconnected, to free its slot for another reader. */
const MAX_STUCK = 4;
/** Characters per write; other work of the process runs between two writes. */
const BATCH = 65_536;
/** Milliseconds after which a disconnected reader may reconnect. */
const RETRY_MS = 1_000;

export interface AuditStreamsOptions {
  audit: AuditLog;
  clock: Clock;
  /** Ends all streams. */
  signal: AbortSignal;
}

/** The connected readers of `GET /audit/stream`. */
export class AuditStreams {
  readonly #options: AuditStreamsOptions;
  #open = 0;

  constructor(options: AuditStreamsOptions) {
    this.#options = options;
  }

  get isFull(): boolean {
    return this.#open >= MAX_STREAMS;
  }

  /** Writes to this response, whose head was sent, until either side closes the connection. */
  connect(response: Response, start: StreamStart): void {
    this.#open += 1;
    response.once('close', () => (this.#open -= 1));
    new AuditStream(response, this.#options, start).start();
  }
}

/** One reader. Entries that it has not received yet stay in the ring and the journal. */
class AuditStream {
  readonly #response: Response;
  readonly #options: AuditStreamsOptions;
  readonly #reader: StreamReader;
  readonly #closed = new AbortController();
  /** The connection's write buffer is full. */
  #isStuck = false;
  /** Number of heartbeats since the write buffer became full. */
  #stuckFor = 0;
  #isScheduled = false;
  /** The sidecar is stopping. */
  #isFinishing = false;

  constructor(response: Response, options: AuditStreamsOptions, start: StreamStart) {
    this.#response = response;
    this.#options = options;
    this.#reader = new StreamReader(options.audit, start);
  }

  start(): void {
    const { audit, signal } = this.#options;
    const unsubscribe = audit.journal.subscribe(this.#schedule);
    signal.addEventListener('abort', this.#finish);
    this.#response
      .on('drain', () => {
        this.#isStuck = false;
        this.#stuckFor = 0;
        this.#schedule();
      })
      .once('close', () => {
        unsubscribe();
        signal.removeEventListener('abort', this.#finish);
        this.#closed.abort();
      });
    // Sends the response head immediately, before any entry completes.
    this.#write(`retry: ${RETRY_MS}\n\n`);
    this.#schedule();
    if (signal.aborted) this.#finish();
    void this.#beat();
  }

  /** Delayed, so that entries of one event loop turn are sent together, after the responses that they describe. */
  readonly #schedule = (): void => {
    if (this.#isScheduled || this.#isStuck || this.#closed.signal.aborted) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      if (this.#pump()) this.#schedule();
    });
  };

  /** Writes a batch; false: nothing more to write, or the write buffer is full. */
  #pump(): boolean {
    if (this.#isStuck || this.#response.destroyed || this.#response.writableEnded) return false;
    let text = '';
    while (text.length < BATCH) {
      const message = this.#reader.next();
      if (message === null) break;
      text += wireOf(message);
    }
    if (text !== '') this.#write(text);
    const hasMore = text.length >= BATCH;
    if (!hasMore && this.#isFinishing) this.#response.end();
    return hasMore && !this.#isStuck;
  }

  #write(text: string): void {
    this.#isStuck = !this.#response.write(text);
  }

  async #beat(): Promise<void> {
    const { clock } = this.#options;
    try {
      for (;;) {
        await clock.sleep(HEARTBEAT_MS, this.#closed.signal);
        if (this.#response.destroyed) return;
        if (!this.#isStuck) this.#write(': heartbeat\n\n');
        else if (++this.#stuckFor >= MAX_STUCK) this.#response.destroy();
      }
    } catch {
      // The reader has disconnected.
    }
  }

  /** Sends the remaining entries and ends the response when the sidecar stops. */
  readonly #finish = (): void => {
    this.#isFinishing = true;
    this.#schedule();
  };
}

/** JSON has no line breaks, so each message is one `data` line. Only entries have an id, after which a reader can resume. */
function wireOf(message: StreamMessage): string {
  if (message.kind === 'gap') return `event: gap\ndata: ${JSON.stringify({ lost: message.lost })}\n\n`;
  const { kind, entry } = message;
  const id = kind === 'entry' ? `id: ${entry.seq}\n` : '';
  return `event: ${kind}\n${id}data: ${JSON.stringify(entry)}\n\n`;
}
