import type { Response } from 'express';
import type { Clock } from '../../runtime/clock.ts';
import { EventStream, eventText } from '../../runtime/event-stream.ts';
import type { AuditLog } from './audit-log.ts';
import { StreamReader, type StreamMessage, type StreamStart } from './stream-reader.ts';

/** Maximum number of concurrent readers. */
export const MAX_STREAMS = 32;
/** Characters per write; other work of the process runs between two writes. */
const BATCH = 65_536;

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
  readonly #signal: AbortSignal;
  readonly #reader: StreamReader;
  readonly #stream: EventStream;
  #isScheduled = false;
  /** The sidecar is stopping. */
  #isFinishing = false;

  constructor(response: Response, { audit, clock, signal }: AuditStreamsOptions, start: StreamStart) {
    this.#signal = signal;
    this.#reader = new StreamReader(audit, start);
    const unsubscribe = audit.journal.subscribe(this.#schedule);
    signal.addEventListener('abort', this.#finish);
    const onClose = (): void => {
      unsubscribe();
      signal.removeEventListener('abort', this.#finish);
    };
    this.#stream = new EventStream(response, { clock, onDrain: this.#schedule, onClose });
  }

  start(): void {
    this.#schedule();
    if (this.#signal.aborted) this.#finish();
  }

  /** Delayed, so that entries of one event loop turn are sent together, after the responses that they describe. */
  readonly #schedule = (): void => {
    if (this.#isScheduled || this.#stream.isStuck || this.#stream.isOver) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      if (this.#pump()) this.#schedule();
    });
  };

  /** Writes a batch; false: nothing more to write, or the write buffer is full. */
  #pump(): boolean {
    if (this.#stream.isStuck || this.#stream.isOver) return false;
    let text = '';
    while (text.length < BATCH) {
      const message = this.#reader.next();
      if (message === null) break;
      text += wireOf(message);
    }
    if (text !== '') this.#stream.write(text);
    const hasMore = text.length >= BATCH;
    if (!hasMore && this.#isFinishing) this.#stream.end();
    return hasMore && !this.#stream.isStuck;
  }

  /** Sends the remaining entries and ends the response when the sidecar stops. */
  readonly #finish = (): void => {
    this.#isFinishing = true;
    this.#schedule();
  };
}

/** Only entries have an id, after which a reader can resume. */
function wireOf(message: StreamMessage): string {
  if (message.kind === 'gap') return eventText({ event: 'gap', data: { lost: message.lost } });
  const { kind: event, entry: data } = message;
  return eventText({ event, data, ...(event === 'entry' && { id: data.seq }) });
}
