import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { KeyPair } from '../../runtime/http-listener.ts';

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

/** Parses the Secret's entries. Missing, invalid or mismatched entries become null. */
export function parseTlsState(entries: SecretEntries): TlsState {
  return {
    ca: usablePair(entries['ca.crt'], entries['ca.key']),
    nextCa: usablePair(entries['next-ca.crt'], entries['next-ca.key']),
    previousCa: usableCertificate(entries['previous-ca.crt']),
    cross: usableCertificate(entries['cross-ca.crt']),
    leaf: usablePair(entries['tls.crt'], entries['tls.key']),
  };
}

/** The Secret's entries for a state; null members have no entries. */
export function entriesOf({ ca, nextCa, previousCa, cross, leaf }: TlsState): Record<string, string> {
  return {
    ...(ca && { 'ca.crt': ca.cert, 'ca.key': ca.key }),
    ...(nextCa && { 'next-ca.crt': nextCa.cert, 'next-ca.key': nextCa.key }),
    ...(leaf && { 'tls.crt': leaf.cert, 'tls.key': leaf.key }),
    ...(previousCa !== null && { 'previous-ca.crt': previousCa }),
    ...(cross !== null && { 'cross-ca.crt': cross }),
  };
}

/** All CAs whose leaves must currently be accepted, for the API server's caBundle and the sidecars. */
export function trustBundle(state: TlsState): string {
  return [state.ca?.cert, state.nextCa?.cert, state.previousCa].join('');
}

function usablePair(cert: string | undefined, key: string | undefined): KeyPair | null {
  if (cert === undefined || key === undefined) return null;
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
