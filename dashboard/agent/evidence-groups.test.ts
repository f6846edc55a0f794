import { describe, expect, test } from '@jest/globals';
import type { EvidenceItem } from '../../core/shapes/evidence.ts';
import { EVIDENCE_ROWS } from '../../core/evidence/rows.ts';
import type { CheckCategory } from '../../core/shapes/values.ts';
import type { Check } from '../../core/shapes/health.ts';
import type { Issue } from '../../core/shapes/gap.ts';
import { groupEvidence } from './evidence-groups.ts';

const check = (id: string): Check => ({
  ...{ id, category: id.split(':')[0] as CheckCategory },
  ...{ status: 'pass', severity: 'info' },
});
const issue = (property: string): Issue => ({
  ...{ severity: 'low', property },
  ...{ description: '', recommendation: '' },
});
const item = (
  kind: EvidenceItem['kind'],
  name: string,
  tier: EvidenceItem['tier'] = 'none',
): EvidenceItem => ({
  ...{ kind, name, tier },
});

test('groups by kind in the order of the manifest and counts reported items half', () => {
  const groups = groupEvidence(
    [item('tool', 'search', 'reported'), item('model', 'gpt-4o', 'observed'), item('tool', 'pay')],
    [],
    [],
  );
  expect(groups.map(({ title, shown, rows }) => [title, shown, rows.length])).toEqual([
    ['Model', 1, 1],
    ['Tools', 0.5, 2],
  ]);
});

test('every kind has a title', () => {
  const kinds = EVIDENCE_ROWS.map(({ kind }) => kind);
  const groups = groupEvidence(
    kinds.map((kind) => item(kind, 'x')),
    [],
    [],
  );
  expect(groups.map(({ kind }) => kind)).toEqual(kinds);
  expect(groups.every(({ title }) => title !== '')).toBe(true);
});

describe('what is reported next to an item', () => {
  test.each<[EvidenceItem, string | null, string | null]>([
    [item('model', 'gpt-4o'), 'model:openai/gpt-4o', 'model.apiKey'],
    [item('tool', 'search'), 'tool:search', 'tool:search'],
    [item('service', 'db'), 'service:db', 'service:db'],
    [item('memory', 'vector'), 'memory:vector', 'memory:vector'],
    [item('mcp', 'files'), 'mcp:files', 'mcp:files'],
    [item('guardrail', 'input.pii-detector'), null, 'guardrails.input.pii-detector'],
    [item('budget', 'maxTokensPerDay'), null, 'policy.daily_token_limit_exceeded'],
    [item('budget', 'maxMonthlyUSD'), null, 'policy.monthly_cost_limit_exceeded'],
    [item('evaluation', 'datasets'), null, 'evaluated'],
  ])('%p', (each, checkId, property) => {
    const checks = ['model:openai/other', 'tool:other', checkId ?? 'env:KEY'].map(check);
    const issues = ['tool:other', property ?? 'auditable'].map(issue);
    const [row] = groupEvidence([each], checks, issues).flatMap(({ rows }) => rows);
    expect([row?.check?.id ?? null, row?.issue?.property ?? null]).toEqual([checkId, property]);
  });
});
