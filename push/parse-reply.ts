import { isRecord, jsonOf } from '../core/untrusted/fields.ts';
import { present } from '../core/untrusted/present.ts';
import type { HeartbeatReply } from '../core/shapes/heartbeat-reply.ts';
import { PROOF_ORIGINS } from '../core/shapes/values.ts';
import { parseWith } from '../core/shapes/field.ts';
import { testedMembers, type ProofRecord } from '../core/shapes/proof.ts';

/** There are 27 rules; a far longer list is not a valid proof list. */
const MAX_PROOFS = 200;
const MAX_TEXT = 2_048;

/** Parses the 200 body of a heartbeat. Malformed members are left out and do not affect the other members. */
export function parseReply(body: string): HeartbeatReply {
  const value = jsonOf(body);
  if (!isRecord(value)) return {};
  const reply: HeartbeatReply = {};
  const { proof, proofRevision, othersToday, intervalSeconds } = value as Record<
    keyof HeartbeatReply,
    unknown
  >;
  // A list is only valid together with its revision; one of them alone would put the store into an inconsistent state.
  if (Array.isArray(proof) && isCount(proofRevision)) {
    reply.proof = proof.slice(0, MAX_PROOFS).flatMap((record) => parseProof(record) ?? []);
    reply.proofRevision = proofRevision;
  }
  if (isRecord(othersToday)) {
    const tokens = othersToday['tokens'];
    const costUsd = othersToday['costUsd'];
    if (isAmount(tokens) && isAmount(costUsd)) reply.othersToday = { tokens, costUsd };
  }
  if (isCount(intervalSeconds) && intervalSeconds >= 10 && intervalSeconds <= 3_600)
    reply.intervalSeconds = intervalSeconds;
  return reply;
}

function parseProof(value: unknown): ProofRecord | null {
  if (!isRecord(value)) return null;
  const { ruleId, verifiedBy, method, verifiedAt, expiresAt, origin } = value as Unread;
  if (!isText(ruleId) || !isText(verifiedBy) || !isText(method) || !isTime(verifiedAt)) return null;
  if (expiresAt !== undefined && !isTime(expiresAt)) return null;
  const tested = parseWith(testedMembers, value);
  // Without its `boundTo` the record would count for other versions than the tested one.
  if (!tested.ok) return null;
  // An older control plane does not send origins.
  const known = PROOF_ORIGINS.find((each) => each === origin);
  return present({ ruleId, origin: known, verifiedBy, method, verifiedAt, expiresAt, ...tested.value });
}

type Unread = Record<keyof ProofRecord, unknown>;

const isText = (value: unknown): value is string => typeof value === 'string' && value.length <= MAX_TEXT;
const isTime = (value: unknown): value is string => isText(value) && !Number.isNaN(Date.parse(value));
const isAmount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0;
const isCount = (value: unknown): value is number => isAmount(value) && Number.isSafeInteger(value);
