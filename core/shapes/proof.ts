import { isoTime, named, oneOf, optional, text, type Field } from './field.ts';
import { object, type TypeOf } from './object.ts';
import { PROOF_ORIGINS } from './values.ts';

const MAX_PROOF_TEXT = 2_048;

const verifiedBy = text('Person or program that ran the test.', { max: MAX_PROOF_TEXT });
const method = text('How the rule was tested.', { max: MAX_PROOF_TEXT });
const expiresAt = optional(isoTime('The proof does not count after this time.'));

const submission = object('A proof of a compliance rule.', { verifiedBy, method, expiresAt });

/** The body of `POST /proof/rule/:ruleId`. */
export interface ProofSubmission extends TypeOf<typeof submission> {}
export const proofSubmission: Field<ProofSubmission> = submission;

const members = {
  ruleId: text('Rule that the record proves.', { max: 100 }),
  verifiedBy,
  method,
  verifiedAt: isoTime('Set by the service.'),
  expiresAt,
  origin: optional(oneOf('Absent: written by version 0.1.0.', PROOF_ORIGINS)),
};
const ABOUT = 'The result of an external compliance test.';
const record = object(ABOUT, {
  ...members,
  expired: optional(oneOf('Only if `expiresAt` has passed.', [true])),
});

/** A proof record: the result of an external compliance test. */
export interface ProofRecord extends TypeOf<typeof record> {}
export const proofRecord: Field<ProofRecord> = named('ProofRecord', record);

/** A record from an untrusted sender. The receiver checks whether it has expired. */
export const sentProof: Field<ProofRecord> = object(ABOUT, members);
