import { observedSummaryOf } from '../../core/egress/report.ts';
import type { Arrival } from '../stores/store.ts';

/** The heartbeat without the lists of its egress report, which are not part of a status. */
export function withoutEgressLists(arrival: Arrival): Arrival {
  const { heartbeat } = arrival;
  return { ...arrival, heartbeat: { ...heartbeat, egress: observedSummaryOf(heartbeat.egress) } };
}
