import {
  createLocalJWKSet,
  errors,
  jwtVerify,
  type JSONWebKeySet,
  type JWTPayload,
  type JWTVerifyGetKey,
} from 'jose';
import type { TokenAuth } from '../../core/manifest/token-auth.ts';
import type { IdentityReason } from '../../core/shapes/identity.ts';
import { exchange } from '../../probe/http-exchange.ts';
import type { AddressGuard } from '../../probe/address-guard.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';

/** Only signatures by a key pair: with a shared secret, everyone who can verify a token can also sign one. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'ES256', 'ES384', 'EdDSA'];
/** Accepted difference between the clocks, in seconds. */
const TOLERANCE_SECONDS = 30;
/** A token with an unknown key leads to at most one request for the keys in this time. */
const COOLDOWN_MS = 30_000;
/** How long keys are used without a new request. */
const KEYS_MAX_AGE_MS = 600_000;
/** Time between two requests for the keys if the first failed. */
const RETRY_MS = 5_000;
const MAX_KEYS_BYTES = 256 * 1024;

export interface VerifyOptions {
  auth: TokenAuth;
  clock: Pick<Clock, 'now' | 'monotonicMs'>;
  logger: Pick<Logger, 'warn' | 'info'>;
  guard: AddressGuard;
}

/** The claims of a valid token, or why it is not valid. */
export type Verified = { claims: JWTPayload } | { reason: IdentityReason };

class KeysUnreachable extends Error {}

/** @returns a function that verifies a token; it never rejects, and no error or log line contains a part of the token */
export function createVerify(options: VerifyOptions): (token: string) => Promise<Verified> {
  const { issuer, audience, claim } = options.auth;
  const keyOf = createKeys(options);
  return async (token) => {
    try {
      const { payload } = await jwtVerify(token, keyOf, {
        ...{ issuer, audience, algorithms: ALGORITHMS, currentDate: options.clock.now() },
        ...{ clockTolerance: TOLERANCE_SECONDS, requiredClaims: ['sub', 'exp'] },
      });
      return Object.hasOwn(payload, claim) ? { claims: payload } : { reason: 'no-claim' };
    } catch (error) {
      if (error instanceof errors.JWTExpired) return { reason: 'expired-token' };
      // Another error is one of a key that Node.js does not accept.
      return { reason: error instanceof errors.JOSEError ? 'invalid-token' : 'jwks-unreachable' };
    }
  };
}

/** The keys of the issuer, requested when a token needs them. */
function createKeys({ auth, clock, logger, guard }: VerifyOptions): JWTVerifyGetKey {
  const url = URL.parse(auth.jwksUri);
  const host = url?.host ?? null;
  let keys: JWTVerifyGetKey | null = null;
  let readMs = -Infinity;
  let failedMs = -Infinity;
  let reading: Promise<JWTVerifyGetKey> | null = null;
  const read = async (): Promise<JWTVerifyGetKey> => {
    if (clock.monotonicMs() - failedMs < RETRY_MS) throw new KeysUnreachable();
    const found = await requestKeys(url, guard);
    if ('problem' in found) {
      if (failedMs === -Infinity) logger.warn('identity keys unavailable', { host, ...found });
      failedMs = clock.monotonicMs();
      throw new KeysUnreachable();
    }
    if (failedMs !== -Infinity) logger.info('identity keys available again', { host });
    failedMs = -Infinity;
    readMs = clock.monotonicMs();
    return (keys = found.keys);
  };
  const readOnce = (): Promise<JWTVerifyGetKey> =>
    (reading ??= read().finally(() => {
      reading = null;
    }));
  const ageMs = (): number => clock.monotonicMs() - readMs;
  return async (header, token) => {
    const known = keys === null || ageMs() > KEYS_MAX_AGE_MS ? await readOnce() : keys;
    try {
      return await known(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey) || ageMs() < COOLDOWN_MS) throw error;
      return (await readOnce())(header, token);
    }
  };
}

async function requestKeys(
  url: URL | null,
  guard: AddressGuard,
): Promise<{ keys: JWTVerifyGetKey } | { problem: string }> {
  // The pattern of the manifest accepts a port such as 99999.
  if (url === null) return { problem: 'not a URL' };
  const response = await exchange(url, { maxBytes: MAX_KEYS_BYTES, guard });
  if (!response.answered) return { problem: response.reason };
  if (response.status !== 200) return { problem: `status ${response.status}` };
  if (response.body === null) return { problem: `incomplete, or more than ${MAX_KEYS_BYTES} bytes` };
  try {
    return { keys: createLocalJWKSet(JSON.parse(response.body.toString()) as JSONWebKeySet) };
  } catch {
    return { problem: 'not a JSON Web Key Set' };
  }
}
