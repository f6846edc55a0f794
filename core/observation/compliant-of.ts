import { composeHeartbeat, type HeartbeatInput } from './compose-heartbeat.ts';
import { conditionOf } from './condition-of.ts';
import { instanceOf } from './instance.ts';
import type { ObservationStatus } from '../shapes/observation.ts';
import { statusOf } from './status-of.ts';
import type { Verdict } from '../shapes/verdict.ts';

const UNREPORTED: Verdict = {
  status: 'Unknown',
  reason: 'NotReporting',
  message: 'no heartbeat has been received yet',
};

/** The verdict about an agent: its condition `Compliant`, also before anything has reported. */
export function compliantOf(status: Pick<ObservationStatus, 'conditions'> | undefined): Verdict {
  const { status: value, reason, message } = conditionOf(status, 'Compliant') ?? UNREPORTED;
  return { status: value, reason, message };
}

/**
 * The verdict that a control plane with the default thresholds would give for one report. Members that the report does not
 * have count as not reported.
 */
export function compliantOfReport(
  report: Omit<HeartbeatInput, 'instance' | 'seq' | 'startedAt' | 'intervalSeconds'>,
): Verdict {
  const { at } = report;
  const heartbeat = composeHeartbeat({ ...report, instance: '', seq: 0, startedAt: at, intervalSeconds: 30 });
  const instance = instanceOf(undefined, heartbeat, { instance: '' }, { at, proofs: report.proofs ?? [] });
  return compliantOf(statusOf({ phase: 'Pending', instances: [instance] }, at));
}
