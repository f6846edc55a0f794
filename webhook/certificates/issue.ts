import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  webcrypto,
  X509Certificate,
  type KeyObject,
} from 'node:crypto';
import { isIPv4 } from 'node:net';
import { BitString, Integer, OctetString, Utf8String } from 'asn1js';
import {
  AttributeTypeAndValue,
  AuthorityKeyIdentifier,
  BasicConstraints,
  Certificate,
  CryptoEngine,
  Extension,
  ExtKeyUsage,
  GeneralName,
  GeneralNames,
  Time,
  TimeType,
} from 'pkijs';
import type { KeyPair } from '../../runtime/http-listener.ts';

export interface Validity {
  now: Date;
  /** From `now`. The certificate is also valid for the hour before, because clocks differ. */
  days: number;
}

const CLOCK_SKEW_MS = 3_600_000;
const DAY_MS = 86_400_000;
const CURVE = { name: 'ECDSA', namedCurve: 'P-256' } as const;
const engine = new CryptoEngine({ crypto: webcrypto });

/** Issues a new self-signed CA. */
export async function issueCa(validity: Validity): Promise<KeyPair> {
  const { publicKey, privateKey } = newKeys();
  const name = `agent-compliance CA ${randomBytes(4).toString('hex')}`;
  const subject = { name, publicKey, extensions: caExtensions() };
  const cert = await sign(subject, { name, key: privateKey }, { now: validity.now, end: endOf(validity) });
  return { cert, key: pemOf(privateKey) };
}

/**
 * The new CA's key, signed by the old CA. With this certificate in the chain, a client that trusts only the old CA accepts
 * leaves of the new CA. It expires with the old CA.
 */
export async function crossSign(next: KeyPair, old: KeyPair, now: Date): Promise<string> {
  const { publicKey, subject } = new X509Certificate(next.cert);
  const { issuer, end } = issuerOf(old);
  return sign({ name: commonNameOf(subject), publicKey, extensions: caExtensions() }, issuer, { now, end });
}

/** A server certificate for `hosts` (DNS names and IPv4 addresses), the first of which is its common name. */
export async function issueLeaf(ca: KeyPair, hosts: readonly string[], validity: Validity): Promise<KeyPair> {
  const { publicKey, privateKey } = newKeys();
  const { issuer, end: endOfCa } = issuerOf(ca);
  const end = new Date(Math.min(endOf(validity).getTime(), endOfCa.getTime()));
  const subject = { name: (hosts[0] ?? '').slice(0, 64), publicKey, extensions: leafExtensions(hosts) };
  const cert = await sign(subject, issuer, { now: validity.now, end });
  return { cert, key: pemOf(privateKey) };
}

interface Subject {
  name: string;
  publicKey: KeyObject;
  extensions: Extension[];
}

interface Issuer {
  name: string;
  key: KeyObject;
}

function issuerOf({ cert, key }: KeyPair): { issuer: Issuer; end: Date } {
  const { subject, validToDate } = new X509Certificate(cert);
  return { issuer: { name: commonNameOf(subject), key: createPrivateKey(key) }, end: validToDate };
}

async function sign(
  subject: Subject,
  issuer: Issuer,
  { now, end }: { now: Date; end: Date },
): Promise<string> {
  const certificate = new Certificate();
  certificate.version = 2;
  // Positive, 127 random bits.
  const serial = randomBytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x01;
  certificate.serialNumber = new Integer({ valueHex: bytes(serial) });
  certificate.issuer.typesAndValues.push(commonName(issuer.name));
  certificate.subject.typesAndValues.push(commonName(subject.name));
  certificate.notBefore = time(new Date(now.getTime() - CLOCK_SKEW_MS));
  certificate.notAfter = time(end);
  const publicKey = subject.publicKey.toCryptoKey(CURVE, true, ['verify']);
  await certificate.subjectPublicKeyInfo.importKey(publicKey, engine);
  const authorityKey = new AuthorityKeyIdentifier({
    keyIdentifier: keyIdentifier(createPublicKey(issuer.key)),
  });
  certificate.extensions = [
    ...subject.extensions,
    extension('2.5.29.14', false, keyIdentifier(subject.publicKey)),
    extension('2.5.29.35', false, authorityKey.toSchema()),
  ];
  await certificate.sign(issuer.key.toCryptoKey(CURVE, false, ['sign']), 'SHA-256', engine);
  return new X509Certificate(Buffer.from(certificate.toSchema(true).toBER(false))).toString();
}

function caExtensions(): Extension[] {
  return [
    extension('2.5.29.19', true, new BasicConstraints({ cA: true }).toSchema()),
    // keyCertSign, cRLSign
    extension('2.5.29.15', true, new BitString({ valueHex: bytes([0x06]), unusedBits: 1 })),
  ];
}

function leafExtensions(hosts: readonly string[]): Extension[] {
  const names = hosts.map((host) =>
    isIPv4(host)
      ? new GeneralName({ type: 7, value: new OctetString({ valueHex: bytes(host.split('.').map(Number)) }) })
      : new GeneralName({ type: 2, value: host }),
  );
  return [
    extension('2.5.29.19', true, new BasicConstraints().toSchema()),
    // digitalSignature
    extension('2.5.29.15', true, new BitString({ valueHex: bytes([0x80]), unusedBits: 7 })),
    // serverAuth
    extension('2.5.29.37', false, new ExtKeyUsage({ keyPurposes: ['1.3.6.1.5.5.7.3.1'] }).toSchema()),
    extension('2.5.29.17', false, new GeneralNames({ names }).toSchema()),
  ];
}

function extension(
  extnID: string,
  critical: boolean,
  value: { toBER(sizeOnly: boolean): ArrayBuffer },
): Extension {
  return new Extension({ extnID, critical, extnValue: value.toBER(false) });
}

function commonName(value: string): AttributeTypeAndValue {
  return new AttributeTypeAndValue({ type: '2.5.4.3', value: new Utf8String({ value }) });
}

/** Subjects of the product's certificates contain only a common name. */
function commonNameOf(subject: string): string {
  return subject.replace(/^CN=/, '');
}

function keyIdentifier(key: KeyObject): OctetString {
  const hash = createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest();
  return new OctetString({ valueHex: bytes(hash.subarray(0, 20)) });
}

/** RFC 5280: UTCTime until 2049. */
function time(value: Date): Time {
  return new Time({
    type: value.getUTCFullYear() < 2050 ? TimeType.UTCTime : TimeType.GeneralizedTime,
    value,
  });
}

function endOf({ now, days }: Validity): Date {
  return new Date(now.getTime() + days * DAY_MS);
}

function newKeys(): { publicKey: KeyObject; privateKey: KeyObject } {
  return generateKeyPairSync('ec', { namedCurve: CURVE.namedCurve });
}

function pemOf(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}

function bytes(values: ArrayLike<number>): ArrayBuffer {
  return Uint8Array.from(values).buffer;
}
