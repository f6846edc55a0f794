import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { KeyPair } from './issue.ts';

/** What the webhook's replicas share in their Secret. All certificates are PEM. */
export interface TlsState {
  /** Signs; null: not made yet, or not usable. */
  authority: KeyPair | null;
  /** Trusted already, signs soon. */
  next: KeyPair | null;
  /** Signed until lately, still trusted: its leaves may be in use. */
  previous: string | null;
  /** The authority's key under the name of the one before it, for those who were given only that. */
  cross: string | null;
  /** The webhook's own certificate; its chain ends with `cross`. */
  leaf: KeyPair | null;
}

/** Entries of a Secret, decoded. */
export type SecretEntries = Readonly<Record<string, string>>;

const ENTRIES = {
  authority: ['ca.crt', 'ca.key'],
  next: ['next-ca.crt', 'next-ca.key'],
  leaf: ['tls.crt', 'tls.key'],
} as const;

/** Reads the Secret; what is missing, broken or does not belong together counts as not there. */
export function parseTlsState(entries: SecretEntries): TlsState {
  const pair = ([cert, key]: readonly [string, string]) => usablePair(entries[cert], entries[key]);
  return {
    authority: pair(ENTRIES.authority),
    next: pair(ENTRIES.next),
    previous: usableCertificate(entries['previous-ca.crt']),
    cross: usableCertificate(entries['cross-ca.crt']),
    leaf: pair(ENTRIES.leaf),
  };
}

/** The Secret's entries for a state; what is null has none. */
export function entriesOf(state: TlsState): Record<string, string> {
  const entries: [string, string | undefined][] = [
    ...(['authority', 'next', 'leaf'] as const).flatMap((name): [string, string | undefined][] => [
      [ENTRIES[name][0], state[name]?.cert],
      [ENTRIES[name][1], state[name]?.key],
    ]),
    ['previous-ca.crt', state.previous ?? undefined],
    ['cross-ca.crt', state.cross ?? undefined],
  ];
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** Every authority whose leaves are to be accepted now: for the API server's caBundle and the sidecars. */
export function trustBundle(state: TlsState): string {
  return [state.authority?.cert, state.next?.cert, state.previous]
    .filter((cert) => cert !== null && cert !== undefined)
    .join('');
}

export function usablePair(cert: string | undefined, key: string | undefined): KeyPair | null {
  if (cert === undefined || key === undefined || usableCertificate(cert) === null) return null;
  try {
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key)) ? { cert, key } : null;
  } catch {
    return null;
  }
}

/** The certificates of a PEM text, each of them readable; what is none is left out. */
export function certificatesIn(pem: string): string[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^]*?-----END CERTIFICATE-----\n?/g) ?? [];
  return blocks.filter((block) => usableCertificate(block) !== null);
}

function usableCertificate(cert: string | undefined): string | null {
  if (cert === undefined) return null;
  try {
    new X509Certificate(cert);
    return cert;
  } catch {
    return null;
  }
}
