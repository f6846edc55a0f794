import { isoTime, named, oneOf, optional, text, type Field } from './field.ts';
import { object, type TypeOf } from './object.ts';
import { PROOF_ORIGINS } from './values.ts';

const MAX_PROOF_TEXT = 2_048;

const verifiedBy = text('The tool or team that tested the rule.', { max: MAX_PROOF_TEXT });
const method = text('How the rule was tested and what was observed.', { max: MAX_PROOF_TEXT });
const expiresAt = optional(isoTime('The proof does not count after this time.'));

const submission = object('A proof of a compliance rule.', { verifiedBy, method, expiresAt });

/** The body of `POST /proof/rule/:ruleId`. */
export interface ProofSubmission extends TypeOf<typeof submission> {}
export const proofSubmission: Field<ProofSubmission> = submission;

const members = {
  ruleId: text('The compliance rule, such as SEC-LLM-04.', { max: 100 }),
  verifiedBy,
  method,
  verifiedAt: isoTime('When the proof was submitted.'),
  expiresAt,
  origin: optional(
    oneOf(
      "Where the record was written: control-plane (with the admin key), or local (at the sidecar's port 4001, which the agent can reach). Absent: written by a version without origins.",
      PROOF_ORIGINS,
    ),
  ),
};
const ABOUT = 'A record that a compliance rule was tested, and how.';
const record = object(ABOUT, {
  ...members,
  expired: optional(oneOf('True if expiresAt has passed.', [true])),
});

/** A proof record: the result of an external compliance test. */
export interface ProofRecord extends TypeOf<typeof record> {}
export const proofRecord: Field<ProofRecord> = named('ProofRecord', record);

/** A record from an untrusted sender. The receiver checks whether it has expired. */
export const sentProof: Field<ProofRecord> = object(ABOUT, members);

const removed = object('One removed proof.', {
  ruleId: text('The compliance rule.'),
  origin: optional(
    oneOf(
      'Where the proof was removed: control-plane (by an admin), or local (at the sidecar). Absent: removed by a version without origins.',
      PROOF_ORIGINS,
    ),
  ),
  at: isoTime('Time of the removal.'),
});

/** Keeps a sender that still has the removed record from restoring it. */
export interface Tombstone extends TypeOf<typeof removed> {}
export const tombstone: Field<Tombstone> = removed;
