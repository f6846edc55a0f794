import { createHash, createPrivateKey, createPublicKey, sign, verify, type KeyObject } from 'node:crypto';
import { PAYLOAD_TYPE, type Envelope, type EvidenceStatement } from '../../core/shapes/attestation.ts';
import { notFound, type Found } from '../admin-key.ts';

/** The passphrase of an encrypted key. Never an option, because other processes can read options. */
export const PASSPHRASE_VARIABLE = 'PLATFORM_EVIDENCE_PASSPHRASE';

const WANTED = 'a P-256 or Ed25519 key as PEM';
const CREATE = 'openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out KEY.pem';

/** The private key in a PEM text. @param file its name, for messages, which never contain the key */
export function signingKey(pem: string, file: string, passphrase: string | undefined): Found<KeyObject> {
  if (pem.includes('BEGIN ENCRYPTED SIGSTORE') || pem.includes('BEGIN ENCRYPTED COSIGN'))
    return notFound(`${file} is a key in the form of cosign, which only cosign reads; create one: ${CREATE}`);
  if (!pem.includes('PRIVATE KEY-----'))
    return notFound(`${file} contains no private key: expected ${WANTED}`);
  const isEncrypted = /BEGIN ENCRYPTED PRIVATE KEY|^Proc-Type: 4,ENCRYPTED/m.test(pem);
  if (isEncrypted && (passphrase ?? '') === '')
    return notFound(
      `${file} is encrypted: set ${PASSPHRASE_VARIABLE}, or decrypt it first: openssl pkey -in ${file} -out KEY.pem`,
    );
  try {
    const key = createPrivateKey({ key: pem, ...(isEncrypted && { passphrase }) });
    return isUsable(key)
      ? { ok: true, value: key }
      : notFound(`${file} has a key of another kind: expected ${WANTED}`);
  } catch {
    const why = isEncrypted
      ? `the passphrase in ${PASSPHRASE_VARIABLE} does not decrypt it`
      : 'its PEM is not valid';
    return notFound(`cannot use the key in ${file}: ${why}`);
  }
}

/** The public key in a PEM text. */
export function verificationKey(pem: string, file: string): Found<KeyObject> {
  if (pem.includes('PRIVATE KEY-----'))
    return notFound(`${file} contains a private key; pass the public key: openssl pkey -in ${file} -pubout`);
  try {
    const key = createPublicKey(pem);
    return isUsable(key)
      ? { ok: true, value: key }
      : notFound(`${file} has a key of another kind: expected ${WANTED}`);
  } catch {
    return notFound(`${file} contains no public key: expected ${WANTED}`);
  }
}

const isUsable = ({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): boolean =>
  type === 'ed25519' || (type === 'ec' && details?.namedCurve === 'prime256v1');

/** Both signed forms of a statement. */
export interface Signed {
  dsse: Envelope;
  sigstore: object;
}

/**
 * Signs a statement. The plain envelope names the key, because securesystemslib requires `keyid`. The Sigstore bundle has the
 * same signature without it, because cosign ignores signatures with a `keyid`.
 */
export function signStatement(statement: EvidenceStatement, key: KeyObject): Signed {
  const body = Buffer.from(JSON.stringify(statement));
  const payload = body.toString('base64');
  const sig = sign(digestOf(key), preAuthentication(body), key).toString('base64');
  const keyid = keyidOf(createPublicKey(key));
  return {
    dsse: { payload, payloadType: PAYLOAD_TYPE, signatures: [{ keyid, sig }] },
    sigstore: {
      mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json',
      verificationMaterial: { publicKey: { hint: Buffer.from(keyid, 'hex').toString('base64') } },
      dsseEnvelope: { payload, payloadType: PAYLOAD_TYPE, signatures: [{ sig }] },
    },
  };
}

/** Whether a signature of the envelope is one of the key. */
export function isSigned({ payload, signatures }: Envelope, key: KeyObject): boolean {
  const signed = preAuthentication(Buffer.from(payload, 'base64'));
  return signatures.some(({ sig }) => verify(digestOf(key), signed, key, Buffer.from(sig, 'base64')));
}

/** SHA-256 of a public key, in hex. */
export const keyidOf = (key: KeyObject): string =>
  createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('hex');

/** Ed25519 hashes the message itself. */
const digestOf = ({ asymmetricKeyType }: KeyObject): 'sha256' | null =>
  asymmetricKeyType === 'ed25519' ? null : 'sha256';

/** The bytes that DSSE signs, with the length of each part, so that no part can be read as another. */
function preAuthentication(body: Buffer): Buffer {
  return Buffer.concat([
    Buffer.from(`DSSEv1 ${Buffer.byteLength(PAYLOAD_TYPE)} ${PAYLOAD_TYPE} ${body.length} `),
    body,
  ]);
}
