import type { AgentUsageReport, UsageWindow } from '../../core/shapes/usage.ts';
import { emptyWindow, subtractWindow } from '../../core/usage/usage-window.ts';

/**
 * The calls that the agent's own `GET /platform/usage` adds while this sidecar runs. The first report of an agent that is older than the
 * sidecar also has calls that an earlier sidecar saw.
 */
export class UsageGrowth {
  readonly #startedAt: Date;
  #first: UsageWindow;
  #latest: UsageWindow;

  constructor(startedAt: Date) {
    this.#startedAt = startedAt;
    this.#first = this.#latest = emptyWindow('');
  }

  /** Adds a report; null: the agent has none. Another time of the start is another process of the agent. */
  note(report: AgentUsageReport | null): void {
    if (report === null) return;
    const { windowStartedAt } = report;
    if (windowStartedAt !== this.#first.windowStartedAt)
      this.#first = new Date(windowStartedAt) >= this.#startedAt ? emptyWindow(windowStartedAt) : report;
    this.#latest = report;
  }

  /** Model id -> number of calls. */
  get calls(): ReadonlyMap<string, number> {
    const { models } = subtractWindow(this.#latest, this.#first, this.#startedAt);
    return new Map(models.map(({ modelId, callCount }) => [modelId, callCount]));
  }
}
