import { lineDigest as sha256 } from './audit-event.ts';
import { chainHeads } from './chain-head.ts';
import { sequence } from './common.ts';
import { isoTime, matching, nullable, oneOf, text } from './field.ts';
import { list, map, object, type TypeOf } from './object.ts';

const BASE64 = { pattern: /^[A-Za-z0-9+/]+={0,2}$/, wanted: 'base64' };

export const PAYLOAD_TYPE = 'application/vnd.in-toto+json';
export const STATEMENT_TYPE = 'https://in-toto.io/Statement/v1';
/** The predicate of a bundle of evidence. Verifiers compare it as a text. */
export const EVIDENCE_TYPE = 'urn:agent-compliance:evidence:v1';

/** A DSSE envelope. */
export const envelope = object('A signed payload.', {
  payload: matching('The payload.', BASE64),
  payloadType: oneOf('Type of the payload.', [PAYLOAD_TYPE]),
  signatures: list(
    'The signatures.',
    object('One signature.', {
      'keyid?': text('SHA-256 of the public key, in hex.'),
      sig: matching('The signature.', BASE64),
    }),
    { max: 10 },
  ),
});
export interface Envelope extends TypeOf<typeof envelope> {}

/** The parts of a Sigstore bundle that the product verifies. */
export const sigstoreBundle = object('A Sigstore bundle.', { dsseEnvelope: envelope });

const range = object('UTC range.', {
  from: isoTime('Start, inclusive.'),
  to: isoTime('End, exclusive.'),
});
const agent = object('The agent.', { name: text('Its name.'), namespace: nullable(text('null: unknown.')) });

/** The in-toto statement of a bundle. */
export const evidenceStatement = object('A statement about files.', {
  _type: oneOf('The type of the statement.', [STATEMENT_TYPE]),
  subject: list(
    'The files.',
    object('One file.', {
      name: matching('Its name, without a directory.', { pattern: /^[\w-][\w.-]*$/, wanted: 'a file name' }),
      digest: object('Its digest.', { sha256: sha256('SHA-256 of the file.') }),
    }),
    { max: 100 },
  ),
  predicateType: oneOf('The type of the predicate.', [EVIDENCE_TYPE]),
  predicate: object('What the evidence is about.', {
    agent,
    range,
    generatedAt: isoTime('When the bundle was made.'),
    manifestSha256: nullable(sha256('SHA-256 of the manifest; null: the bundle has none.')),
    heads: chainHeads,
    counts: map(
      'Number of controls by framework and state.',
      map('By state.', sequence('Number.'), { max: 20 }),
      {
        max: 20,
      },
    ),
  }),
});
export interface EvidenceStatement extends TypeOf<typeof evidenceStatement> {}

/** The members of `evidence.json` that its verification reads. */
export const verifiedEvidence = object('A bundle of evidence.', {
  agent,
  range,
  auditLog: object('The audit log in the range.', {
    heads: chainHeads,
    files: list(
      'The files that were read.',
      object('One file.', { name: text('Its name.'), sha256: sha256('SHA-256 of the file.') }),
      { max: 1_000 },
    ),
  }),
  notIncluded: list(
    'What the bundle does not have.',
    object('One part.', { part: text('The part.'), reason: text('Why it is not included.') }),
    { max: 1_000 },
  ),
});
export interface VerifiedEvidence extends TypeOf<typeof verifiedEvidence> {}
