import type { Metrics } from '../runtime/metrics.ts';

const SECONDS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5,
] as const;

/** Duration histograms, in seconds. */
export function createDurations(metrics: Metrics) {
  return {
    overhead: metrics.histogram(
      'platform_sidecar_overhead_seconds',
      "Time of a request in the sidecar, from arrival until its response head is sent, without the agent's time.",
      SECONDS,
    ),
    policy: metrics.histogram(
      'platform_sidecar_policy_seconds',
      'Time of a policy query until the response or time-out, by the state of the result.',
      SECONDS,
    ),
  };
}
