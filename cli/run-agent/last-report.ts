import { setTimeout as sleep } from 'node:timers/promises';
import { parseGap, parseMatrix, type ShownGap, type ShownRow } from '../egress/reports.ts';
import { requestJson, SidecarFailure } from '../sidecar-request.ts';

/** Milliseconds between two gap reports while the agent runs. */
const INTERVAL_MS = 5_000;

/**
 * Reads the gap report again and again while an agent runs: after its end, its endpoints do not respond any more, and the score
 * would be lower.
 */
export class LastReport {
  readonly #control: URL;
  readonly #ended = new AbortController();
  readonly #polling: Promise<void>;
  #gap: ShownGap | null = null;

  /** @param control URL of the control port */
  constructor(control: URL) {
    this.#control = control;
    this.#polling = this.#poll();
  }

  /** The newest gap report from before the end of the agent, and the matrix. Rejects with a SidecarFailure. */
  async finish(): Promise<{ gap: ShownGap; rows: ShownRow[] }> {
    this.#ended.abort();
    await this.#polling;
    const rows = await requestJson(this.#control, '/explore?view=matrix', parseMatrix);
    return { gap: this.#gap ?? (await requestJson(this.#control, '/gap', parseGap)), rows };
  }

  async #poll(): Promise<void> {
    const { signal } = this.#ended;
    while (await sleep(INTERVAL_MS, true, { signal, ref: false }).catch(() => false))
      try {
        const gap = await requestJson(this.#control, '/gap', parseGap, signal);
        // A report that ends after the agent may have been made without it.
        if (!signal.aborted) this.#gap = gap;
      } catch (error) {
        if (!(error instanceof SidecarFailure)) throw error;
      }
  }
}
