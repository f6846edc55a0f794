import { censusReportOf } from '../census/census-report.ts';
import type { ExploreReport } from '../shapes/explore.ts';
import type { EgressSetup } from '../egress/report.ts';
import type { Facts } from '../facts/facts.ts';

/** `egress` of `GET /explore` without the CONNECT lane. */
export const exploredEgressOf = (
  { egress }: Pick<Facts, 'egress'>,
  { census, notRewritten }: EgressSetup,
): ExploreReport['egress'] => ({
  lanes: egress?.lanes ?? [],
  notRewritten,
  census: censusReportOf(census, egress),
});
