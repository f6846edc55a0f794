import {
  claimsOf,
  isRegistrationKey,
  readTokenFile,
  type Credentials,
  type Revealable,
} from './credentials.ts';
import { replaceFile } from './replace-file.ts';

/** The storage of the token for pushes. */
export interface KeySource {
  /** The currently stored token; rejects when it cannot be read. */
  read(): Promise<string>;
  /** Whether the sender renews such a token; else the owner of the file renews it. */
  isRenewable(token: string): boolean;
  /** Stores a renewed token across restarts; null: no storage is configured. */
  keep: ((key: string) => Promise<void>) | null;
}

export function keySourceOf(credentials: Credentials, now: () => Date): KeySource {
  if (credentials.kind === 'file') {
    const { path } = credentials;
    return {
      read: () => readTokenFile(path),
      // The kubelet renews projected tokens; the sender renews registration keys only.
      isRenewable: isRegistrationKey,
      keep: (key) => replaceFile(path, `${key}\n`, 0o600),
    };
  }
  const { key, keepPath } = credentials;
  if (keepPath === undefined)
    return { read: () => Promise.resolve(key.reveal()), isRenewable: () => true, keep: null };
  return {
    read: () => newerOf(key, keepPath, now()),
    isRenewable: () => true,
    keep: (renewed) => replaceFile(keepPath, `${renewed}\n`, 0o600),
  };
}

/**
 * The kept key if it belongs to the same agent and is newer than the given key; else the given key. A new registration
 * issues a newer key, which replaces the kept key. A missing file or other content is ignored.
 */
async function newerOf(given: Revealable, keepPath: string, now: Date): Promise<string> {
  const own = given.reveal();
  const kept = await readTokenFile(keepPath).catch(() => null);
  if (kept === null || !isRegistrationKey(kept)) return own;
  const [ownClaims, keptClaims] = [claimsOf(own), claimsOf(kept)];
  const isSameAgent = keptClaims?.sub !== undefined && keptClaims.sub === ownClaims?.sub;
  const isLater = Number(keptClaims?.iat) > Number(ownClaims?.iat);
  const isAlive = Number(keptClaims?.exp) * 1_000 > now.getTime();
  return isSameAgent && isLater && isAlive ? kept : own;
}
