import { createHash, hkdfSync, randomUUID, scrypt } from 'node:crypto';
import { errors, jwtVerify, SignJWT } from 'jose';
import { isDnsLabel } from '../../core/injection/names.ts';
import type { TokenHash } from '../../core/shapes/observation.ts';
import { setNewest } from '../../core/untrusted/set-newest.ts';
import type { Secret } from '../../runtime/secret.ts';

/** Lifetime of a registered agent's apiKey, in seconds (30 days). */
export const TOKEN_LIFETIME_SECONDS = 30 * 24 * 3600;

const ISSUER = 'agent-compliance';
const AUDIENCE = 'platform.io';

/** The agent that a registration token identifies. */
export interface TokenSubject {
  agentId: string;
  agentName: string;
}

/** A new token. The store gets its hash, from which no token can be derived. `expiresAt`: ISO 8601. */
export interface IssuedToken extends TokenHash {
  apiKey: string;
}

export interface VerifiedToken extends TokenSubject, TokenHash {
  /** The id of the key from registration that this key was renewed from; its own id if it is that key. */
  family: string;
}

/** The first key signs; a token is valid if any of the keys signed it. */
export type SigningKeys = readonly [Uint8Array, ...Uint8Array[]];

const LABEL = 'agent-compliance registration token';
/**
 * 32 MiB and about 250 ms per guess, because the holder of a registration token can test admin keys against it offline.
 * The salt is fixed, because every replica must derive the same key.
 */
const SCRYPT = { N: 2 ** 15, r: 8, p: 3, maxmem: 64 * 1024 * 1024 };
/** Derived keys by digest of the admin key. The derivation is slow on purpose, so a process does it once. */
const derivedKeys = new Map<string, Promise<Uint8Array>>();

/**
 * The keys of registration tokens: JWT_SECRET, else derived from the admin key, so that the chart needs no second secret.
 * null: neither is set, and bearer JWTs are rejected. Tokens signed by 0.1.0 (HKDF) stay valid until they expire.
 */
export function signingKeysOf(
  jwtSecret: Secret | null,
  adminKey: Secret | null,
  derive = slowKey,
): (() => Promise<SigningKeys>) | null {
  if (jwtSecret !== null) {
    const own: SigningKeys = [new TextEncoder().encode(jwtSecret.reveal())];
    return () => Promise.resolve(own);
  }
  if (adminKey === null) return null;
  const former = new Uint8Array(hkdfSync('sha256', adminKey.reveal(), '', LABEL, 32));
  return async () => [await derivedFrom(adminKey, derive), former];
}

function derivedFrom(adminKey: Secret, derive: typeof slowKey): Promise<Uint8Array> {
  const id = createHash('sha256').update(adminKey.reveal()).digest('base64url');
  const known = derivedKeys.get(id);
  if (known !== undefined) return known;
  const derived = derive(adminKey);
  derivedKeys.set(id, derived);
  // For example out of memory: the next request tries again.
  derived.catch(() => derivedKeys.delete(id));
  return derived;
}

function slowKey(adminKey: Secret): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    scrypt(adminKey.reveal(), LABEL, 32, SCRYPT, (error, key) => {
      if (error === null) resolve(new Uint8Array(key));
      else reject(error);
    });
  });
}

interface Claims {
  jti: string;
  family?: string;
  /** Seconds since the epoch, like `expires`. */
  issuedAt: number;
  expires: number;
}

const secondsOf = (at: Date): number => Math.floor(at.getTime() / 1000);
const isoOf = (seconds: number): string => new Date(seconds * 1000).toISOString();
const hashOf = (jti: string): string => createHash('sha256').update(jti).digest('base64url');

/**
 * Maximum number of verified tokens that are remembered. Web Crypto verifies each signature in another thread, which is a tenth of
 * the processor time of a heartbeat.
 */
const MAX_VERIFIED = 20_000;

export function createRegistrationTokens(keys: () => Promise<SigningKeys>) {
  /** By the hash of the token. The keys of a process do not change. */
  const verifiedTokens = new Map<string, VerifiedToken>();
  return {
    async issue(subject: TokenSubject, at: Date): Promise<IssuedToken> {
      const issuedAt = secondsOf(at);
      const claims = { jti: randomUUID(), issuedAt, expires: issuedAt + TOKEN_LIFETIME_SECONDS };
      return signWith((await keys())[0], subject, claims);
    },

    /**
     * A new token of the family. All renewals of one UTC day return a token with the same id, so that endless renewals do not
     * fill the list of live tokens. It expires 30 days after the end of that day.
     */
    async renew({ family, ...subject }: TokenSubject & { family: string }, at: Date): Promise<IssuedToken> {
      const nextDay = new Date(at).setUTCHours(24, 0, 0, 0) / 1000;
      // The id is not a secret: a token without a valid signature is useless.
      const jti = hashOf(`${family} ${nextDay}`);
      const expires = nextDay + TOKEN_LIFETIME_SECONDS;
      return signWith((await keys())[0], subject, { jti, family, issuedAt: secondsOf(at), expires });
    },

    /** null: not signed by this control plane, expired, or not a registration token. Does not check revocation. */
    async verify(token: string, at: Date): Promise<VerifiedToken | null> {
      const id = hashOf(token);
      const known = verifiedTokens.get(id);
      if (known !== undefined) return secondsOf(at) * 1000 < Date.parse(known.expiresAt) ? known : null;
      for (const key of await keys()) {
        const verified = await verifyWith(key, token, at);
        if (verified === null) continue;
        setNewest(verifiedTokens, [id, verified], MAX_VERIFIED);
        return verified;
      }
      return null;
    },
  };
}

export type RegistrationTokens = ReturnType<typeof createRegistrationTokens>;

/**
 * JWT HS256 with `sub` (the agent's id) and `jti`. `agent` is the agent's name in the store. `family` is the `jti` of the key
 * from registration.
 */
async function signWith(
  key: Uint8Array,
  { agentId, agentName }: TokenSubject,
  { jti, family, issuedAt, expires }: Claims,
): Promise<IssuedToken> {
  const apiKey = await new SignJWT({ agent: agentName, ...(family === undefined ? {} : { family }) })
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .setIssuer(ISSUER)
    .setAudience(AUDIENCE)
    .setSubject(agentId)
    .setJti(jti)
    .setIssuedAt(issuedAt)
    .setExpirationTime(expires)
    .sign(key);
  return { apiKey, expiresAt: isoOf(expires), hash: hashOf(jti) };
}

async function verifyWith(key: Uint8Array, token: string, at: Date): Promise<VerifiedToken | null> {
  try {
    const { payload } = await jwtVerify(token, key, {
      algorithms: ['HS256'],
      issuer: ISSUER,
      audience: AUDIENCE,
      currentDate: at,
      requiredClaims: ['exp', 'jti', 'sub'],
    });
    const { sub, jti, exp, agent, family = jti } = payload;
    if (sub === undefined || jti === undefined || exp === undefined) return null;
    if (typeof agent !== 'string' || !isDnsLabel(agent) || typeof family !== 'string') return null;
    return { agentId: sub, agentName: agent, family, hash: hashOf(jti), expiresAt: isoOf(exp) };
  } catch (error) {
    if (error instanceof errors.JOSEError) return null;
    throw error;
  }
}
