import type { EgressFacts } from '../facts/egress-facts.ts';
import type { CensusReport, CensusState } from '../shapes/egress.ts';

export function censusReportOf(census: CensusState, egress: EgressFacts | null | undefined): CensusReport {
  const { unseenEgress = null, unexplainedOpens = null } = egress?.census ?? {};
  return { ...census, unseenEgress, unexplainedOpens };
}
