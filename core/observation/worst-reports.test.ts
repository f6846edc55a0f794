import { describe, expect, test } from '@jest/globals';
import { aHeartbeat } from '../../testing/fleet/heartbeat.ts';
import type { Issue } from '../shapes/gap.ts';
import type { Heartbeat } from '../shapes/heartbeat.ts';
import { mergeHeartbeat } from './merge-heartbeat.ts';
import type { ObservationStatus, WorstReport } from '../shapes/observation.ts';
import { withoutGone } from './status-of.ts';
import { worstReports } from './worst-reports.ts';

const START = Date.parse('2026-03-01T12:00:00.000Z');
const DAY = 24;
const at = (hours: number): Date => new Date(START + hours * 3_600_000);
const time = (hours: number): string => at(hours).toISOString();

const issue = (property: string, rest: Partial<Issue> = {}): Issue => ({
  ...{ severity: 'critical', property, description: 'd', recommendation: 'r' },
  ...rest,
});
const report = (
  score: number,
  issues: readonly Issue[] = [],
  manifestHash: string | null = 'm',
): Pick<Heartbeat, 'gap' | 'manifestHash'> => ({
  gap: { score, grade: 'A', source: 'agent-sdk', issues: [...issues] },
  manifestHash,
});

/** The worst reports after the reports at these hours. */
const after = (...sent: [hours: number, report: ReturnType<typeof report>][]): WorstReport[] | undefined =>
  sent.reduce<WorstReport[] | undefined>(
    (known, [hours, each]) => worstReports(known, each, at(hours)),
    undefined,
  );
const brief = (worst: WorstReport[] | undefined): string[] =>
  (worst ?? []).map(({ manifestHash = '-', score, grade, at: when, criticalIssues }) =>
    [manifestHash, score, grade, (Date.parse(when) - START) / 3_600_000]
      .concat(criticalIssues.map((each) => `${each.property}@${(Date.parse(each.at) - START) / 3_600_000}`))
      .join(' '),
  );

describe('the worst reports', () => {
  const [bad, other] = [issue('tools.undeclared.x'), issue('policy.y')];
  test.each<[string, Parameters<typeof after> | Record<number, ReturnType<typeof report>>, string[]]>([
    ['have nothing of a perfect report', [[0, report(100)]], []],
    ['have a score below 100', [[0, report(95)]], ['m 95 A 0']],
    [
      'stay after a perfect report',
      { 0: report(30, [bad]), 1: report(100) },
      ['m 30 F 0 tools.undeclared.x@0'],
    ],
    ['have the time of the last report with the score', { 0: report(60), 1: report(60) }, ['m 60 C 1']],
    ['have the lowest score', { 0: report(60), 1: report(50), 2: report(70) }, ['m 50 D 1']],
    ['stay for 24 hours', { 0: report(60, [bad]), [DAY]: report(100) }, ['m 60 C 0 tools.undeclared.x@0']],
    ['end after 24 hours', { 0: report(60, [bad]), [DAY + 0.01]: report(100) }, []],
    ['then have the present report', { 0: report(60, [bad]), [DAY + 1]: report(90) }, [`m 90 A ${DAY + 1}`]],
    [
      'keep each critical issue for 24 hours after its last report',
      { 0: report(40, [bad, other]), 10: report(70, [bad]), [DAY + 1]: report(100) },
      [`m 100 A ${DAY + 1} tools.undeclared.x@10`],
    ],
    ['have only critical issues', [[0, report(70, [issue('p', { severity: 'high' })])]], ['m 70 C 0']],
    ['have no issue of an LLM', [[0, report(90, [issue('p', { source: 'llm' })])]], ['m 90 A 0']],
    [
      'are separate for each manifest',
      { 0: report(40, [bad]), 1: report(70, [other], 'n'), 2: report(100, [], 'n') },
      ['m 40 F 0 tools.undeclared.x@0', 'n 70 C 1 policy.y@1'],
    ],
    ['can have no manifest', { 0: report(40, [], null), 1: report(100, [], null) }, ['- 40 F 0']],
    [
      'keep at most five manifests: the present one, and the worst',
      [1, 2, 3, 4, 5, 6].map((n) => [n, report(10 * n, [], `h${n}`)]),
      ['h1 10 F 1', 'h2 20 F 2', 'h3 30 F 3', 'h4 40 F 4', 'h6 60 C 6'],
    ],
    [
      'are not kept for longer by a clock that was set back',
      [
        [100, report(60, [bad])],
        [0, report(100)],
        [DAY, report(100)],
        [DAY + 1, report(100)],
      ],
      [],
    ],
  ])('%s', (_name, sent, expected) => {
    const all = Array.isArray(sent)
      ? sent
      : Object.entries(sent).map(([hours, each]): [number, typeof each] => [Number(hours), each]);
    expect(brief(after(...all))).toEqual(expected);
  });

  test('have at most ten issues, the latest first, and no endless name', () => {
    const many = Array.from({ length: 12 }, (_, index) => issue(`p${index}`));
    const worst = after([0, report(0, many)], [1, report(0, [issue('z'.repeat(1_000))])]);
    expect(worst?.[0]?.criticalIssues).toHaveLength(10);
    expect(worst?.[0]?.criticalIssues[0]).toMatchObject({ at: time(1) });
    expect(worst?.[0]?.criticalIssues[0]?.property.length).toBeLessThanOrEqual(200);
  });
});

describe('a restart', () => {
  const send = (
    status: ObservationStatus | undefined,
    [instance, hours, manifestHash, score, ...issues]: [string, number, string, number, ...Issue[]],
  ): ObservationStatus =>
    mergeHeartbeat(
      status,
      aHeartbeat({
        ...report(score, issues, manifestHash),
        startedAt: time(hours),
        seq: 1,
        evidence: { shown: 1, declared: 1, reported: 0, items: [] },
      }),
      { instance, uid: instance },
      at(hours),
    );
  const compliantOf = (status: ObservationStatus): string => {
    const { status: verdict, reason, message } = status.conditions!.find(({ type }) => type === 'Compliant')!;
    return `${verdict} ${reason}: ${message}`;
  };
  const bad = issue('tools.undeclared.delete_all');
  const before = send(undefined, ['a', 0, 'm', 30, bad]);
  const restarted = (hours: number, manifest: string): ObservationStatus =>
    send(
      withoutGone(before, () => false, at(hours)),
      ['b', hours, manifest, 100],
    );

  test('does not make an agent with a critical issue compliant for 24 hours', () => {
    const status = restarted(1, 'm');
    expect(status).toMatchObject({
      grade: 'A',
      score: 100,
      worst: [{ score: 30, grade: 'F', at: time(0) }],
    });
    expect(compliantOf(status)).toBe(
      'False CriticalIssueRecently: a critical issue was reported in the last 24 hours: tools.undeclared.delete_all',
    );
    expect(compliantOf(restarted(DAY, 'm'))).toMatch(/^False CriticalIssueRecently/);
    expect(compliantOf(restarted(DAY + 1, 'm'))).toMatch(/^True Compliant/);
  });

  test('with another manifest starts again, and the record of the previous manifest stays', () => {
    const status = restarted(1, 'n');
    expect(compliantOf(status)).toMatch(/^True Compliant/);
    expect(brief(status.worst)).toEqual(['m 30 F 0 tools.undeclared.delete_all@0']);
    // The previous manifest is back.
    expect(compliantOf(send(status, ['c', 2, 'm', 100]))).toMatch(/^False CriticalIssueRecently/);
  });

  test('of one instance keeps what it reported, also next to an instance with another manifest', () => {
    const both = send(before, ['b', 0, 'n', 100]);
    const clean = send(both, ['a', 0.01, 'm', 100]);
    expect(clean.instances?.map(({ name, manifestHash }) => [name, manifestHash])).toEqual([
      ['a', 'm'],
      ['b', 'n'],
    ]);
    expect(compliantOf(clean)).toMatch(/^False CriticalIssueRecently/);
  });

  test('a heartbeat that arrives again, or late, does not renew the record', () => {
    const heartbeat = aHeartbeat({
      ...report(30, [bad]),
      seq: 1,
      startedAt: time(0),
    });
    expect(mergeHeartbeat(before, heartbeat, { instance: 'a', uid: 'a' }, at(0.01))).toBe(before);
  });
});
