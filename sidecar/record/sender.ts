import { pauseAfterFailure, pauseAfterLimit } from '../../push/schedule.ts';
import { slept, type Clock } from '../../runtime/clock.ts';
import { describeError, type Logger } from '../../runtime/logger.ts';
import type { Receiver, SendOutcome } from './receivers.ts';
import type { LineSource, LossReason } from './recorded-line.ts';

/** Between two looks at a record without new lines. */
const IDLE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

export interface SenderOptions {
  source: LineSource;
  receiver: Receiver;
  clock: Clock;
  logger: Pick<Logger, 'info' | 'warn' | 'debug'>;
  /** In [0, 1); for the jitter. */
  random?: () => number;
}

/** Sends the lines of a source to a receiver, one batch after the other. Nothing waits for it. */
export class Sender {
  /** Lines that the receiver accepted, since the start of the process. */
  sent = 0;
  readonly #options: SenderOptions;
  readonly #stopping = new AbortController();
  /** Ends a pause. */
  #pause = new AbortController();
  #isClosing = false;
  #running: Promise<void> | null = null;
  #failures = 0;
  #hasRejected = false;

  constructor(options: SenderOptions) {
    this.#options = options;
  }

  get name(): Receiver['name'] {
    return this.#options.receiver.name;
  }

  /** Lines that are never sent, since the start of the process. */
  get lost(): Readonly<Record<LossReason, number>> {
    return this.#options.source.lost;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Sends what is there, without another attempt after a failure, for `graceMs` milliseconds at most. Call it after the last line. */
  async close(graceMs: number): Promise<void> {
    this.#isClosing = true;
    this.#pause.abort();
    const ended = new AbortController();
    await Promise.race([this.#running, slept(this.#options.clock, graceMs, ended.signal)]);
    ended.abort();
    this.#stopping.abort();
    await this.#running;
    await this.#options.source.close();
  }

  async #run(): Promise<void> {
    const { source } = this.#options;
    while (!this.#stopping.signal.aborted) {
      // Before the look at the source, so that a line that is written before `close` is sent.
      const isLast = this.#isClosing;
      try {
        const lines = await source.next();
        if (lines.length > 0) {
          if (!(await this.#deliver(lines))) return;
          await source.done();
          continue;
        }
        if (isLast) return;
        await this.#wait(IDLE_MS);
      } catch (error) {
        if (isLast || !(await this.#failed(`the audit log cannot be read: ${describeError(error)}`, null)))
          return;
      }
    }
  }

  /** Sends the lines until the receiver has taken or rejected them; false: the sender is closed. */
  async #deliver(lines: Parameters<Receiver['send']>[0]): Promise<boolean> {
    for (;;) {
      const outcome = await this.#options.receiver.send(lines, this.#stopping.signal);
      if (outcome.kind !== 'failed') {
        this.#settle(outcome, lines.length);
        return true;
      }
      if (!(await this.#failed(outcome.reason, outcome.afterMs))) return false;
    }
  }

  #settle(outcome: Exclude<SendOutcome, { kind: 'failed' }>, count: number): void {
    const { source, logger } = this.#options;
    const rejected = outcome.kind === 'rejected' ? count : Math.min(outcome.rejected, count);
    this.sent += count - rejected;
    source.lost.rejected += rejected;
    if (rejected > 0 && !this.#hasRejected) {
      const reason = outcome.kind === 'rejected' ? outcome.reason : 'partial success';
      logger.warn('audit events rejected', { receiver: this.name, count: rejected, reason });
    }
    this.#hasRejected = rejected > 0;
    if (this.#failures > 0)
      logger.info('audit events delivered again', { receiver: this.name, after: this.#failures });
    this.#failures = 0;
  }

  /** Logs the first failure of an outage, and waits; false: the sender is closed. */
  async #failed(reason: string, afterMs: number | null): Promise<boolean> {
    const { logger, random = Math.random } = this.#options;
    if (this.#isClosing) return false;
    this.#failures += 1;
    const fields = { receiver: this.name, reason, failures: this.#failures };
    if (this.#failures === 1) logger.warn('audit events not delivered', fields);
    else logger.debug('audit events still not delivered', fields);
    const pause =
      afterMs === null
        ? pauseAfterFailure(this.#failures, LONGEST_PAUSE_MS, random())
        : pauseAfterLimit(afterMs, random());
    await this.#wait(pause.afterMs);
    return true;
  }

  /** Sleeps until the time is over or the sender is closed. */
  async #wait(ms: number): Promise<void> {
    if (this.#isClosing) return;
    this.#pause = new AbortController();
    await slept(this.#options.clock, ms, this.#pause.signal);
  }
}
