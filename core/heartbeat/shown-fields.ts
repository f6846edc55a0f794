import type { AuditSummary } from '../audit/summary.ts';
import { SUPPRESSION_STATES, type EvaluatedSuppression } from '../audit/suppressions.ts';
import { MATRIX_KINDS, type MatrixRow } from '../egress/matrix.ts';
import { isNotRewrittenReason, type NotRewritten } from '../egress/not-rewritten.ts';
import { MAX_REPORT, type EgressReport } from '../egress/report.ts';
import { MAX_NAME, MAX_SUMMARY } from '../egress/summary.ts';
import { VERDICTS } from '../egress/verdict.ts';
import { CENSUS_STATES, type UnseenEgress } from '../facts/egress-facts.ts';
import { EVIDENCE_TIERS, ITEM_KINDS, type EvidenceItem, type EvidenceReport } from '../evidence/evidence.ts';
import {
  described,
  flag,
  INVALID,
  integer,
  isoTime,
  list,
  nullable,
  number,
  object,
  oneOf,
  text,
  type Field,
} from '../untrusted/fields.ts';

/** Further entries are dropped and longer strings are cut. */
const MAX_ITEMS = 1000;
const MAX_RULES = 100;
const MAX_TEXT = 500;

const cutText = text({ max: MAX_TEXT, cut: true });
/** An enum value. A newer sender may send values that this version does not know. */
const code = text({ max: 64, cut: true });
const amount = { min: 0, max: 1e6 };

/** A list without the entries whose values this version does not know. */
function known<S, T extends S>(
  of: Field<S>,
  options: { max: number; isKnown: (each: S) => each is T },
): Field<T[]> {
  const all = list(of, { max: options.max, cut: true });
  return described(all.schema, (value, path, errors) => {
    const parsed = all(value, path, errors);
    return parsed === INVALID ? INVALID : parsed.filter(options.isKnown);
  });
}

type Loose<T, K extends keyof T> = { [P in keyof T]: P extends K ? string : T[P] };
type LooseItem = Loose<EvidenceItem, 'kind' | 'tier'>;
type LooseSuppression = Loose<EvaluatedSuppression, 'state'>;

const item: Field<LooseItem> = object(
  { kind: code, name: cutText, tier: code },
  { shownBy: cutText, lastSeen: isoTime, contradictedBy: cutText },
);

const isKnownItem = (each: LooseItem): each is EvidenceItem =>
  ITEM_KINDS.some((kind) => kind === each.kind) && EVIDENCE_TIERS.some((tier) => tier === each.tier);

/** `evidence` of a heartbeat. */
export const evidenceField: Field<EvidenceReport> = object(
  {
    shown: number(amount),
    declared: integer(amount),
    reported: integer(amount),
    items: known(item, { max: MAX_ITEMS, isKnown: isKnownItem }),
  },
  { shownWithoutLocalProofs: number(amount) },
);

const suppression: Field<LooseSuppression> = object(
  { rule: code, reason: cutText, state: code },
  { approvedBy: cutText, expires: code },
);

const isKnownSuppression = (each: LooseSuppression): each is EvaluatedSuppression =>
  SUPPRESSION_STATES.some((state) => state === each.state);

const score = integer({ min: 0, max: 100 });

/** `audit` of a heartbeat. */
export const auditField: Field<AuditSummary> = object({
  declared: score,
  proved: score,
  failed: list(code, { max: MAX_RULES, cut: true }),
  suppressions: known(suppression, { max: MAX_RULES, isKnown: isKnownSuppression }),
});

const names = (max: number): Field<string[]> => list(cutText, { max, cut: true });
const count = integer({ min: 0 });

const shortText = text({ max: MAX_NAME, cut: true });

type LooseRow = Loose<MatrixRow, 'kind' | 'verdict'>;

const row: Field<LooseRow> = object(
  {
    ...{ kind: code, name: shortText, verdict: code },
    ...{ declared: nullable(flag), reported: nullable(flag), observed: nullable(flag) },
  },
  { amount: number({ min: 0, max: Number.MAX_SAFE_INTEGER }) },
);

const isKnownRow = (each: LooseRow): each is MatrixRow =>
  MATRIX_KINDS.some((kind) => kind === each.kind) && VERDICTS.some((verdict) => verdict === each.verdict);

const UNSEEN_VERDICTS: readonly string[] = ['undeclared', 'unknown'] satisfies UnseenEgress['verdict'][];

type LooseUnseen = Loose<UnseenEgress, 'verdict'>;

const unseen: Field<LooseUnseen> = object(
  {
    // Longer than every IPv6 address.
    address: text({ max: 64 }),
    port: integer({ min: 0, max: 65_535 }),
    name: nullable(shortText),
    verdict: code,
    ...{ firstSeen: isoTime, lastSeen: isoTime, count },
  },
  { lanes: names(MAX_REPORT.lanesOfUnseen) },
);

const isKnownUnseen = (each: LooseUnseen): each is UnseenEgress => UNSEEN_VERDICTS.includes(each.verdict);

type LooseNotRewritten = Loose<NotRewritten, 'reason'>;

const notRewritten: Field<LooseNotRewritten> = object({ lane: shortText, variable: shortText, reason: code });

const isKnownNotRewritten = (each: LooseNotRewritten): each is NotRewritten =>
  isNotRewrittenReason(each.reason);

/** `egress` of a heartbeat. */
export const egressField: Field<EgressReport> = object(
  {
    lanes: names(MAX_SUMMARY.lanes),
    calls: count,
    models: names(MAX_SUMMARY.models),
    tools: names(MAX_SUMMARY.tools),
    undeclared: count,
    undeclaredNames: names(MAX_SUMMARY.undeclaredNames),
    neverSeen: count,
    misreported: count,
  },
  {
    ...{
      failedOpen: count,
      unseenEgress: count,
      unexplainedOpens: count,
      rowsTotal: count,
      unseenTotal: count,
    },
    rows: known(row, { max: MAX_REPORT.rows, isKnown: isKnownRow }),
    unseen: known(unseen, { max: MAX_REPORT.unseen, isKnown: isKnownUnseen }),
    notRewritten: known(notRewritten, { max: MAX_REPORT.notRewritten, isKnown: isKnownNotRewritten }),
    census: object({ state: oneOf(CENSUS_STATES), reason: nullable(cutText) }),
  },
);
