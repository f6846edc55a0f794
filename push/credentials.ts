import { readFile } from 'node:fs/promises';

/** A value that does not print itself. */
export interface Revealable {
  reveal(): string;
}

/** A registration token, renewed while the process runs; or a file whose owner renews it (a projected token), read for every push. */
export type Credentials =
  | {
      kind: 'key';
      key: Revealable;
      /** The renewed key, for an agent that wants to keep it over a restart. */
      onRenewed?: (key: Revealable, expiresAt: Date) => void;
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
  const parts = key.split('.');
  if (parts.length !== 3) return null;
  let claims: unknown;
  try {
    claims = JSON.parse(Buffer.from(parts[1] ?? '', 'base64url').toString('utf8'));
  } catch {
    return null;
  }
  if (typeof claims !== 'object' || claims === null || !('exp' in claims)) return null;
  const expiresAtMs = Number(claims.exp) * 1_000;
  const issuedAtMs = 'iat' in claims ? Number(claims.iat) * 1_000 : now.getTime();
  return Number.isFinite(expiresAtMs) && Number.isFinite(issuedAtMs) ? { issuedAtMs, expiresAtMs } : null;
}

/** A key is renewed at two thirds of its lifetime; an expired one cannot be. */
export function isRenewalDue(lifetime: KeyLifetime, now: Date): boolean {
  const due = lifetime.issuedAtMs + ((lifetime.expiresAtMs - lifetime.issuedAtMs) * 2) / 3;
  return now.getTime() >= due && now.getTime() < lifetime.expiresAtMs;
}
