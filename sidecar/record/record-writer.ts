import { hash } from 'node:crypto';
import { MAX_LINE_BYTES, type RecordLines } from '../../core/record/line.ts';
import type { Place, RecordEvent } from '../../core/record/record-event.ts';
import { describeError } from '../../core/untrusted/describe-error.ts';
import { slept, type Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { ChainStart } from './chain-start.ts';
import type { Destination } from './destination.ts';

export interface RecordWriterOptions {
  destination: Destination;
  /** Makes the lines of the chain that `start` continues. */
  lines: RecordLines;
  start: ChainStart;
  /** The manifest in force, for each line. */
  manifest: () => Pick<Place, 'manifestDigest' | 'provider'>;
  clock: Clock;
  logger: Pick<Logger, 'info' | 'warn'>;
}

/** The newest line that was written. */
export interface RecordHead {
  sequence: number;
  /** SHA-256 of the line, in hex. */
  head: string;
  /** When it was written. */
  at: Date;
}

const BUFFER_BYTES = 2 * 1_048_576;
/** After a failed write, in milliseconds. */
const RETRY_MS = 1_000;
/** At the end of the process, in milliseconds. */
const CLOSE_MS = 2_000;

/** Lines that wait for a write. */
class LineBuffer {
  readonly bytes = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  length = 0;
  /** Number of lines. The texts are not kept: they would outlive the young generation, which costs more than to decode them. */
  count = 0;

  get hasRoom(): boolean {
    return this.length + MAX_LINE_BYTES + 1 <= BUFFER_BYTES;
  }

  add(line: string): void {
    this.length += this.bytes.write(line, this.length);
    this.bytes[this.length++] = 0x0a;
    this.count += 1;
  }

  lines(): string[] {
    return this.bytes.toString('utf8', 0, this.length - 1).split('\n');
  }

  clear(): void {
    this.length = 0;
    this.count = 0;
  }
}

/**
 * Writes events as lines, each with the hash of the line before. While one buffer is written, the other one fills; an event for which
 * both have no room is lost, counted at once, and the next line states how many were lost. A line in a buffer is repeated until it is
 * written, so the chain has no holes while the process lives.
 */
export class RecordWriter {
  /** Events since the start of the process. */
  readonly counts = { written: 0, dropped: 0, failures: 0 };
  /** null: no line was written yet. */
  head: RecordHead | null = null;
  /** Receives the lines after they were written; null: nothing does. */
  onWritten: ((lines: readonly string[]) => void) | null = null;
  readonly #options: RecordWriterOptions;
  /** Aborts when the last attempt begins, and when the writer ends. */
  readonly #closing = new AbortController();
  readonly #ended = new AbortController();
  #active = new LineBuffer();
  #spare = new LineBuffer();
  #sequence: number;
  #prev: string;
  /** Lost events that no line states yet. */
  #lost = 0;
  #draining: Promise<void> | null = null;
  #isFailing = false;

  constructor(options: RecordWriterOptions) {
    this.#options = options;
    this.#sequence = options.start.sequence;
    this.#prev = options.start.prev;
  }

  /** Adds the line of an event, or counts the event as lost. */
  add(event: RecordEvent): void {
    if (!this.#active.hasRoom) this.flush();
    if (this.#lost > 0 && this.#active.hasRoom) {
      const gap: RecordEvent = {
        ...{ kind: 'gap', lost: this.#lost, reason: 'the audit log could not be written' },
        at: this.#options.clock.now().getTime(),
      };
      this.#lost = 0;
      this.#append(gap);
    }
    if (this.#active.hasRoom) this.#append(event);
    else this.lose(1);
  }

  /** Counts events that are lost before they became lines. */
  lose(count: number): void {
    this.counts.dropped += count;
    this.#lost += count;
  }

  /** Begins to write what the buffers contain. */
  flush(): void {
    if (this.#active.length > 0) this.#draining ??= this.#drain();
  }

  /** Writes the rest, for at most two seconds. What remains is counted as lost. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.flush();
    const { clock, destination, logger } = this.#options;
    await Promise.race([this.#draining, clock.sleep(CLOSE_MS).catch(() => undefined)]);
    this.#ended.abort();
    const left = this.#active.count + this.#spare.count;
    if (left > 0) {
      this.counts.dropped += left;
      logger.warn('audit log incomplete', { lost: left });
    }
    await Promise.race([destination.close(), clock.sleep(CLOSE_MS).catch(() => undefined)]);
  }

  #append(event: RecordEvent): void {
    const line = this.#lineOf(event);
    if (line === null) return;
    this.#sequence += 1;
    this.#prev = hash('sha256', line);
    this.#active.add(line);
  }

  /** null: there is no valid line, and the event is lost. */
  #lineOf(event: RecordEvent): string | null {
    const { lines, manifest, logger } = this.#options;
    try {
      return lines.line(event, { sequence: this.#sequence + 1, prev: this.#prev, ...manifest() });
    } catch (error) {
      // Requests go on, whatever they contain.
      this.lose(1);
      logger.warn('failed to record event', { kind: event.kind, error: describeError(error) });
      return null;
    }
  }

  async #drain(): Promise<void> {
    while (this.#active.length > 0 && !this.#ended.signal.aborted) {
      const full = this.#active;
      this.#active = this.#spare;
      this.#spare = full;
      const last = { sequence: this.#sequence, head: this.#prev };
      if (!(await this.#write(full))) break;
      this.counts.written += full.count;
      this.head = { ...last, at: this.#options.clock.now() };
      this.onWritten?.(full.lines());
      full.clear();
    }
    // In the same turn as the last check: an event that is added later begins a new write.
    this.#draining = null;
  }

  /** false: the writer was closed before all bytes were written. */
  async #write({ bytes, length }: LineBuffer): Promise<boolean> {
    const { destination, clock } = this.#options;
    const { signal } = this.#ended;
    for (let from = 0; from < length && !signal.aborted;) {
      try {
        const startsLine = from === 0 || bytes[from - 1] === 0x0a;
        from += await destination.write(bytes.subarray(from, length), startsLine);
        this.#note(null);
      } catch (error) {
        this.#note(error);
        if (this.#closing.signal.aborted) return false;
        await slept(clock, RETRY_MS, this.#closing.signal);
      }
    }
    return !signal.aborted;
  }

  /** Logs one line per change of state. */
  #note(error: unknown): void {
    const { logger } = this.#options;
    if (error !== null) this.counts.failures += 1;
    if ((error !== null) === this.#isFailing) return;
    this.#isFailing = error !== null;
    if (error === null) logger.info('audit log writable again', { lost: this.counts.dropped });
    else logger.warn('failed to write audit log', { error: describeError(error) });
  }
}
