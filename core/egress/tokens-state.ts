import type { EgressFacts } from '../facts/egress-facts.ts';
import type { MatrixState } from './matrix-state.ts';

/** Share by which reported tokens may differ from observed tokens. */
const TOKEN_TOLERANCE = 0.05;

/** Compares the reported with the observed tokens of the same requests. */
export function tokensState(
  { tokens, reportedTokens }: Pick<EgressFacts, 'tokens' | 'reportedTokens'>,
  part: 'prompt' | 'completion',
): MatrixState {
  if (reportedTokens === null) return 'unknown';
  const difference = reportedTokens[part] - tokens[part];
  if (Math.abs(difference) <= TOKEN_TOLERANCE * tokens[part]) return 'match';
  // Calls whose tokens are not known can explain more reported tokens, but not fewer.
  return difference > 0 && tokens.unknownCalls > 0 ? 'unknown' : 'misreported';
}
