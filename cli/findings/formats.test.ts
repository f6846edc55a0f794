import { describe, expect, test } from '@jest/globals';
import { parse } from 'junit2json';
import type { Finding } from './finding.ts';
import { FINDING_FORMATS } from './formats.ts';

const HOSTILE = 'a`|<b>&"\'*_[x](y) @team ::error::%\u0000\u001b[31m\ud800\uffff';

const finding = (overrides: Partial<Finding> = {}): Finding => ({
  code: 'MEM-01',
  severity: 'critical',
  title: 'Personal data is stored without scrubbing.',
  message: 'Personal data is stored.',
  help: 'List the fields.',
  file: 'agents/agent.yaml',
  line: 7,
  column: 3,
  ...overrides,
});
const render = (format: keyof typeof FINDING_FORMATS, findings: Finding[], passed: string[] = []) =>
  FINDING_FORMATS[format]({
    command: 'audit',
    file: 'agents/agent.yaml',
    summary: 'declared 50/100 D',
    findings,
    passed,
  });

interface Sarif {
  runs: {
    tool: {
      driver: {
        rules: { id: string; shortDescription: { text: string }; properties?: { tags: string[] } }[];
      };
    };
    results: { ruleId: string; ruleIndex: number; level: string; locations: unknown[] }[];
  }[];
}
const sarif = (findings: Finding[]) => (JSON.parse(render('sarif', findings)) as Sarif).runs[0];

describe('sarif', () => {
  test('has the public lists of a rule as its tags', () => {
    const references = ['OWASP LLM02:2026 Sensitive Information Disclosure (LLM02:2025)'];
    const rules = sarif([finding({ references }), finding({ code: 'OBS-01' })])?.tool.driver.rules;
    expect(rules?.map(({ properties }) => properties)).toEqual([{ tags: references }, undefined]);
  });

  test('has one rule per code and one result per finding', () => {
    const run = sarif([finding(), finding({ code: 'OBS-01', severity: 'low' }), finding({ line: 9 })]);
    expect(run?.tool.driver.rules.map(({ id }) => id)).toEqual(['MEM-01', 'OBS-01']);
    expect(run?.results.map(({ ruleId, ruleIndex }) => [ruleId, ruleIndex])).toEqual([
      ['MEM-01', 0],
      ['OBS-01', 1],
      ['MEM-01', 0],
    ]);
  });

  test.each([
    ['critical', 'error'],
    ['high', 'error'],
    ['medium', 'warning'],
    ['low', 'note'],
  ] as const)('severity %s is level %s', (severity, level) => {
    expect(sarif([finding({ severity })])?.results[0]?.level).toBe(level);
  });

  test.each([
    ['agents/my agent.yaml', 'agents/my%20agent.yaml'],
    ['/tmp/agent.yaml', 'file:///tmp/agent.yaml'],
    ['a#b.yaml', 'a%23b.yaml'],
  ])('the file %s is the URI %s', (file, uri) => {
    expect(sarif([finding({ file })])?.results[0]?.locations).toEqual([
      { physicalLocation: { artifactLocation: { uri }, region: { startLine: 7, startColumn: 3 } } },
    ]);
  });
});

describe('junit', () => {
  test('has a failed test case per finding and a passed one per rule', () => {
    expect(render('junit', [finding()], ['MODEL-01'])).toBe(`<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="platform" tests="2" failures="1" errors="0">
  <testsuite name="platform audit" tests="2" failures="1" errors="0">
    <testcase name="MEM-01" classname="agents/agent.yaml">
      <failure type="critical" message="Personal data is stored.">agents/agent.yaml:7:3: Personal data is stored. List the fields.</failure>
    </testcase>
    <testcase name="MODEL-01" classname="agents/agent.yaml"/>
  </testsuite>
</testsuites>
`);
  });

  test('a rule has the same class and name in each result, and each finding its own name', () => {
    const start = '<testcase name="MEM-01" classname="agents/agent.yaml"';
    expect(render('junit', [finding()])).toContain(`${start}>`);
    expect(render('junit', [], ['MEM-01'])).toContain(`${start}/>`);
    const findings = ['spec.a', 'spec.b', 'spec.a'].map((item) => finding({ item }));
    const names = [...render('junit', findings).matchAll(/<testcase name="([^"]*)"/g)].map(
      ([, name]) => name,
    );
    expect(names).toEqual(['MEM-01 spec.a', 'MEM-01 spec.b', 'MEM-01 spec.a #2']);
  });

  test('is read by a parser, whatever the manifest contains', async () => {
    const report = await parse(render('junit', [finding({ code: HOSTILE, message: HOSTILE })], ['MODEL-01']));
    expect(report).toMatchObject({
      tests: 2,
      failures: 1,
      testsuite: [{ testcase: [{ failure: [{ type: 'critical' }] }, { name: 'MODEL-01' }] }],
    });
  });

  test('has no character that XML does not allow', () => {
    const text = render('junit', [finding({ message: HOSTILE })]);
    expect(text).toContain('&lt;b&gt;&amp;&quot;&apos;');
    // oxlint-disable-next-line no-control-regex -- these characters must be absent
    expect(text).not.toMatch(/[\u0000-\u0008\u000b-\u001f\ud800-\udfff\ufffe\uffff]/);
  });
});

describe('github', () => {
  test('annotates the line', () => {
    expect(render('github', [finding({ severity: 'medium' })])).toBe(
      '::warning file=agents/agent.yaml,line=7,col=3,title=MEM-01::Personal data is stored. List the fields.\n',
    );
  });

  test('text of the manifest cannot start another workflow command', () => {
    const text = render('github', [finding({ message: 'x\n::set-env name=A::b', file: 'a,line=1:b' })]);
    expect(text.trimEnd().split('\n')).toHaveLength(1);
    expect(text).toContain('file=a%2Cline=1%3Ab,');
  });

  test('prints nothing without findings', () => {
    expect(render('github', [])).toBe('');
  });
});

describe('markdown', () => {
  test('is a table', () => {
    expect(render('markdown', [finding()])).toBe(
      [
        '### platform audit\n',
        'declared 50/100 D\n',
        '| Severity | Code | Position | Finding |',
        '|---|---|---|---|',
        '| critical | `MEM-01` | `agents/agent.yaml:7` | Personal data is stored. List the fields. |\n',
      ].join('\n'),
    );
    expect(render('markdown', [])).toBe('### platform audit\n\ndeclared 50/100 D\n\nNo findings.\n');
  });

  test('text of the manifest cannot become markup, a link or a mention', () => {
    const row =
      render('markdown', [finding({ message: HOSTILE, file: HOSTILE })])
        .split('\n')
        .at(-2) ?? '';
    expect(row.split(/(?<!\\)\|/)).toHaveLength(6);
    expect(row).toContain(String.raw`\<b\>&"'\*\_\[x\]\(y\) \@team`);
    expect(row.split(/(?<!\\)`/)).toHaveLength(5);
  });
});
