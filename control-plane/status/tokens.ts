import type { ObservationStatus, TokenHash } from '../../core/observation/observation.ts';

/**
 * The most keys of one agent that live at a time. All renewals of a day share one key, so that no more than 32 live; only
 * keys that 0.1.0 renewed can be more. The resource definition has the same bound.
 */
export const MAX_LIVE_TOKENS = 100;

/** The agent's keys that have not expired. */
function liveTokens(status: ObservationStatus, at: Date): TokenHash[] {
  return (status.tokenHashes ?? []).filter((token) => Date.parse(token.expiresAt) > at.getTime());
}

export function hasToken(status: ObservationStatus, hash: string, at: Date): boolean {
  return liveTokens(status, at).some((token) => token.hash === hash);
}

/** The status with one more key, and without the expired ones; null: it has too many. */
export function withToken(status: ObservationStatus, token: TokenHash, at: Date): ObservationStatus | null {
  const tokenHashes = liveTokens(status, at);
  if (tokenHashes.some(({ hash }) => hash === token.hash)) return status;
  return tokenHashes.length < MAX_LIVE_TOKENS ? { ...status, tokenHashes: [...tokenHashes, token] } : null;
}

/** The status with this key alone: all others are revoked. */
export function withOnlyToken(status: ObservationStatus, token: TokenHash): ObservationStatus {
  return { ...status, tokenHashes: [token] };
}
