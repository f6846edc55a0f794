import { createHash, hkdfSync, randomUUID } from 'node:crypto';
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
  /** ISO 8601 */
  expiresAt: string;
}

export interface RegistrationTokens {
  issue(subject: TokenSubject, at: Date): Promise<IssuedToken>;
  /** null: not signed by this control plane, expired, or not a registration token. Says nothing about revocation. */
  verify(token: string, at: Date): Promise<VerifiedToken | null>;
}

/**
 * The key that signs registration tokens: JWT_SECRET, else derived from the admin key, so that a chart need not invent
 * a second secret. null: neither is set, and bearer JWTs are refused.
 */
export function signingKeyOf(jwtSecret: Secret | null, adminKey: Secret | null): Uint8Array | null {
  if (jwtSecret !== null) return new TextEncoder().encode(jwtSecret.reveal());
  if (adminKey === null) return null;
  return new Uint8Array(hkdfSync('sha256', adminKey.reveal(), '', 'agent-compliance registration token', 32));
}

const isoOf = (seconds: number): string => new Date(seconds * 1000).toISOString();
const hashOf = (jti: string): string => createHash('sha256').update(jti).digest('base64url');

/** JWT HS256 with `sub` (the agent's id) and `jti`; `agent` is the name under which the store finds it. */
export function createRegistrationTokens(key: Uint8Array): RegistrationTokens {
  return {
    async issue({ agentId, agentName }, at) {
      const jti = randomUUID();
      const issuedAt = Math.floor(at.getTime() / 1000);
      const expires = issuedAt + TOKEN_LIFETIME_SECONDS;
      const apiKey = await new SignJWT({ agent: agentName })
        .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .setSubject(agentId)
        .setJti(jti)
        .setIssuedAt(issuedAt)
        .setExpirationTime(expires)
        .sign(key);
      return { apiKey, expiresAt: isoOf(expires), hash: hashOf(jti) };
    },

    async verify(token, at) {
      try {
        const { payload } = await jwtVerify(token, key, {
          algorithms: ['HS256'],
          issuer: ISSUER,
          audience: AUDIENCE,
          currentDate: at,
          requiredClaims: ['exp', 'jti', 'sub'],
        });
        const { sub, jti, exp, agent } = payload;
        if (sub === undefined || jti === undefined || exp === undefined) return null;
        if (typeof agent !== 'string' || !isDnsLabel(agent)) return null;
        return { agentId: sub, agentName: agent, hash: hashOf(jti), expiresAt: isoOf(exp) };
      } catch (error) {
        if (error instanceof errors.JOSEError) return null;
        throw error;
      }
    },
  };
}
