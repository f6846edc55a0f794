import { censusReportOf, type CensusReport } from '../census/census-report.ts';
import type { NotRewritten } from '../shapes/egress.ts';
import type { EgressSetup } from '../egress/report.ts';
import type { Facts } from '../facts/facts.ts';

/** `egress` of `GET /explore`: how the sidecar sees the agent's own calls. */
export interface ExploredEgress {
  /** Ids of the lanes; empty: no lane. */
  lanes: readonly string[];
  /** The variables of the agent that the injector could not change, so that calls may bypass their lanes. */
  notRewritten: readonly NotRewritten[];
  census: CensusReport;
}

export const exploredEgressOf = (
  { egress }: Pick<Facts, 'egress'>,
  { census, notRewritten }: EgressSetup,
): ExploredEgress => ({
  lanes: egress?.lanes ?? [],
  notRewritten,
  census: censusReportOf(census, egress),
});
