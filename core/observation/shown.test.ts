import { describe, expect, test } from '@jest/globals';
import { aHeartbeat } from '../../testing/heartbeat.ts';
import type { EvidenceItem, EvidenceReport } from '../evidence/evidence.ts';
import type { GapReport } from '../gap/gap.ts';
import { gradeOf } from '../gap/grade.ts';
import type { Heartbeat } from '../heartbeat/heartbeat.ts';
import { mergeHeartbeat } from './merge-heartbeat.ts';
import type { Condition, ObservationStatus } from './observation.ts';
import { statusOf, withoutGone, type ObservationContext } from './status-of.ts';

const START_MS = Date.parse('2026-03-01T12:00:00.000Z');
const at = (second: number): Date => new Date(START_MS + second * 1000);

const none = (name: string): EvidenceItem => ({ kind: 'tool', name, tier: 'none' });
const seen = (name: string): EvidenceItem => ({
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

/** One instance after the other reports. */
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
    ['all is shown', { evidence: evidence(4, 4) }, {}, 'True Compliant'],
    ['half is shown', { evidence: evidence(2, 4) }, {}, 'True Compliant'],
    ['all is reported', { evidence: evidence(2, 4, { reported: 4 }) }, {}, 'True Compliant'],
    ['just under half', { evidence: evidence(499, 1000) }, {}, 'Unknown NotShown'],
    ['nothing is shown', { evidence: evidence(0, 4) }, {}, 'Unknown NotShown'],
    ['80 % are wanted and shown', { evidence: evidence(4, 5) }, { compliantEvidence: 80 }, 'True Compliant'],
    ['81 % are wanted', { evidence: evidence(4, 5) }, { compliantEvidence: 81 }, 'Unknown NotShown'],
    ['none is wanted', { evidence: evidence(0, 4) }, { compliantEvidence: 0 }, 'True Compliant'],
    [
      'half with a local proof, which does not count',
      { evidence: evidence(2, 4, { shownWithoutLocalProofs: 1 }) },
      {},
      'Unknown NotShown',
    ],
    ['a sender without evidence', { evidence: null }, {}, 'Unknown EvidenceUnknown'],
    ['the same where none is wanted', { evidence: null }, { compliantEvidence: 0 }, 'True Compliant'],
    ['the grade is too low, too', { evidence: evidence(0, 4), gap: gapOf(74) }, {}, 'False GradeTooLow'],
    ['something was denied, too', { evidence: evidence(0, 4), ...denied }, {}, 'False PolicyDenied'],
    [
      'the engine gives no answer, too',
      { evidence: evidence(0, 4), policyState: 'unreachable' },
      {},
      'Unknown EngineUnreachable',
    ],
  ])('%s', (_name, heartbeat, context, expected) => {
    expect(verdict(reported([heartbeat], context))).toBe(expected);
  });

  const under = 'less than 50 % of what the manifest declares was shown in the last 24 hours';
  test.each<[string, EvidenceReport, string]>([
    [
      'names what was never shown',
      evidence(1, 3, { items: [seen('db'), none('a'), none('b')] }),
      `${under}; never shown: tool a, tool b`,
    ],
    [
      'counts what does not fit',
      evidence(1, 9, { items: [...'abcdefgh'].map(none) }),
      `${under}; never shown: tool a, tool b, tool c, tool d, tool e and 3 more`,
    ],
    [
      'counts half-shown items right',
      evidence(1, 9, { reported: 2, items: [...'abcdefg'].map(none) }),
      `${under}; never shown: tool a, tool b, tool c, tool d, tool e and 2 more`,
    ],
    [
      'has no long names',
      evidence(0, 1, { items: [none('x'.repeat(500))] }),
      `${under}; never shown: tool ${'x'.repeat(75)}`,
    ],
  ])('the message %s', (_name, report, message) => {
    expect(compliant(reported([{ evidence: report }])).message).toBe(message);
  });

  test('the message where all is reported and more is wanted', () => {
    const report = evidence(2, 4, { reported: 4 });
    expect(compliant(reported([{ evidence: report }], { compliantEvidence: 60 })).message).toBe(
      'less than 60 % of what the manifest declares was shown in the last 24 hours; too much of the rest is reported by the agent alone',
    );
  });
});

describe('several instances', () => {
  const audit = (declared: number, proved: number, failed: string[] = []) => ({
    audit: { declared, proved, failed, suppressions: [] },
  });

  test('the one with the least evidence decides, in sums and items', () => {
    const status = reported([
      { from: 'a', evidence: evidence(3, 4, { items: [none('a')] }) },
      { from: 'b', evidence: evidence(1, 4, { reported: 2, items: [none('b')] }) },
      { from: 'c', evidence: evidence(4, 4) },
    ]);
    expect(status.evidence).toEqual({ percent: 25, shown: 1, declared: 4, reported: 2, items: [none('b')] });
    expect([status.reportedBy, verdict(status)]).toEqual(['b', 'Unknown NotShown']);
    expect(compliant(status).message).toContain('never shown: tool b');
  });

  test('the sums are those of the least although another one is shown for its score', () => {
    const status = reported([
      { from: 'a', gap: gapOf(80), evidence: evidence(3, 4, { items: [none('a')] }) },
      { from: 'b', evidence: evidence(2, 4, { items: [none('b')] }) },
    ]);
    expect(status.evidence).toMatchObject({ percent: 50, items: [none('a')] });
    expect(status.reportedBy).toBe('a');
  });

  test('one without evidence makes the verdict Unknown, and the sums are those of the others', () => {
    const status = reported([
      { from: 'a', evidence: null },
      { from: 'b', evidence: evidence(4, 4) },
    ]);
    expect(verdict(status)).toBe('Unknown EvidenceUnknown');
    expect(status.evidence).toMatchObject({ percent: 100, items: [] });
  });

  test('the lowest proved score counts', () => {
    const status = reported([
      { from: 'a', ...audit(90, 40, ['A']) },
      { from: 'b', ...audit(95, 20, ['B']) },
    ]);
    expect(status.audit).toMatchObject({ declared: 95, proved: 20 });
  });

  test('a silent one does not count', () => {
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
    ['with the least that is not local', evidence(4, 4, { shownWithoutLocalProofs: 1 }), 'Unknown NotShown'],
    ['without evidence', null, 'Unknown EvidenceUnknown'],
  ])('of more than fifty the one %s keeps its place in the list', (_name, least, expected) => {
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

describe('what is kept', () => {
  test('the first hundred items, and no evidence of a sender that stops to send it', () => {
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

  test('the last evidence without a live instance', () => {
    const one = reported([{ evidence: evidence(1, 4, { items: [none('a')] }) }]);
    const silent = statusOf(one, at(1000));
    expect(silent.evidence).toEqual(one.evidence);
    expect(verdict(silent)).toBe('Unknown NotReporting');
  });

  test('no items of an instance that is gone', () => {
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
