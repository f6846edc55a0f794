import type { ObservationStatus } from '../shapes/observation.ts';

/** Maximum delay of a change that is not urgent, in milliseconds. */
export function coalescingWindowMs(intervalSeconds: number): number {
  return Math.min(60, 2 * intervalSeconds) * 1000;
}

const URGENT = ['phase', 'grade', 'score', 'violations', 'proofRevision'] as const;

/** Whether the change must be written at once, because watchers need it or because it must survive a crash. */
export function isUrgent(before: ObservationStatus | undefined, after: ObservationStatus): boolean {
  if (before === undefined) return true;
  return (
    before.manifestChange?.at !== after.manifestChange?.at ||
    before.stop?.id !== after.stop?.id ||
    before.stop?.since !== after.stop?.since ||
    before.stop?.confirmed !== after.stop?.confirmed ||
    URGENT.some((member) => before[member] !== after[member]) ||
    statesOf(before) !== statesOf(after) ||
    hasNewInstance(before, after)
  );
}

/**
 * Whether an instance is listed for the first time. In a rollout the old instance is removed shortly after. Without the new
 * instance in the written status, the agent would then have no reporting instance.
 */
function hasNewInstance(before: ObservationStatus, after: ObservationStatus): boolean {
  const known = new Set(before.instances?.map(({ name }) => name));
  return after.instances?.some(({ name }) => !known.has(name)) ?? false;
}

/** Delay until the change has to be written, in milliseconds; 0: at once. */
export function writeDelayMs(
  change: { before: ObservationStatus | undefined; after: ObservationStatus },
  timing: { sinceLastWriteMs: number; intervalSeconds: number },
): number {
  if (isUrgent(change.before, change.after)) return 0;
  return Math.max(0, coalescingWindowMs(timing.intervalSeconds) - timing.sinceLastWriteMs);
}

function statesOf(status: ObservationStatus): string {
  const conditions = (status.conditions ?? []).map(({ type, status: state }) => `${type}=${state}`);
  return conditions.sort().join();
}
