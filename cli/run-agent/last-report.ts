import { setTimeout as sleep } from 'node:timers/promises';
import { parseGap, parseMatrix, type ShownGap, type ShownRow } from '../egress/reports.ts';
import { requestJson, SidecarFailure } from '../sidecar-request.ts';

/** Milliseconds to the first gap report. The time to the next one doubles up to the maximum. */
const FIRST_MS = 250;
const INTERVAL_MS = 5_000;

/** Requests gap reports while an agent runs, so that the sidecar probes the agent's endpoints before they end with it. */
export class LastReport {
  readonly #control: URL;
  readonly #ended = new AbortController();
  readonly #polling: Promise<void>;

  /** @param control URL of the control port */
  constructor(control: URL) {
    this.#control = control;
    this.#polling = this.#poll();
  }

  /** The gap report and the matrix after the end of the agent. Rejects with a SidecarFailure. */
  async finish(): Promise<{ gap: ShownGap; rows: ShownRow[] }> {
    this.#ended.abort();
    await this.#polling;
    const gap = await requestJson(this.#control, '/gap?agent=ended', parseGap);
    const rows = await requestJson(this.#control, '/explore?view=matrix&agent=ended', parseMatrix);
    return { gap, rows };
  }

  async #poll(): Promise<void> {
    const { signal } = this.#ended;
    for (let ms = FIRST_MS; !signal.aborted; ms = Math.min(2 * ms, INTERVAL_MS))
      try {
        await sleep(ms, undefined, { signal, ref: false });
        await requestJson(this.#control, '/gap', parseGap, signal);
      } catch (error) {
        if (!signal.aborted && !(error instanceof SidecarFailure)) throw error;
      }
  }
}
