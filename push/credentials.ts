import { readFile } from 'node:fs/promises';

/** A value that is not printed accidentally. */
export interface Revealable {
  reveal(): string;
}

/**
 * Either a registration token, renewed while the process runs, or a token file that is read for every push. A registration
 * token in the file is renewed in place; a projected token is renewed by the kubelet.
 */
export type Credentials =
  | {
      kind: 'key';
      key: Revealable;
      /** The file that stores the renewed key across restarts. */
      keepPath?: string;
    }
  | { kind: 'file'; path: string };

/** A token file contains one line of text; longer content is not a token. */
const MAX_TOKEN_LENGTH = 16_384;

export async function readTokenFile(path: string): Promise<string> {
  const token = (await readText('token', path)).trim();
  if (token === '') throw new Error(`the token file ${path} is empty`);
  if (token.length > MAX_TOKEN_LENGTH) throw new Error(`the token file ${path} does not contain a token`);
  return token;
}

/** The rejection names the purpose of the file, because a log shows only the reason. */
export async function readText(what: 'token' | 'CA', path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw new Error(`the ${what} file ${path} cannot be read`, { cause });
  }
}

/**
 * The kept key if it belongs to the same agent and is newer than `own`; else `own`. A new registration
 * issues a newer key, which replaces the kept key. A missing file or other content is ignored.
 */
export async function newerOf(own: string, keepPath: string, now: Date): Promise<string> {
  const kept = await readTokenFile(keepPath).catch(() => null);
  if (kept === null || !isRegistrationKey(kept)) return own;
  const [ownClaims, keptClaims] = [claimsOf(own), claimsOf(kept)];
  const isSameAgent = keptClaims?.sub !== undefined && keptClaims.sub === ownClaims?.sub;
  const isLater = Number(keptClaims?.iat) > Number(ownClaims?.iat);
  const isAlive = Number(keptClaims?.exp) * 1_000 > now.getTime();
  return isSameAgent && isLater && isAlive ? kept : own;
}

type Members = Readonly<Partial<Record<'alg' | 'sub' | 'iat' | 'exp' | 'kubernetes.io', unknown>>>;

/** The unverified claims of a JWT; null for a key that is not a JWT. */
function claimsOf(key: string): Members | null {
  return partOf(key, 1);
}

/** The namespace in the unverified claims of a pod's token; null: the key is not such a token. */
export function namespaceOf(key: string): string | null {
  const { 'kubernetes.io': pod } = claimsOf(key) ?? {};
  if (typeof pod !== 'object' || pod === null || !('namespace' in pod)) return null;
  return typeof pod.namespace === 'string' ? pod.namespace : null;
}

/** Whether this is a registration key, which its holder renews. Cluster tokens are signed with a key pair, not HS256. */
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

/**
 * From two thirds of the lifetime of a registration token to its end. The times are read without verification, which is the server's
 * task. False for a key that is not a JWT or never expires.
 */
export function isRenewalDue(key: string, now: Date): boolean {
  const { iat = now.getTime() / 1_000, exp } = claimsOf(key) ?? {};
  const [issued, expires] = [Number(iat) * 1_000, Number(exp) * 1_000];
  return now.getTime() >= issued + ((expires - issued) * 2) / 3 && now.getTime() < expires;
}
