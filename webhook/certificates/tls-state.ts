import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { KeyPair } from './issue.ts';

/** The state that the webhook's replicas share in their Secret. All certificates are PEM. */
export interface TlsState {
  /** Signs leaves; null: not created yet, or not usable. */
  ca: KeyPair | null;
  /** Already trusted; will sign leaves soon. */
  nextCa: KeyPair | null;
  /** Certificates of earlier CAs, still trusted because their leaves may be in use. */
  previousCa: string | null;
  /** The CA's key signed by the previous CA, for clients that trust only the previous CA. */
  cross: string | null;
  /** The webhook's own certificate; its chain ends with `cross`. */
  leaf: KeyPair | null;
}

/** Entries of a Secret, decoded. */
export type SecretEntries = Readonly<Record<string, string>>;

const ENTRIES = {
  ca: ['ca.crt', 'ca.key'],
  nextCa: ['next-ca.crt', 'next-ca.key'],
  leaf: ['tls.crt', 'tls.key'],
} as const;

/** Parses the Secret's entries. Missing, invalid or mismatched entries become null. */
export function parseTlsState(entries: SecretEntries): TlsState {
  const pair = ([cert, key]: readonly [string, string]) => usablePair(entries[cert], entries[key]);
  return {
    ca: pair(ENTRIES.ca),
    nextCa: pair(ENTRIES.nextCa),
    previousCa: usableCertificate(entries['previous-ca.crt']),
    cross: usableCertificate(entries['cross-ca.crt']),
    leaf: pair(ENTRIES.leaf),
  };
}

/** The Secret's entries for a state; null members have no entries. */
export function entriesOf(state: TlsState): Record<string, string> {
  const entries: [string, string | undefined][] = [
    ...(['ca', 'nextCa', 'leaf'] as const).flatMap((name): [string, string | undefined][] => [
      [ENTRIES[name][0], state[name]?.cert],
      [ENTRIES[name][1], state[name]?.key],
    ]),
    ['previous-ca.crt', state.previousCa ?? undefined],
    ['cross-ca.crt', state.cross ?? undefined],
  ];
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** All CAs whose leaves must currently be accepted, for the API server's caBundle and the sidecars. */
export function trustBundle(state: TlsState): string {
  return [state.ca?.cert, state.nextCa?.cert, state.previousCa]
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

/** The valid certificates of a PEM text; invalid blocks are omitted. */
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
