import { actor } from './actor.ts';
import { isoTime, oneOf, optional, text, type Field } from './field.ts';
import { namedObject, object, type TypeOf } from './object.ts';
import { PROOF_ORIGINS } from './values.ts';

const MAX_PROOF_TEXT = 2_048;

const verifiedBy = text('The tool or team that tested the rule.', { max: MAX_PROOF_TEXT });
const method = text('How the rule was tested and what was observed.', { max: MAX_PROOF_TEXT });
const expiresAt = optional(isoTime('The proof does not count after this time.'));

export const proofSubmission = object('A proof of a compliance rule.', { verifiedBy, method, expiresAt });

/** The body of `POST /proof/rule/:ruleId`. */
export interface ProofSubmission extends TypeOf<typeof proofSubmission> {}

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
export const proofRecord = namedObject('ProofRecord', ABOUT, {
  ...members,
  'actor?': actor,
  'expired?': oneOf('True if expiresAt has passed.', [true]),
});

/** A proof record: the result of an external compliance test. */
export interface ProofRecord extends TypeOf<typeof proofRecord> {}

/** A record from an untrusted sender. The receiver checks whether it has expired. */
export const sentProof: Field<ProofRecord> = object(ABOUT, members);

export const tombstone = object('One removed proof.', {
  ruleId: text('The compliance rule.'),
  'origin?': oneOf(
    'Where the proof was removed: control-plane (by an admin), or local (at the sidecar). Absent: removed by a version without origins.',
    PROOF_ORIGINS,
  ),
  at: isoTime('Time of the removal.'),
});

/** Keeps a sender that still has the removed record from restoring it. */
export interface Tombstone extends TypeOf<typeof tombstone> {}
