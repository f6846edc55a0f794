import type { ObservationStatus, TokenHash } from '../../core/shapes/observation.ts';
import { statusOf, type ObservationContext } from '../../core/observation/status-of.ts';
import type { Registration } from '../stores/store.ts';

/**
 * The status after a registration. A new agent is Pending until its stale time is over; a known agent keeps its id and its
 * reports. The values from the manifest apply until the agent reports its own.
 */
export function registeredStatus(
  known: ObservationStatus | undefined,
  registration: Registration & { agentId: string },
  about: { at: Date; context: ObservationContext },
): ObservationStatus {
  const { agentId, runtime, manifest } = registration;
  const declared = manifest === null ? {} : { manifestHash: manifest.hash, model: manifest.model };
  const before: ObservationStatus = { ...(known ?? { phase: 'Pending' }), ...declared, agentId, runtime };
  return statusOf(before, about.at, { ...about.context, hasStarted: true });
}

/**
 * Maximum number of valid keys of one agent. All renewals of a day share one key, so at most 32 keys are valid; only keys
 * renewed by 0.1.0 can exceed 32. The CRD has the same bound.
 */
export const MAX_LIVE_TOKENS = 100;

/** The agent's keys that have not expired. */
function liveTokens(status: ObservationStatus, at: Date): TokenHash[] {
  return (status.tokenHashes ?? []).filter((token) => Date.parse(token.expiresAt) > at.getTime());
}

export function hasToken(status: ObservationStatus, hash: string, at: Date): boolean {
  return liveTokens(status, at).some((token) => token.hash === hash);
}

/** The status with one more key and without expired keys; null: too many keys. */
export function withToken(status: ObservationStatus, token: TokenHash, at: Date): ObservationStatus | null {
  const tokenHashes = liveTokens(status, at);
  if (tokenHashes.some(({ hash }) => hash === token.hash)) return status;
  return tokenHashes.length < MAX_LIVE_TOKENS ? { ...status, tokenHashes: [...tokenHashes, token] } : null;
}

/** The status with only this key: all other keys are revoked. */
export function withOnlyToken(status: ObservationStatus, token: TokenHash): ObservationStatus {
  return { ...status, tokenHashes: [token] };
}
