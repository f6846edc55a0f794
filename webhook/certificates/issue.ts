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
  const keys = newKeys();
  const name = `agent-compliance CA ${randomBytes(4).toString('hex')}`;
  const cert = await sign({
    subject: name,
    issuer: name,
    publicKey: keys.publicKey,
    signer: keys.privateKey,
    now: validity.now,
    notAfter: endOf(validity),
    extensions: caExtensions(),
  });
  return { cert, key: pemOf(keys.privateKey) };
}

/**
 * The new CA's key, signed by the old CA. With this certificate in the chain, a client that trusts only the old CA accepts
 * leaves of the new CA. It expires with the old CA.
 */
export async function crossSign(next: KeyPair, old: KeyPair, now: Date): Promise<string> {
  const nextCertificate = new X509Certificate(next.cert);
  const oldCertificate = new X509Certificate(old.cert);
  return sign({
    subject: commonNameOf(nextCertificate.subject),
    issuer: commonNameOf(oldCertificate.subject),
    publicKey: nextCertificate.publicKey,
    signer: createPrivateKey(old.key),
    now,
    notAfter: oldCertificate.validToDate,
    extensions: caExtensions(),
  });
}

/** A server certificate for `hosts` (DNS names and IPv4 addresses), the first of which is its common name. */
export async function issueLeaf(ca: KeyPair, hosts: readonly string[], validity: Validity): Promise<KeyPair> {
  const keys = newKeys();
  const issuer = new X509Certificate(ca.cert);
  const end = endOf(validity);
  const cert = await sign({
    subject: (hosts[0] ?? '').slice(0, 64),
    issuer: commonNameOf(issuer.subject),
    publicKey: keys.publicKey,
    signer: createPrivateKey(ca.key),
    now: validity.now,
    notAfter: end < issuer.validToDate ? end : issuer.validToDate,
    extensions: leafExtensions(hosts),
  });
  return { cert, key: pemOf(keys.privateKey) };
}

interface Signing {
  subject: string;
  issuer: string;
  publicKey: KeyObject;
  signer: KeyObject;
  now: Date;
  notAfter: Date;
  extensions: Extension[];
}

async function sign(signing: Signing): Promise<string> {
  const certificate = new Certificate();
  certificate.version = 2;
  // Positive, 127 random bits.
  const serial = randomBytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x01;
  certificate.serialNumber = new Integer({ valueHex: bytes(serial) });
  certificate.issuer.typesAndValues.push(commonName(signing.issuer));
  certificate.subject.typesAndValues.push(commonName(signing.subject));
  certificate.notBefore = time(new Date(signing.now.getTime() - CLOCK_SKEW_MS));
  certificate.notAfter = time(signing.notAfter);
  const publicKey = signing.publicKey.toCryptoKey(CURVE, true, ['verify']);
  await certificate.subjectPublicKeyInfo.importKey(publicKey, engine);
  const authorityKey = new AuthorityKeyIdentifier({
    keyIdentifier: keyIdentifier(createPublicKey(signing.signer)),
  });
  certificate.extensions = [
    ...signing.extensions,
    extension('2.5.29.14', false, keyIdentifier(signing.publicKey)),
    extension('2.5.29.35', false, authorityKey.toSchema()),
  ];
  await certificate.sign(signing.signer.toCryptoKey(CURVE, false, ['sign']), 'SHA-256', engine);
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
