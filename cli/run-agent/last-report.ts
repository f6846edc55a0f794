import { setTimeout as sleep } from 'node:timers/promises';
import { parseGap, parseMatrix, type ShownGap, type ShownRow } from '../egress/reports.ts';
import { requestJson, SidecarFailure } from '../sidecar-request.ts';

/** Requests something from the sidecar until the signal aborts. The time to the next request doubles up to the maximum. */
export async function poll(
  signal: AbortSignal,
  request: () => Promise<unknown>,
  { firstMs, maxMs }: { firstMs: number; maxMs: number },
): Promise<void> {
  for (let ms = firstMs; !signal.aborted; ms = Math.min(2 * ms, maxMs))
    try {
      await sleep(ms, undefined, { signal, ref: false });
      await request();
    } catch (error) {
      if (!signal.aborted && !(error instanceof SidecarFailure)) throw error;
    }
}

/**
 * Requests gap reports while an agent runs, so that the sidecar probes the agent's endpoints before they end with it. Returns a
 * function that gets the gap report and the matrix after the end of the agent; it rejects with a SidecarFailure.
 * @param control URL of the control port
 */
export function lastReport(control: URL): () => Promise<{ gap: ShownGap; rows: ShownRow[] }> {
  const ended = new AbortController();
  const { signal } = ended;
  const request = () => requestJson(control, '/gap', parseGap, signal);
  const polling = poll(signal, request, { firstMs: 250, maxMs: 5_000 });
  return async () => {
    ended.abort();
    await polling;
    const gap = await requestJson(control, '/gap?agent=ended', parseGap);
    const rows = await requestJson(control, '/explore?view=matrix&agent=ended', parseMatrix);
    return { gap, rows };
  };
}
