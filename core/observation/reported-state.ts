import { evidencePercent, itemText } from '../evidence/evidence.ts';
import type { EvidenceReport } from '../shapes/evidence.ts';
import type { Heartbeat } from '../shapes/heartbeat.ts';
import { cut } from '../untrusted/fields.ts';
import { present } from '../untrusted/present.ts';
import type { InstanceEvidence, InstanceStatus } from '../shapes/instance.ts';
import type { ObservationStatus, ObservedEvidence } from '../shapes/observation.ts';

/** List limits of the CRD. */
const MAX_ITEMS = 100;
const MAX_RULES = 100;
/** Maximum items without evidence that a row names for the message of `Compliant`. Further items are only counted. */
const MAX_NOT_SHOWN = 5;
const MAX_NAME = 80;

type StateReports = Pick<Heartbeat, 'evidence' | 'audit'>;
type ReportedState = Pick<InstanceStatus, 'evidence' | 'audit'>;
type ObservedState = Pick<ObservationStatus, 'evidence' | 'audit'>;
/** Absent values replace the known values. */
type Replaced = { [K in keyof Required<ObservedState>]: Required<ObservedState>[K] | null | undefined };

/** The part of evidence and audit that is stored in the row of an instance. The aggregates are computed from these rows. */
export function stateOfInstance({ evidence, audit }: StateReports): ReportedState {
  return present({
    evidence: evidence && rowOf(evidence),
    audit: audit && { declared: audit.declared, proved: audit.proved },
  });
}

function rowOf({ items, ...sums }: EvidenceReport): InstanceEvidence {
  const notShown = items.filter(({ tier }) => tier === 'none').slice(0, MAX_NOT_SHOWN);
  return { ...sums, notShown: notShown.map((item) => cut(itemText(item), MAX_NAME)) };
}

/** Evidence and audit with the lists of the instance whose report is shown. The sums are later computed from all rows. */
export function stateOfReport({ evidence, audit }: StateReports): Replaced {
  return {
    evidence: evidence && { ...sumsOf(evidence), items: evidence.items.slice(0, MAX_ITEMS) },
    audit: audit && {
      ...audit,
      failed: audit.failed.slice(0, MAX_RULES),
      suppressions: audit.suppressions.slice(0, MAX_RULES),
    },
  };
}

/** Evidence and audit of an agent: the sums of its worst live instance with the known lists. */
export function stateOfAgent(known: ObservedState, live: readonly InstanceStatus[]): Replaced {
  const evidence = least(evidenceIn(live), evidencePercent);
  const audits = live.flatMap((each) => each.audit ?? []);
  const audit = least(audits, ({ proved }) => proved);
  const { failed = [], suppressions = [] } = known.audit ?? {};
  return {
    evidence: evidence && { ...sumsOf(evidence), items: known.evidence?.items ?? [] },
    audit: audit && { failed, suppressions, ...audit },
  };
}

/** Removes the lists, because their instance no longer exists. */
export function withoutLists({ evidence, audit }: ObservedState): ObservedState {
  return present({
    evidence: evidence && { ...evidence, items: [] },
    audit: audit && { ...audit, failed: [], suppressions: [] },
  });
}

function sumsOf(
  evidence: Pick<EvidenceReport, 'shown' | 'declared' | 'reported'>,
): Omit<ObservedEvidence, 'items'> {
  const { shown, declared, reported } = evidence;
  return { percent: evidencePercent(evidence), shown, declared, reported };
}

const evidenceIn = (instances: readonly InstanceStatus[]): InstanceEvidence[] =>
  instances.flatMap((each) => each.evidence ?? []);

/** The first element with the lowest value. */
export function least<T>(all: readonly T[], valueOf: (each: T) => number): T | undefined {
  let [lowest] = all;
  for (const each of all) if (lowest !== undefined && valueOf(each) < valueOf(lowest)) lowest = each;
  return lowest;
}

/** Evidence without local proofs, in percent of the declared items. */
export function provedPercent(evidence: InstanceEvidence): number {
  const { shown, shownWithoutLocalProofs = shown, declared } = evidence;
  return evidencePercent({ shown: Math.min(shown, shownWithoutLocalProofs), declared });
}

/** The least evidence of all live instances, which decides `Compliant`; undefined: no instance has sent evidence. */
export function leastEvidence(live: readonly InstanceStatus[]): InstanceEvidence | undefined {
  return least(evidenceIn(live), provedPercent);
}

/** For example `tool search, service db and 3 more`; empty: every item has some evidence. */
export function notShownText({ shown, declared, reported, notShown }: InstanceEvidence): string {
  const more = Math.round(declared - shown - reported / 2) - notShown.length;
  const names = notShown.join(', ');
  return more > 0 && names !== '' ? `${names} and ${more} more` : names;
}
