import type { CensusFacts, EgressFacts } from '../facts/egress-facts.ts';

/** The facts of the lanes with those of the census. `lanes` null: there is no lane. null: there is neither. */
export function withCensus(lanes: EgressFacts | null, census: CensusFacts | null): EgressFacts | null {
  if (lanes === null && census === null) return null;
  return { ...(lanes ?? NO_LANES), census };
}

const NO_LANES: EgressFacts = {
  lanes: [],
  usedLanes: new Set(),
  models: new Map(),
  toolsOffered: new Map(),
  toolsCalled: new Map(),
  toolsExecuted: new Map(),
  mcpServers: new Map(),
  tokens: { prompt: 0, completion: 0, unknownCalls: 0 },
  reportedTokens: null,
  hosts: new Map(),
  census: null,
};
