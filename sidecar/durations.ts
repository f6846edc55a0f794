import type { Histogram, Metrics } from '../runtime/metrics.ts';

/** How long things take, in seconds. */
export interface Durations {
  /** Of a request in the sidecar and not with the agent, until its response head. */
  overhead: Histogram;
  /** Of the policy engine, by what it said. */
  policy: Histogram;
}

const SECONDS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5,
] as const;

export function createDurations(metrics: Metrics): Durations {
  return {
    overhead: metrics.histogram(
      'platform_sidecar_overhead_seconds',
      'Time of a request in the sidecar and not with the agent, from its arrival until its response head is out.',
      SECONDS,
    ),
    policy: metrics.histogram(
      'platform_sidecar_policy_seconds',
      'Time until the policy engine answered, or was given up on, by what it said.',
      SECONDS,
    ),
  };
}
