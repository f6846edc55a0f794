import { ANNOTATION_STOP, type StopDirective } from '../../core/shapes/agent-stop.ts';
import { slept, type Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';

/** The stop that the sidecar applies. */
export interface AppliedStop {
  readonly id: string;
  readonly reason: string;
  /** When it was requested; by annotation: when the sidecar began to apply it. */
  readonly since: Date;
  /** Connections that the sidecar ended for it. */
  readonly cut: number;
}

/** The stop to apply. `since` null: that of an annotation is not known. */
type Wanted = Pick<StopDirective, 'id' | 'reason' | 'until'> & { since: Date | null };

/** The ports on which requests are refused while the agent is stopped. */
export const STOPPED_PORTS = ['proxy', 'lanes', 'connect'] as const;

export interface StopSwitchOptions {
  clock: Pick<Clock, 'now' | 'sleep'>;
  logger: Pick<Logger, 'info' | 'warn'>;
  /** Ends the timer. */
  signal: AbortSignal;
}

/** The wall clock can be set, and a timer takes at most 24 days: the end of a stop is checked at least once in this time. */
const CHECK_MS = 60_000;

/**
 * Whether the agent is stopped: by the control plane, or by the annotation of its pod. Each entrance reads `current` before it passes
 * anything. What is open when a stop begins registers with `onStop`.
 */
export class StopSwitch {
  /** null: the agent runs. */
  current: AppliedStop | null = null;
  /** Requests that were refused, by port. */
  readonly refused: Record<(typeof STOPPED_PORTS)[number], number> = { proxy: 0, lanes: 0, connect: 0 };
  readonly #options: StopSwitchOptions;
  readonly #cuts = new Set<() => number>();
  readonly #listeners: (() => void)[] = [];
  #directive: StopDirective | null = null;
  #annotation: string | null = null;
  /** Ends the wait for `until`. */
  #waiting = new AbortController();

  constructor(options: StopSwitchOptions) {
    this.#options = options;
  }

  /** The stop that the control plane wants, also one that has ended; null: none. */
  get directive(): StopDirective | null {
    return this.#directive;
  }

  /** Applies what the control plane wants; null: no stop. */
  direct(directive: StopDirective | null): void {
    this.#directive = directive;
    this.#apply();
  }

  /** Applies the annotation of the pod; null: it has none. */
  annotate(reason: string | null): void {
    if (reason === this.#annotation) return;
    this.#annotation = reason;
    this.#apply();
  }

  /**
   * Registers what ends something open when a stop begins, at once, and returns how many connections it ended. What registered last is
   * called first.
   * @returns a function that removes it
   */
  onStop(cut: () => number): () => void {
    this.#cuts.add(cut);
    return () => void this.#cuts.delete(cut);
  }

  /** Called after each change of `current`. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  #apply(): void {
    this.#waiting.abort();
    const wanted = this.#wanted();
    const before = this.current;
    if (wanted === null) this.#resume(before);
    else if (before?.id === wanted.id)
      this.current = { ...before, reason: wanted.reason, since: wanted.since ?? before.since };
    else this.#begin(wanted, before);
    if (wanted !== null && wanted.until !== null) void this.#waitFor(Date.parse(wanted.until));
    const { current } = this;
    if (before?.id !== current?.id || before?.since.getTime() !== current?.since.getTime())
      for (const listener of this.#listeners) listener();
  }

  #wanted(): Wanted | null {
    const directive = this.#directive;
    const atMs = this.#options.clock.now().getTime();
    if (directive !== null && (directive.until === null || Date.parse(directive.until) > atMs))
      return { ...directive, since: new Date(directive.since) };
    const reason = this.#annotation;
    return reason === null ? null : { id: ANNOTATION_STOP, reason, since: null, until: null };
  }

  #begin({ id, reason, until, ...wanted }: Wanted, before: AppliedStop | null): void {
    const since = wanted.since ?? this.#options.clock.now();
    // First, so that nothing begins while the rest ends.
    this.current = { id, reason, since, cut: 0 };
    // Nothing is open if another stop was applied until now.
    const cut = before === null ? this.#cut() : 0;
    this.current = { id, reason, since, cut };
    this.#options.logger.warn('agent stopped', { stop: id, reason, until, cut });
  }

  #cut(): number {
    let count = 0;
    for (const cut of [...this.#cuts].reverse()) count += cut();
    return count;
  }

  #resume(before: AppliedStop | null): void {
    this.current = null;
    if (before !== null) this.#options.logger.info('agent resumed', { stop: before.id });
  }

  async #waitFor(endMs: number): Promise<void> {
    const { clock, signal } = this.#options;
    this.#waiting = new AbortController();
    const ended = AbortSignal.any([signal, this.#waiting.signal]);
    for (;;) {
      const leftMs = endMs - clock.now().getTime();
      if (leftMs <= 0) break;
      if (!(await slept(clock, Math.min(leftMs, CHECK_MS), ended))) return;
    }
    this.#apply();
  }
}
