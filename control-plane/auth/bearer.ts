import { createHash } from 'node:crypto';
import type { Request } from 'express';
import { decodeJwt, type JWTPayload } from 'jose';
import { Problem } from '../../runtime/problem.ts';

const BEARER = /^Bearer +([\x21-\x7e]+)$/i;

/** The bearer token of a request. */
export const bearerOf = (request: Request): string | undefined =>
  BEARER.exec(request.get('authorization') ?? '')?.[1];

export function unauthorized(detail: string): Problem {
  return new Problem(401, detail, { headers: { 'www-authenticate': 'Bearer' } });
}

/** A token with its claims, none of which is verified here. */
export interface UnverifiedToken {
  text: string;
  hash: string;
  audiences: readonly string[];
  /** The UID of the pod that the token names. */
  podUid: string | null;
  /** Milliseconds since the epoch. */
  expiresMs: number;
}

/** null: not a JWT. */
export function parseToken(text: string): UnverifiedToken | null {
  let claims: JWTPayload;
  try {
    claims = decodeJwt(text);
  } catch {
    return null;
  }
  const { aud = [], exp, 'kubernetes.io': bound } = claims;
  const uid = (bound as { pod?: { uid?: unknown } | null } | null | undefined)?.pod?.uid;
  return {
    text,
    hash: createHash('sha256').update(text).digest('base64url'),
    audiences: [aud].flat(),
    podUid: typeof uid === 'string' ? uid : null,
    expiresMs: typeof exp === 'number' ? exp * 1000 : Number.POSITIVE_INFINITY,
  };
}
