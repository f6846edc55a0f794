import { describe, expect, test } from '@jest/globals';
import { aHeartbeat } from '../../testing/fleet/heartbeat.ts';
import type { EvidenceItem, EvidenceReport } from '../shapes/evidence.ts';
import type { GapReport } from '../shapes/gap.ts';
import { gradeOf } from '../shapes/grade.ts';
import type { Heartbeat } from '../shapes/heartbeat.ts';
import { mergeHeartbeat } from './merge-heartbeat.ts';
import type { Condition } from '../shapes/condition.ts';
import type { ObservationStatus } from '../shapes/observation.ts';
import { statusOf, withoutGone, type ObservationContext } from './status-of.ts';

const START_MS = Date.parse('2026-03-01T12:00:00.000Z');
const at = (second: number): Date => new Date(START_MS + second * 1000);

const none = (name: string): EvidenceItem => ({ kind: 'tool', name, tier: 'none' });
const probed = (name: string): EvidenceItem => ({
  ...{ kind: 'service', name, tier: 'probed', shownBy: 'x' },
  lastSeen: at(0).toISOString(),
});

function evidence(shown: number, declared: number, rest: Partial<EvidenceReport> = {}): EvidenceReport {
  return { shown, declared, reported: 0, items: [], ...rest };
}

const gapOf = (score: number): GapReport => ({
  score,
  grade: gradeOf(score),
  source: 'agent-sdk',
  issues: [],
});

/** Merges the reports one after the other. */
function reported(
  reports: readonly (Partial<Heartbeat> & { from?: string })[],
  context: ObservationContext = {},
): ObservationStatus {
  let status: ObservationStatus | undefined;
  for (const [second, { from = 'a', ...rest }] of reports.entries()) {
    const heartbeat = aHeartbeat({ seq: second + 1, intervalSeconds: 30, ...rest });
    status = mergeHeartbeat(status, heartbeat, { instance: from, ...context }, at(second));
  }
  return status!;
}

const compliant = (status: ObservationStatus): Condition =>
  status.conditions!.find(({ type }) => type === 'Compliant')!;
const verdict = (status: ObservationStatus): string =>
  `${compliant(status).status} ${compliant(status).reason}`;

describe('the condition Compliant of an agent with grade A', () => {
  const denied = { outcomes: { allow: 0, deny: 1, failOpen: 0, notEvaluated: 0 } };

  test.each<[string, Partial<Heartbeat>, ObservationContext, string]>([
    ['with evidence for all items', { evidence: evidence(4, 4) }, {}, 'True Compliant'],
    ['with evidence for half of the items', { evidence: evidence(2, 4) }, {}, 'True Compliant'],
    ['with reports for all items', { evidence: evidence(2, 4, { reported: 4 }) }, {}, 'True Compliant'],
    ['with evidence for slightly less than half', { evidence: evidence(499, 1000) }, {}, 'Unknown NotShown'],
    ['without evidence for any item', { evidence: evidence(0, 4) }, {}, 'Unknown NotShown'],
    [
      'with 80 % evidence and a threshold of 80 %',
      { evidence: evidence(4, 5) },
      { compliantEvidence: 80 },
      'True Compliant',
    ],
    [
      'with 80 % evidence and a threshold of 81 %',
      { evidence: evidence(4, 5) },
      { compliantEvidence: 81 },
      'Unknown NotShown',
    ],
    [
      'without evidence and a threshold of 0 %',
      { evidence: evidence(0, 4) },
      { compliantEvidence: 0 },
      'True Compliant',
    ],
    [
      'with evidence for half of the items including a local proof',
      { evidence: evidence(2, 4, { shownWithoutLocalProofs: 1 }) },
      {},
      'Unknown NotShown',
    ],
    ['with a sender that reports no evidence', { evidence: null }, {}, 'Unknown EvidenceUnknown'],
    [
      'with a sender that reports no evidence and a threshold of 0 %',
      { evidence: null },
      { compliantEvidence: 0 },
      'True Compliant',
    ],
    [
      'with a low grade and too little evidence',
      { evidence: evidence(0, 4), gap: gapOf(74) },
      {},
      'False GradeTooLow',
    ],
    [
      'with a denial and too little evidence',
      { evidence: evidence(0, 4), ...denied },
      {},
      'False PolicyDenied',
    ],
    [
      'with an unreachable engine and too little evidence',
      { evidence: evidence(0, 4), policyState: 'unreachable' },
      {},
      'Unknown EngineUnreachable',
    ],
  ])('has the expected verdict %s', (_name, heartbeat, context, expected) => {
    expect(verdict(reported([heartbeat], context))).toBe(expected);
  });

  const under = 'send requests through the sidecar, and report tools and guardrails: evidence is below 50%';
  test.each<[string, EvidenceReport, string]>([
    [
      'contains the items without evidence',
      evidence(1, 3, { items: [probed('db'), none('a'), none('b')] }),
      `${under}, without tool a, tool b`,
    ],
    [
      'counts the items above the limit',
      evidence(1, 9, { items: [...'abcdefgh'].map(none) }),
      `${under}, without tool a, tool b, tool c, tool d, tool e and 3 more`,
    ],
    [
      'counts reported items as half an item',
      evidence(1, 9, { reported: 2, items: [...'abcdefg'].map(none) }),
      `${under}, without tool a, tool b, tool c, tool d, tool e and 2 more`,
    ],
    [
      'cuts long names',
      evidence(0, 1, { items: [none('x'.repeat(500))] }),
      `${under}, without tool ${'x'.repeat(75)}`,
    ],
  ])('has a message that %s', (_name, report, message) => {
    expect(compliant(reported([{ evidence: report }])).message).toBe(message);
  });

  test('has a message for evidence that is only reported by the agent', () => {
    const report = evidence(2, 4, { reported: 4 });
    expect(compliant(reported([{ evidence: report }], { compliantEvidence: 60 })).message).toBe(
      'add egress lanes or proofs: evidence is below 60%, because too many items are reported only by the agent',
    );
  });
});

describe('with several instances', () => {
  const audit = (declared: number, proved: number, failed: string[] = []) => ({
    audit: { declared, proved, failed, suppressions: [] },
  });

  test('the instance with the least evidence decides the sums and the items', () => {
    const status = reported([
      { from: 'a', evidence: evidence(3, 4, { items: [none('a')] }) },
      { from: 'b', evidence: evidence(1, 4, { reported: 2, items: [none('b')] }) },
      { from: 'c', evidence: evidence(4, 4) },
    ]);
    expect(status.evidence).toEqual({ percent: 25, shown: 1, declared: 4, reported: 2, items: [none('b')] });
    expect([status.reportedBy, verdict(status)]).toEqual(['b', 'Unknown NotShown']);
    expect(compliant(status).message).toContain('without tool b');
  });

  test('the sums are those of the instance with the least evidence even if the report of another instance is shown', () => {
    const status = reported([
      { from: 'a', gap: gapOf(80), evidence: evidence(3, 4, { items: [none('a')] }) },
      { from: 'b', evidence: evidence(2, 4, { items: [none('b')] }) },
    ]);
    expect(status.evidence).toMatchObject({ percent: 50, items: [none('a')] });
    expect(status.reportedBy).toBe('a');
  });

  test('an instance without evidence makes the verdict Unknown, and the sums are those of the others', () => {
    const status = reported([
      { from: 'a', evidence: null },
      { from: 'b', evidence: evidence(4, 4) },
    ]);
    expect(verdict(status)).toBe('Unknown EvidenceUnknown');
    expect(status.evidence).toMatchObject({ percent: 100, items: [] });
  });

  test('the lowest proved score is used', () => {
    const status = reported([
      { from: 'a', ...audit(90, 40, ['A']) },
      { from: 'b', ...audit(95, 20, ['B']) },
    ]);
    expect(status.audit).toMatchObject({ declared: 95, proved: 20 });
  });

  test('a silent instance does not count', () => {
    const status = reported([
      { from: 'a', evidence: evidence(0, 4) },
      { from: 'b', evidence: evidence(4, 4) },
    ]);
    const later = mergeHeartbeat(
      status,
      aHeartbeat({ seq: 9, evidence: evidence(4, 4) }),
      { instance: 'b' },
      at(200),
    );
    expect(later.evidence?.percent).toBe(100);
  });

  test.each<[string, EvidenceReport | null, string]>([
    ['with the least evidence', evidence(1, 4), 'Unknown NotShown'],
    [
      'with the least evidence that is not local',
      evidence(4, 4, { shownWithoutLocalProofs: 1 }),
      'Unknown NotShown',
    ],
    ['without evidence', null, 'Unknown EvidenceUnknown'],
  ])('of more than fifty, the instance %s stays listed', (_name, least, expected) => {
    const reports = Array.from({ length: 60 }, (_, index) => ({
      from: `pod-${String(index).padStart(2, '0')}`,
      evidence: index === 59 ? least : evidence(4, 4),
      gap: gapOf(index === 59 ? 100 : 80),
    }));
    const status = reported(reports);
    expect(status.unlisted).toHaveLength(10);
    expect(verdict(status)).toBe(expected);
  });
});

describe('the status keeps', () => {
  test('the first hundred items, and no evidence after a sender stops reporting evidence', () => {
    const items = Array.from({ length: 150 }, (_, index) => none(`t${index}`));
    const one = reported([{ evidence: evidence(0, 150, { items }) }]);
    expect(one.evidence?.items).toHaveLength(100);
    const two = mergeHeartbeat(
      one,
      aHeartbeat({ seq: 2, evidence: null, audit: null }),
      { instance: 'a' },
      at(30),
    );
    expect([two.evidence, two.audit]).toEqual([undefined, undefined]);
  });

  test('the last evidence while no instance is live', () => {
    const one = reported([{ evidence: evidence(1, 4, { items: [none('a')] }) }]);
    const silent = statusOf(one, at(1000));
    expect(silent.evidence).toEqual(one.evidence);
    expect(verdict(silent)).toBe('Unknown NotReporting');
  });

  test('no items of a removed instance', () => {
    const two = reported([
      { from: 'a', evidence: evidence(1, 4, { items: [none('a')] }) },
      { from: 'b', evidence: evidence(4, 4) },
    ]);
    const left = statusOf(
      withoutGone(two, ({ name }) => name !== 'a', at(2)),
      at(2),
    );
    expect(left.evidence).toMatchObject({ percent: 100, items: [] });
  });
});
