import { describe, expect, test } from '@jest/globals';
import { GAP_RULES } from '../../core/gap/rules.ts';
import type { RuleState } from '../../core/shapes/rule-state.ts';
import { filterRules, findRule, groupRules, type RuleFilter } from './rule-list.ts';

const rule = (id: string, more: Partial<RuleState> = {}): RuleState => ({
  ...{ id, kind: 'compliance', pack: 'observability', title: `Title of ${id}`, severity: 'high', points: 20 },
  ...{ meaning: 'means something', remedy: 'do it', failing: [], failingCount: 0 },
  ...{ suppressed: [], suppressedCount: 0 },
  ...more,
});
const RULES = [
  rule('SEC-LLM-01', { pack: 'owasp-llm-top10', severity: 'critical', meaning: 'Input guardrails' }),
  rule('OBS-01', { failingCount: 2 }),
  rule('tool:<name>', { kind: 'gap', pack: null, severity: 'medium' }),
];
const ALL: RuleFilter = { text: '', severity: null, isFailingOnly: false };

describe('filter', () => {
  test.each<[string, Partial<RuleFilter>, string[]]>([
    ['nothing', {}, ['SEC-LLM-01', 'OBS-01', 'tool:<name>']],
    ['a severity', { severity: 'medium' }, ['tool:<name>']],
    ['failing rules', { isFailingOnly: true }, ['OBS-01']],
    ['all words, in any case', { text: ' guardrails  sec-llm ' }, ['SEC-LLM-01']],
    ['a word that no rule has', { text: 'unicorn' }, []],
  ])('by %s', (_name, filter, expected) => {
    expect(filterRules(RULES, { ...ALL, ...filter }).map(({ id }) => id)).toEqual(expected);
  });
});

test('groups follow the order of the API', () => {
  expect(groupRules(RULES).map(({ title, rules }) => [title, rules.length])).toEqual([
    ['OWASP Top 10 for LLM Applications 2026', 1],
    ['Observability', 1],
    ['Gap: declared and observed', 1],
  ]);
});

describe('rule of an issue', () => {
  const gapRules = GAP_RULES.map(({ property }) => rule(property, { kind: 'gap', pack: null }));
  test.each([
    ['healthcheckable', 'healthcheckable'],
    ['discoverable', 'discoverable'],
    ['discoverable.search', 'discoverable.<tool>'],
    ['tool:a.b/c', 'tool:<name>'],
    ['env:OPENAI_API_KEY', 'env:<name>'],
    ['mcp:files', 'mcp:<name>'],
    ['guardrails.input.pii-detector', 'guardrails.<where>.<type>'],
    ['guardrails.unreported', 'guardrails.unreported'],
    ['policy.not-loaded', 'policy.not-loaded'],
    ['policy.custom\nreason', 'policy.<reason>'],
    ['toolbox', null],
    ['__proto__', null],
  ])('%j is %p', (property, id) => {
    expect(findRule(gapRules, property)?.id ?? null).toBe(id);
  });
});
