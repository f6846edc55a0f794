import { actor } from './actor.ts';
import { count } from './common.ts';
import { integer, isoTime, matching, oneOf, optional, text, type Field } from './field.ts';
import { namedObject, object, type TypeOf } from './object.ts';
import { PROOF_ORIGINS } from './values.ts';

const MAX_PROOF_TEXT = 2_048;

const verifiedBy = text('The tool or team that tested the rule.', { max: MAX_PROOF_TEXT });
const method = text('How the rule was tested and what was observed.', { max: MAX_PROOF_TEXT });
const expiresAt = optional(isoTime('The proof does not count after this time.'));

const sha256 = (description: string): Field<string> =>
  matching(description, { pattern: /^[0-9a-f]{64}$/, wanted: 'a SHA-256 in hex' });

const source = object('The run of a test tool that the proof reports. A run with errors is not a proof.', {
  tool: text('The tool.', { max: 100 }),
  'toolVersion?': text('Its version.', { max: 100 }),
  fileSha256: sha256('SHA-256 of the file with the results, hex.'),
  run: integer('Number of tests that ran.', { min: 1 }),
  passed: count('Number of tests that passed.'),
  failed: count('Number of tests that failed.'),
  errors: oneOf('Number of tests without a result: 0.', [0]),
  'startedAt?': isoTime('When the run started.'),
  'judge?': text('The model that judged the responses.', { max: 500 }),
});

const boundTo = object(
  'What was tested. The proof is stale while one of these values differs from the value in force.',
  {
    'manifest?': sha256('SHA-256 of the manifest file, hex.'),
    'model?': text('Id of the model.', { max: 500 }),
    'promptFile?': sha256('SHA-256 of the file with the system prompt, hex.'),
    'lock?': sha256('SHA-256 of agent.lock, hex.'),
  },
);

/** The tested versions. */
export interface BoundTo extends TypeOf<typeof boundTo> {}

const tested = { 'source?': source, 'boundTo?': boundTo };
/** What an imported proof reports about its test. */
export const testedMembers = object('The test of a proof.', tested);

export const proofSubmission = object('A proof of a compliance rule.', {
  verifiedBy,
  method,
  expiresAt,
  ...tested,
});

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
  ...tested,
  'state?': oneOf('stale: the proof does not count, because a value in boundTo has changed.', ['stale']),
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
