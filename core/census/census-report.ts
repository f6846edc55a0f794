import type { EgressFacts } from '../facts/egress-facts.ts';
import type { CensusState, UnseenEgress } from '../shapes/egress.ts';

/** State and findings of the census, in `/gap` and `/explore`. */
export interface CensusReport extends CensusState {
  /** The newest first; null: the census does not run. */
  unseenEgress: readonly UnseenEgress[] | null;
  /** Number of connections whose address was not seen; null: the census does not run. */
  unexplainedOpens: number | null;
}

export function censusReportOf(census: CensusState, egress: EgressFacts | null | undefined): CensusReport {
  const { unseenEgress = null, unexplainedOpens = null } = egress?.census ?? {};
  return { ...census, unseenEgress, unexplainedOpens };
}
