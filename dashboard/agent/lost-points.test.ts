import { describe, expect, test } from '@jest/globals';
import type { Facts } from '../../core/facts/facts.ts';
import { assess } from '../../core/gap/assess.ts';
import { ENDPOINT_RULES } from '../../core/gap/endpoint-rules.ts';
import { POINTS } from '../../core/gap/finding.ts';
import type { Issue } from '../../core/shapes/gap.ts';
import { gradeOf } from '../../core/shapes/grade.ts';
import { MANIFEST_RULES } from '../../core/gap/manifest-rules.ts';
import { lostPoints } from '../../core/gap/points.ts';
import { REPORTER_RULES } from '../../core/gap/reporter-rules.ts';
import { GAP_RULES } from '../../core/gap/rules.ts';
import type { Severity } from '../../core/shapes/values.ts';
import { aManifest, someFacts } from '../../testing/fleet/facts.ts';
import fc from '../../testing/random/properties.ts';
import { explainScore, groupOf, type ScoredReport } from './lost-points.ts';

const issue = (severity: Severity, property: string): Issue => ({
  ...{ severity, property },
  description: `${property} differs`,
  recommendation: `Fix ${property}.`,
});

/** A report whose score follows from its issues. */
const reportOf = (
  issues: [Severity, string][],
  source: ScoredReport['source'] = 'agent-sdk',
): ScoredReport => {
  const all = issues.map(([severity, property]) => issue(severity, property));
  const counted = all.map((each) => ({ severity: each.severity, group: groupOf(each) }));
  return { score: Math.max(0, 100 - lostPoints(counted, source)), source, issues: all };
};

const properties = (issues: readonly Issue[] | null | undefined): string[] | null | undefined =>
  issues?.map(({ property }) => property);

/** The equation that the page shows. */
const sumOf = (report: ScoredReport): number => {
  const { lost, returned, unexplained } = explainScore(report);
  const sum = (all: readonly { points: number }[]): number =>
    all.reduce((total, { points }) => total + points, 0);
  return 100 - sum(lost) + sum(returned) - unexplained;
};

describe('groups', () => {
  test('follow the tables of core/gap', () => {
    const staticRules = [...MANIFEST_RULES, ...ENDPOINT_RULES, ...REPORTER_RULES];
    for (const rule of GAP_RULES) {
      const property = rule.property.replaceAll(/<[^>]*>/g, 'x');
      for (const severity of Object.keys(rule.when) as Severity[]) {
        const isNotShown = (rule.when[severity] ?? '').startsWith('declared, not shown');
        const expected = isNotShown ? 'not-shown' : 'other';
        expect([rule.property, severity, groupOf({ property, severity })]).toEqual([
          rule.property,
          severity,
          staticRules.includes(rule) ? 'static' : expected,
        ]);
      }
    }
  });

  test('explain the score that core/gap computes', () => {
    const tools = Array.from({ length: 9 }, (_, index) => ({ name: `t${index}` }));
    const checks = tools.map(({ name }) => ({
      ...{ id: `tool:${name}`, category: 'tool' as const },
      ...{ status: 'skip' as const, severity: 'info' as const },
    }));
    const silent = { health: { answered: false as const, reason: 'x' }, capabilities: null };
    const cases: Partial<Facts>[] = [
      { agentReport: { checks } },
      silent,
      { ...silent, manifestInvalid: 'line 1' },
    ];
    for (const facts of cases) {
      const report = assess(aManifest({ tools }), someFacts(facts));
      expect(explainScore(report).unexplained).toBe(0);
      expect(sumOf(report)).toBe(report.score);
    }
  });
});

describe('equation', () => {
  test('ends at the score for every report', () => {
    const property = fc.constantFrom(
      'auditable',
      'discoverable.a',
      'tool:a',
      'memory:b',
      'policy.x',
      'env:K',
    );
    const anIssue = fc
      .tuple(fc.constantFrom<Severity>('critical', 'high', 'medium', 'low'), property)
      .map(([severity, name]) => issue(severity, name));
    const report = fc.record({
      score: fc.integer({ min: 0, max: 100 }),
      source: fc.constantFrom<ScoredReport['source']>('manifest-static', 'agent-sdk'),
      issues: fc.array(anIssue, { maxLength: 30 }),
    });
    fc.assert(
      fc.property(report, (some) => {
        expect(sumOf(some)).toBe(some.score);
      }),
    );
  });

  test('gives back points above the limit of "declared, not shown"', () => {
    const report = reportOf(Array.from({ length: 6 }, (_, index) => ['low', `tool:t${index}`]));
    expect(report.score).toBe(80);
    expect(explainScore(report).returned).toEqual([
      { points: 10, reason: 'Issues "declared, not shown" cost at most 20 points together.' },
    ]);
  });

  test('gives back points above the static limit only without a report of the agent', () => {
    const issues: [Severity, string][] = [
      ['high', 'healthcheckable'],
      ['high', 'manifest.invalid'],
      ['high', 'reporter.invalid'],
    ];
    expect(explainScore(reportOf(issues, 'manifest-static')).returned[0]?.points).toBe(5);
    expect(explainScore(reportOf(issues)).returned).toEqual([]);
  });

  test('gives back points below 0', () => {
    const report = reportOf(Array.from({ length: 4 }, (_, index) => ['critical', `policy.p${index}`]));
    expect(explainScore(report).returned).toEqual([{ points: 20, reason: 'A score is never below 0.' }]);
  });

  test('names a list that was cut', () => {
    const { unexplained, unexplainedReason } = explainScore({
      ...reportOf([['high', 'env:K']]),
      ...{ score: 60, issuesTotal: 3 },
    });
    expect(unexplained).toBe(20);
    expect(unexplainedReason).toBe('The report has 3 issues, and this store keeps the worst 1.');
  });

  test('names a sender with other rules', () => {
    const { unexplained, unexplainedReason } = explainScore({ ...reportOf([['high', 'env:K']]), score: 90 });
    expect(unexplained).toBe(-10);
    expect(unexplainedReason).toContain('version is older or newer');
  });

  test('counts no points for issues of the LLM analysis', () => {
    const report = reportOf([['low', 'evaluated']]);
    const suggestion: Issue = { ...issue('high', 'prompt'), source: 'llm' };
    const explanation = explainScore({ ...report, issues: [...report.issues, suggestion] });
    expect(explanation.suggestions).toEqual([suggestion]);
    expect(explanation.lost).toHaveLength(1);
    expect(explanation.unexplained).toBe(0);
  });
});

describe('next grade', () => {
  test('is reached by one of several fixes', () => {
    const { next } = explainScore(
      reportOf([
        ['high', 'env:K'],
        ['low', 'evaluated'],
      ]),
    );
    expect(next).toMatchObject({ grade: 'A', missing: 15, together: null });
    expect(properties(next?.alone)).toEqual(['env:K']);
  });

  test('is reached only by several fixes together, the greatest gain first', () => {
    const { next } = explainScore(
      reportOf([
        ['low', 'evaluated'],
        ['medium', 'tool:a'],
        ['medium', 'tool:b'],
      ]),
    );
    expect(next).toMatchObject({ grade: 'A', missing: 15, alone: [] });
    expect(properties(next?.together)).toEqual(['tool:a', 'tool:b']);
  });

  test('does not count a fix that a limit hides', () => {
    const hidden = Array.from({ length: 6 }, (_, index): [Severity, string] => ['low', `tool:t${index}`]);
    const { next } = explainScore(reportOf([...hidden, ['medium', 'discoverable']]));
    expect(next).toMatchObject({ grade: 'B', missing: 5 });
    expect(properties(next?.alone)).toEqual(['discoverable']);
  });

  test('does not count a fix below a score of 0', () => {
    const { next } = explainScore(
      reportOf(Array.from({ length: 5 }, (_, index) => ['critical', `policy.p${index}`])),
    );
    expect(next).toMatchObject({ grade: 'D', missing: 45, alone: [] });
    expect(next?.together).toHaveLength(4);
  });

  test('names no fixes if more than five are needed', () => {
    const { next } = explainScore(
      reportOf(Array.from({ length: 20 }, (_, index) => ['low', `policy.p${index}`])),
    );
    expect(next).toMatchObject({ grade: 'D', alone: [], together: null });
  });

  test('does not exist above A', () => {
    expect(explainScore(reportOf([['low', 'evaluated']])).next).toBeNull();
  });

  test('is reached if the named fixes are made', () => {
    const group = fc.constantFrom('auditable', 'discoverable.a', 'tool:a', 'memory:b', 'policy.x', 'env:K');
    const issues = fc.array(fc.tuple(fc.constantFrom(...(Object.keys(POINTS) as Severity[])), group), {
      maxLength: 12,
    });
    const source = fc.constantFrom<ScoredReport['source']>('manifest-static', 'agent-sdk');
    fc.assert(
      fc.property(issues, source, (some, from) => {
        const report = reportOf(some, from);
        const { next } = explainScore(report);
        const fixes = next === null ? [] : [...next.alone.map((each) => [each]), next.together ?? []];
        for (const fixed of fixes.filter((each) => each.length > 0)) {
          const rest = report.issues.filter((each) => !fixed.includes(each));
          const after = reportOf(
            rest.map(({ severity, property }) => [severity, property]),
            from,
          );
          expect(gradeOf(after.score) <= (next?.grade ?? '')).toBe(true);
        }
      }),
    );
  });
});
