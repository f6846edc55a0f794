import { evidencePercent } from '../evidence/evidence.ts';
import type { ReadyReport } from '../shapes/sidecar-reports.ts';
import type { HealthStatus } from '../shapes/health.ts';
import type { BriefInstance, InstanceStatus } from '../shapes/instance.ts';
import type { Phase } from '../shapes/values.ts';

const PHASES: Readonly<Record<HealthStatus | ReadyReport['status'], Phase>> = {
  healthy: 'Healthy',
  ready: 'Healthy',
  degraded: 'Degraded',
  unhealthy: 'Unhealthy',
  'not-ready': 'Unhealthy',
};

const HEALTH: readonly HealthStatus[] = ['healthy', 'degraded', 'unhealthy'];

/** Maps a health or readiness status to a phase. */
export function phaseOf(status: HealthStatus | ReadyReport['status']): Phase {
  return PHASES[status];
}

/** The health status behind the phase of an instance; null: unknown, for example for a silent instance. */
export function healthOf(phase: Phase | undefined): HealthStatus | null {
  return HEALTH.find((status) => PHASES[status] === phase) ?? null;
}

export const BEST_FIRST: readonly Phase[] = ['Healthy', 'Pending', 'Degraded', 'Unknown', 'Unhealthy'];

/** Stale time: time without heartbeats after which an instance counts as silent, in milliseconds. */
export function staleLimitMs(intervalSeconds: number): number {
  return Math.max(3 * intervalSeconds, 120) * 1000;
}

/** Whether the last heartbeat of the instance is not older than its stale time. */
export function isLive(
  instance: Pick<BriefInstance, 'lastHeartbeat' | 'intervalSeconds'>,
  at: Date,
): boolean {
  return at.getTime() - Date.parse(instance.lastHeartbeat) <= staleLimitMs(instance.intervalSeconds);
}

/** The instance that decides the state of the agent. */
export function worstOf(instances: readonly InstanceStatus[]): InstanceStatus | undefined {
  return worstFirst(instances)[0];
}

/** Sorted by worst phase, lowest score, least evidence and then name, so that the order is deterministic. */
export function worstFirst(instances: readonly InstanceStatus[]): InstanceStatus[] {
  return [...instances].sort(
    (a, b) =>
      BEST_FIRST.indexOf(b.phase) - BEST_FIRST.indexOf(a.phase) ||
      a.score - b.score ||
      shownPercent(a) - shownPercent(b) ||
      (a.name < b.name ? -1 : 1),
  );
}

/** An instance that sends no evidence counts as 0 %. */
export function shownPercent({ evidence }: InstanceStatus): number {
  return evidence === undefined ? 0 : evidencePercent(evidence);
}
