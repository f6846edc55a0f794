import { describe, expect, test } from '@jest/globals';
import fc, { anyCharacter, runs } from '../../testing/random/properties.ts';
import { issuesIn, MAX_ANALYSIS_ISSUES } from './response.ts';

const PROPERTIES = new Set(['spec.tools[pay]', 'spec.guardrails.output', 'spec.model']);
const entry = (change: object = {}): object => ({
  severity: 'high',
  property: 'spec.tools[pay]',
  description: 'It pays.',
  recommendation: 'Ask first.',
  ...change,
});
const issuesOf = (...entries: unknown[]): unknown => {
  const result = issuesIn({ issues: entries }, PROPERTIES);
  return result.ok ? result.value : result.reason;
};
const INVALID = 'the response of the model has no valid issue';

test('an issue of a response gets the source llm and nothing else', () => {
  expect(issuesOf(entry({ source: 'policy', score: 0, message: 'm', extra: 1 }))).toEqual([
    {
      severity: 'high',
      property: 'spec.tools[pay]',
      description: 'It pays.',
      recommendation: 'Ask first.',
      source: 'llm',
    },
  ]);
});

test('a response without issues is valid', () => {
  expect(issuesOf()).toEqual([]);
});

test.each([null, 'text', [], {}, { issues: null }, { issues: 'none' }, { issues: {} }, { score: 0 }])(
  'the response %j is invalid',
  (response) => {
    expect(issuesIn(response, PROPERTIES)).toEqual({
      ok: false,
      reason: 'the response of the model has no list of issues',
    });
  },
);

test.each<[string, unknown]>([
  ['an unknown severity', entry({ severity: 'blocker' })],
  ['no severity', entry({ severity: undefined })],
  ['a property that is not in the manifest', entry({ property: 'spec.tools[other]' })],
  ['the property of a gap rule', entry({ property: 'reporter.invalid' })],
  ['a member of the prototype as property', entry({ property: '__proto__' })],
  ['no description', entry({ description: '' })],
  ['an invisible description', entry({ description: '\u200b\u202e \n' })],
  ['a recommendation that is not a text', entry({ recommendation: 7 })],
  ['no object', 'spec.model'],
  ['members of its prototype only', Object.create(entry())],
])('an entry with %s is dropped', (_what, invalid) => {
  expect(issuesOf(invalid)).toBe(INVALID);
  expect(issuesOf(invalid, entry())).toHaveLength(1);
});

test('the worst issue of each property is kept, worst first', () => {
  expect(
    issuesOf(
      entry({ severity: 'low', property: 'spec.model' }),
      entry({ severity: 'medium' }),
      entry({ severity: 'critical', description: 'first' }),
      entry({ severity: 'critical', description: 'second' }),
    ),
  ).toMatchObject([
    { severity: 'critical', description: 'first' },
    { severity: 'low', property: 'spec.model' },
  ]);
});

describe('texts', () => {
  test('are one line of visible characters', () => {
    const description = ' a\u0000b\u001b[31m\r\nc\u202ed\u{e0041}e\ud800 ';
    expect(issuesOf(entry({ description }))).toMatchObject([{ description: 'a b [31m c d e\ufffd' }]);
  });

  test('are cut', () => {
    const [issue] = issuesOf(entry({ description: 'x'.repeat(5_000) })) as { description: string }[];
    expect(issue?.description).toHaveLength(500);
  });
});

test('at most ten issues are kept', () => {
  const properties = new Set(Array.from({ length: 50 }, (_, index) => `spec.tools[${index}]`));
  const result = issuesIn({ issues: [...properties].map((property) => entry({ property })) }, properties);
  expect(result.ok && result.value).toHaveLength(MAX_ANALYSIS_ISSUES);
});

test('whatever a model returns, the result is only such issues', () => {
  const text = fc.array(anyCharacter(), { maxLength: 12 }).map((characters) => characters.join(''));
  const value = fc.oneof(fc.constantFrom('critical', 'low', ...PROPERTIES), text, fc.jsonValue());
  const hostile = fc.record({
    severity: value,
    property: value,
    description: value,
    recommendation: value,
    source: value,
  });
  const issues = fc.array(fc.oneof(hostile, fc.jsonValue()));
  fc.assert(
    fc.property(fc.oneof(fc.jsonValue(), fc.record({ issues })), (response) => {
      const result = issuesIn(response, PROPERTIES);
      if (!result.ok) return;
      expect(result.value.length).toBeLessThanOrEqual(MAX_ANALYSIS_ISSUES);
      for (const issue of result.value) {
        expect(Object.keys(issue).sort()).toEqual([
          'description',
          'property',
          'recommendation',
          'severity',
          'source',
        ]);
        expect(['critical', 'high', 'medium', 'low']).toContain(issue.severity);
        expect(PROPERTIES).toContain(issue.property);
        expect(issue.source).toBe('llm');
        for (const shown of [issue.description, issue.recommendation]) {
          expect(shown.length).toBeLessThanOrEqual(500);
          expect(shown).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}]/u);
        }
      }
    }),
    { numRuns: runs(300) },
  );
});
