import { readFile } from 'node:fs/promises';

/** A value that does not print itself. */
export interface Revealable {
  reveal(): string;
}

/**
 * A registration token, renewed while the process runs; or a file, read for every push: a registration token in it is renewed
 * in place, a projected one by the kubelet.
 */
export type Credentials =
  | {
      kind: 'key';
      key: Revealable;
      /** The file in which the renewed key outlives a restart. */
      keepPath?: string;
    }
  | { kind: 'file'; path: string };

/** A token in a file is a line of text; more than this is not a token. */
const MAX_TOKEN_LENGTH = 16_384;

export async function readTokenFile(path: string): Promise<string> {
  const token = (await readText('token', path)).trim();
  if (token === '') throw new Error(`the token file ${path} is empty`);
  if (token.length > MAX_TOKEN_LENGTH) throw new Error(`the token file ${path} holds no token`);
  return token;
}

/** Rejects with what the file is for: the reason is all that a log shows. */
export async function readText(what: 'token' | 'CA', path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw new Error(`the ${what} file ${path} cannot be read`, { cause });
  }
}

export interface KeyLifetime {
  issuedAtMs: number;
  expiresAtMs: number;
}

/**
 * When a registration token began and when it ends, read from the JWT without checking it: the server does that.
 * null for a key that is no JWT or never expires.
 */
export function lifetimeOf(key: string, now: Date): KeyLifetime | null {
  const claims = claimsOf(key);
  if (claims?.exp === undefined) return null;
  const expiresAtMs = Number(claims.exp) * 1_000;
  const issuedAtMs = claims.iat === undefined ? now.getTime() : Number(claims.iat) * 1_000;
  return Number.isFinite(expiresAtMs) && Number.isFinite(issuedAtMs) ? { issuedAtMs, expiresAtMs } : null;
}

type Members = Readonly<Partial<Record<'alg' | 'sub' | 'iat' | 'exp', unknown>>>;

/** The claims of a JWT, unchecked; null for a key that is no JWT. */
export function claimsOf(key: string): Members | null {
  return partOf(key, 1);
}

/** Whether a registration key, which its holder renews: a cluster signs its tokens with a key pair. */
export function isRegistrationKey(token: string): boolean {
  return partOf(token, 0)?.alg === 'HS256';
}

function partOf(key: string, index: 0 | 1): Members | null {
  const parts = key.split('.');
  if (parts.length !== 3) return null;
  try {
    const value: unknown = JSON.parse(Buffer.from(parts[index] ?? '', 'base64url').toString('utf8'));
    return typeof value === 'object' && value !== null ? { ...value } : null;
  } catch {
    return null;
  }
}

/** A key is renewed at two thirds of its lifetime; an expired one cannot be. */
export function isRenewalDue(lifetime: KeyLifetime, now: Date): boolean {
  const due = lifetime.issuedAtMs + ((lifetime.expiresAtMs - lifetime.issuedAtMs) * 2) / 3;
  return now.getTime() >= due && now.getTime() < lifetime.expiresAtMs;
}
