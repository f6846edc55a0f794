import {
  claimsOf,
  isRegistrationKey,
  readTokenFile,
  type Credentials,
  type Revealable,
} from './credentials.ts';
import { writeKeyFile } from './key-file.ts';

/** Where the token of the pushes is kept. */
export interface KeySource {
  /** The token as it is kept now; rejects when it cannot be read. */
  read(): Promise<string>;
  /** Whether the sender renews such a token, and not the owner of its file. */
  isRenewable(token: string): boolean;
  /** Keeps a renewed token over a restart; null: there is no place for it. */
  keep: ((key: string) => Promise<void>) | null;
}

export function keySourceOf(credentials: Credentials, now: () => Date): KeySource {
  if (credentials.kind === 'file') {
    const { path } = credentials;
    return {
      read: () => readTokenFile(path),
      // The kubelet renews a projected token, and takes no other in its place.
      isRenewable: isRegistrationKey,
      keep: (key) => writeKeyFile(path, key),
    };
  }
  const { key, keepPath } = credentials;
  if (keepPath === undefined)
    return { read: () => Promise.resolve(key.reveal()), isRenewable: () => true, keep: null };
  return {
    read: () => newerOf(key, keepPath, now()),
    isRenewable: () => true,
    keep: (renewed) => writeKeyFile(keepPath, renewed),
  };
}

/**
 * The kept key while it is a later one of the same agent than the given one: registering again gives a later one, and ends
 * what was kept. A file that is missing or holds something else counts for nothing, since the given key is there.
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
