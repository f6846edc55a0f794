import { createHash, hkdfSync, randomUUID, scrypt } from 'node:crypto';
import { errors, jwtVerify, SignJWT } from 'jose';
import type { Secret } from '../../runtime/secret.ts';
import { isDnsLabel } from '../../core/injection/names.ts';

/** How long an apiKey of a registered agent lives, in seconds (30 days). */
export const TOKEN_LIFETIME_SECONDS = 30 * 24 * 3600;

const ISSUER = 'agent-compliance';
const AUDIENCE = 'platform.io';

/** Whom a registration token speaks for. */
export interface TokenSubject {
  agentId: string;
  agentName: string;
}

export interface IssuedToken {
  apiKey: string;
  /** ISO 8601 */
  expiresAt: string;
  /** What the store keeps: a hash of the token's id, from which no token can be made. */
  hash: string;
}

export interface VerifiedToken extends TokenSubject {
  hash: string;
  /** The key from registering that this one was renewed from; its own id where it is that key. */
  family: string;
  /** ISO 8601 */
  expiresAt: string;
}

export interface RegistrationTokens {
  issue(subject: TokenSubject, at: Date): Promise<IssuedToken>;
  /**
   * A fresh token of the family. All renewals of one UTC day give the same one (by its id), so that whoever renews without end
   * fills no list of live tokens; it lives until 30 days after that day.
   */
  renew(from: TokenSubject & { family: string }, at: Date): Promise<IssuedToken>;
  /** null: not signed by this control plane, expired, or not a registration token. Says nothing about revocation. */
  verify(token: string, at: Date): Promise<VerifiedToken | null>;
}

/** The first key signs; a token is valid when any of them signed it. */
export type SigningKeys = readonly [Uint8Array, ...Uint8Array[]];

const LABEL = 'agent-compliance registration token';
/**
 * 32 MiB and about a quarter of a second for each guess: whoever holds a registration token can try admin keys on it without
 * asking the control plane. Every replica must derive the same key, so the salt is fixed.
 */
const SCRYPT = { N: 2 ** 15, r: 8, p: 3, maxmem: 64 * 1024 * 1024 };
/** By a digest of the admin key: the derivation is slow on purpose, and a process needs it once. */
const derivedKeys = new Map<string, Promise<Uint8Array>>();

/**
 * The keys of registration tokens: JWT_SECRET, else derived from the admin key, so that a chart need not invent a second
 * secret. null: neither is set, and bearer JWTs are refused. Tokens that 0.1.0 signed (derived by HKDF) stay valid until they
 * expire.
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
  // Without memory for it, say: the next request derives again.
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
  /** Seconds, as `expires`. */
  issuedAt: number;
  expires: number;
}

const secondsOf = (at: Date): number => Math.floor(at.getTime() / 1000);
const isoOf = (seconds: number): string => new Date(seconds * 1000).toISOString();
const hashOf = (jti: string): string => createHash('sha256').update(jti).digest('base64url');

/** JWT HS256 with `sub` (the agent's id) and `jti`; `agent` is the name under which the store finds it, `family` the `jti` of the key from registering. */
export function createRegistrationTokens(keys: () => Promise<SigningKeys>): RegistrationTokens {
  async function sign({ agentId, agentName }: TokenSubject, claims: Claims): Promise<IssuedToken> {
    const { jti, family, issuedAt, expires } = claims;
    const apiKey = await new SignJWT({ agent: agentName, ...(family === undefined ? {} : { family }) })
      .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
      .setIssuer(ISSUER)
      .setAudience(AUDIENCE)
      .setSubject(agentId)
      .setJti(jti)
      .setIssuedAt(issuedAt)
      .setExpirationTime(expires)
      .sign((await keys())[0]);
    return { apiKey, expiresAt: isoOf(expires), hash: hashOf(jti) };
  }

  return {
    issue(subject, at) {
      const issuedAt = secondsOf(at);
      return sign(subject, { jti: randomUUID(), issuedAt, expires: issuedAt + TOKEN_LIFETIME_SECONDS });
    },

    renew({ family, ...subject }, at) {
      const nextDay = new Date(at).setUTCHours(24, 0, 0, 0) / 1000;
      // No secret: a token is worth nothing without its signature.
      const jti = hashOf(`${family} ${nextDay}`);
      return sign(subject, {
        ...{ jti, family },
        issuedAt: secondsOf(at),
        expires: nextDay + TOKEN_LIFETIME_SECONDS,
      });
    },

    async verify(token, at) {
      for (const key of await keys()) {
        const verified = await verifyWith(key, token, at);
        if (verified !== null) return verified;
      }
      return null;
    },
  };
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
