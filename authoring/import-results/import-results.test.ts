import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { aManifest } from '../../testing/fleet/facts.ts';
import { EXTERNAL_TOOLS, type ExternalTool } from '../../core/shapes/values.ts';
import { judgeResults, limitsOf, type JudgedResults, type Limits } from './judge-results.ts';
import { readResults } from './read-results.ts';
import { rulesOfTest } from './rules-of-tests.ts';

const FOLDER = join(import.meta.dirname, '../../testing/fixtures/test-results');
const fixture = (name: string): string => readFileSync(join(FOLDER, name), 'utf8');
/** Files that the tools wrote; texts and members that are not read were shortened. */
const FILES: Readonly<Record<ExternalTool, string>> = {
  promptfoo: 'promptfoo.json',
  garak: 'garak.report.jsonl',
  inspect: 'inspect.json',
  deepeval: 'deepeval.json',
  sarif: 'sarif.json',
};
const FEW: Limits = { maxFailureRate: 0, minRuns: 1, expiresDays: 90 };

/** The rules with a proof, and the reasons of the others. */
function judged(content: string, limits = FEW, rule?: string): JudgedResults | string {
  const read = readResults(content, undefined);
  return read.ok ? judgeResults(read.results, limits, rule) : read.reason;
}
const rulesOf = (result: JudgedResults | string) =>
  typeof result === 'string'
    ? result
    : result.rules.map((each) => `${each.ruleId} ${each.passed}/${each.run}: ${each.refused ?? 'proof'}`);

describe('the results of a tool', () => {
  test.each<[ExternalTool, object, string[], string[]]>([
    [
      'promptfoo',
      { tool: 'promptfoo', toolVersion: '0.121.20', startedAt: expect.stringMatching(/^2026-.*Z$/) },
      ['EVAL-01 1/1: proof', 'MEM-01 2/2: proof', 'SEC-LLM-01 2/2: proof', 'SEC-LLM-06 2/2: proof'],
      ['politics'],
    ],
    // Four prompts per probe with two responses and one or two detectors each.
    ['garak', { tool: 'garak', toolVersion: '0.17.1' }, ['SEC-LLM-01 8/8: proof'], []],
    ['inspect', { tool: 'inspect', toolVersion: '0.3.285' }, ['EVAL-01 3/3: proof'], []],
    ['deepeval', { tool: 'deepeval' }, ['EVAL-01 3/3: proof'], []],
    ['sarif', { tool: 'mcp-scanner', toolVersion: '3.2.0' }, [], ['hidden-text', 'long-name', 'shadowing']],
  ])('%s: the rules that its tests show', (form, about, rules, ignored) => {
    const content = fixture(FILES[form]);
    const read = readResults(content, undefined);
    expect(read).toMatchObject({ ok: true, form, results: about });
    const result = judged(content);
    expect(rulesOf(result)).toEqual(rules);
    expect(result).toMatchObject({ ignored });
    expect(readResults(content, form)).toEqual(read);
  });

  test('of SARIF show the rule that the user names', () => {
    expect(rulesOf(judged(fixture('sarif.json'), FEW, 'SEC-LLM-04'))).toEqual(['SEC-LLM-04 3/3: proof']);
    expect(rulesOf(judged(fixture('sarif-failure.json'), FEW, 'SEC-LLM-04'))).toEqual([
      'SEC-LLM-04 2/3: 1 of 3 tests failed, at most 0 % may fail',
    ]);
  });

  test.each(EXTERNAL_TOOLS)('%s, cut after any line of the run, are no proof', (form) => {
    const lines = fixture(FILES[form]).split('\n');
    // A report of garak has a digest after the end of the run, which has no results.
    const end =
      form === 'garak' ? lines.findIndex((line) => line.includes('"completion"')) : lines.length - 2;
    expect(end).toBeGreaterThan(10);
    for (let kept = 0; kept <= end; kept += 1) {
      const content = lines.slice(0, kept).join('\n');
      expect([kept, typeof judged(content)]).toEqual([kept, 'string']);
      expect([kept, typeof judged(`${content}\n`)]).toEqual([kept, 'string']);
    }
  });

  test.each(EXTERNAL_TOOLS)('%s, with another form given, are no proof', (form) => {
    for (const other of EXTERNAL_TOOLS)
      if (other !== form) expect(readResults(fixture(FILES[form]), other).ok).toBe(false);
  });
});

describe('no proof', () => {
  test.each([
    ['a failed test of promptfoo', 'promptfoo-failure.json', /SEC-LLM-01 1\/2: 1 of 2 tests failed/],
    ['an error of promptfoo', 'promptfoo-error.json', /SEC-LLM-02 0\/1: 1 of 1 tests have no result/],
    ['a failed sample of inspect', 'inspect-failure.json', /EVAL-01 3\/4: 1 of 4 tests failed/],
    [
      'a log of inspect with status error',
      'inspect-error.json',
      /^the run did not end: its status is error$/,
    ],
    ['a failed test case of deepeval', 'deepeval-failure.json', /EVAL-01 2\/3: 1 of 3 tests failed/],
  ])('of %s', (_what, file, reason) => {
    expect([rulesOf(judged(fixture(file)))].flat().join()).toMatch(reason);
  });

  const changed = (file: string, change: (text: string) => string): string => change(fixture(file));
  test.each<[string, string, string]>([
    ['a file without tests', '{"metadata":{"promptfooVersion":"1"},"results":{"results":[]}}', ''],
    ['another JSON document', '{"tests":[]}', 'no known form'],
    ['a text', 'all tests passed', 'not a complete JSON document'],
    ['an empty file', '', 'not a complete JSON document'],
    [
      'results that are missing',
      changed('promptfoo.json', (text) => text.replace('"successes": 6', '"successes": 7')),
      'results are missing',
    ],
    [
      'an unknown failureReason',
      changed('promptfoo.json', (text) => text.replace('"failureReason": 0', '"failureReason": 3')),
      'results.results[0].failureReason must be one of 0, 1, 2',
    ],
    [
      'samples without a result',
      changed('inspect.json', (text) => text.replace('"completed_samples": 3', '"completed_samples": 2')),
      'not every sample has a result',
    ],
    [
      'a score of another kind',
      changed('inspect.json', (text) => text.replace('"value": "C"', '"value": "B"')),
      'EVAL-01 2/3: 1 of 3 tests have no result',
    ],
    [
      'a metric without a result',
      changed('deepeval.json', (text) => text.replace(/"success": true,\s+"score"/, '"error": "x", "score"')),
      'EVAL-01 2/3: 1 of 3 tests have no result',
    ],
    [
      'attempts that the sums do not count',
      changed('garak.report.jsonl', (text) => text.replace('"passed": 8', '"passed": 9')),
      'the attempts of encoding.InjectBase64 are not those that its sums count',
    ],
    [
      'an invocation that failed',
      changed('sarif.json', (text) =>
        text.replace('"executionSuccessful": true', '"executionSuccessful": false'),
      ),
      'the run did not end: an invocation reports an error',
    ],
  ])('of %s', (_what, content, reason) => {
    expect([rulesOf(judged(content))].flat().join()).toContain(reason);
    const result = judged(content);
    expect(typeof result === 'string' || result.rules.every(({ refused }) => refused !== null)).toBe(true);
  });
});

describe('a report of garak', () => {
  const lines = fixture(FILES.garak).split('\n');
  /** The report with other scores in the first judged prompt of a probe. */
  function withScores(scores: Record<string, (number | null)[]>, sums: Record<string, object>): string {
    let isChanged = false;
    return lines
      .map((line) => {
        const entry = (line === '' ? {} : JSON.parse(line)) as Record<string, unknown>;
        const isOf = entry['probe_classname'] === 'encoding.InjectBase64';
        if (isOf && entry['status'] === 2 && !isChanged) {
          isChanged = true;
          return JSON.stringify({ ...entry, detector_results: scores });
        }
        const changes = entry['entry_type'] === 'eval' ? sums[entry['detector'] as string] : undefined;
        return changes === undefined ? line : JSON.stringify({ ...entry, ...changes });
      })
      .join('\n');
  }
  const [MATCH, APPROX] = ['encoding.DecodeMatch', 'encoding.DecodeApprox'];
  const one = { passed: 7, fails: 1, nones: 0 };

  test('counts a prompt once if two detectors find two of its responses bad', () => {
    const report = withScores({ [MATCH]: [1, 0], [APPROX]: [0, 0.7] }, { [MATCH]: one, [APPROX]: one });
    expect(rulesOf(judged(report))).toEqual(['SEC-LLM-01 7/8: 1 of 8 tests failed, at most 0 % may fail']);
  });

  test('takes the limit of a score from the sums', () => {
    const passed = withScores({ [MATCH]: [0, 0], [APPROX]: [0, 0.7] }, {});
    expect(rulesOf(judged(passed))).toEqual(['SEC-LLM-01 8/8: proof']);
    const failed = withScores({ [MATCH]: [0, 0], [APPROX]: [0, 0.2] }, { [APPROX]: one });
    expect(rulesOf(judged(failed))).toEqual(['SEC-LLM-01 7/8: 1 of 8 tests failed, at most 0 % may fail']);
  });

  test('has an error for a response without a score, and for a prompt that was not judged', () => {
    const none = withScores({ [MATCH]: [0, 0], [APPROX]: [0, null] }, { [APPROX]: { passed: 7, nones: 1 } });
    expect(rulesOf(judged(none))).toEqual(['SEC-LLM-01 7/8: 1 of 8 tests have no result']);
    const open = [
      lines.find((line) => line.includes('"status": 1'))?.replace(/"uuid": "[^"]*"/, '"uuid": "x"'),
    ];
    expect(rulesOf(judged([...lines.slice(0, -1), ...open].join('\n')))).toEqual([
      'SEC-LLM-01 8/9: 1 of 9 tests have no result',
    ]);
  });
});

test.each<[string, string | null, string[]]>([
  ['promptfoo', 'hijacking', ['SEC-LLM-01']],
  ['promptfoo', 'harmful:hate', ['SEC-LLM-02']],
  ['promptfoo', 'pii:direct', ['SEC-LLM-06', 'MEM-01']],
  ['promptfoo', 'rbac', ['SEC-LLM-08']],
  ['promptfoo', 'overreliance', ['EVAL-03']],
  ['promptfoo', 'owasp:llm:01', []],
  ['garak', 'dan', ['SEC-LLM-01']],
  ['garak', 'xss', ['SEC-LLM-02']],
  ['garak', 'misleading', ['EVAL-03']],
  ['garak', 'hijacking', []],
  ['inspect', null, ['EVAL-01']],
])('a test of %s named %s shows %j', (tool, name, rules) => {
  expect(rulesOfTest(tool, name)).toEqual(rules);
});

describe('limits', () => {
  const spec = aManifest({
    evaluation: { external: [{ tool: 'garak', maxFailureRate: 0.25, minRuns: 8 }] },
  }).spec;

  test('are those of the manifest for the tool, else the default', () => {
    expect(limitsOf(spec, 'garak')).toEqual({ maxFailureRate: 0.25, minRuns: 8, expiresDays: 90 });
    expect(limitsOf(spec, 'promptfoo')).toEqual({ maxFailureRate: 0, minRuns: 20, expiresDays: 90 });
  });

  const results = (passed: number, failed: number) => ({
    tool: 'inspect',
    tests: [
      ...Array.from({ length: passed }, () => ({ name: null, outcome: 'passed' as const })),
      ...Array.from({ length: failed }, () => ({ name: null, outcome: 'failed' as const })),
    ],
  });
  test.each<[number, number, boolean]>([
    [7, 0, false],
    [8, 0, true],
    [6, 2, true],
    [5, 3, false],
    [0, 8, false],
    [0, 0, false],
  ])('%d passed and %d failed tests: %j', (passed, failed, isProof) => {
    const { rules } = judgeResults(results(passed, failed), limitsOf(spec, 'garak'));
    expect(rules.some(({ refused }) => refused === null)).toBe(isProof);
  });
});
