import { describe, expect, test } from '@jest/globals';
import type { AgentOrganisation, PictureItems } from '../../core/shapes/agent-organisation.ts';
import type { OrganisationStatus } from '../../core/shapes/organisation.ts';
import { pictureRows } from './organisation-rows.ts';

const NONE: PictureItems = { items: [], total: 0 };
const UNKNOWN: AgentOrganisation = {
  ...{ namespace: 'shop', agentName: 'bot', allowed: null, compliant: null, organisation: null },
  ...{ policies: null, allows: null, declared: null },
  observed: { models: null, tools: null, hosts: null, tokensToday: null, costTodayUsd: null },
};
const ALLOWS: NonNullable<AgentOrganisation['allows']> = {
  ...{ revision: 'a', models: [['openai/*', 'anthropic/*'], ['*/gpt*']], hosts: [] },
  ...{ tools: { allowed: [['get_*']], forbidden: ['shell*'] }, maxMonthlyUSD: 500, maxTokensPerDay: null },
};
const DECLARED: NonNullable<AgentOrganisation['declared']> = {
  ...{ models: NONE, tools: NONE, hosts: NONE, maxMonthlyUSD: 900, maxTokensPerDay: null },
};
const brokenAt = (...paths: string[]): OrganisationStatus => ({
  ...{ judgedAt: '2026-03-01T00:00:00Z', manifestHash: 'a', brokenTotal: paths.length, notJudged: [] },
  broken: paths.map((path) => ({
    ...{ policy: 'production', rule: 'budget', severity: 'high', action: 'Deny', path, message: '' },
  })),
});

const rowOf = (kind: string, picture: Partial<AgentOrganisation>) =>
  pictureRows({ ...UNKNOWN, ...picture }).find((row) => row.kind === kind);
const textsOf = (cell: { items: { name: string }[] } | null | undefined) =>
  cell?.items.map(({ name }) => name);

describe('the rows of the picture', () => {
  test('have one text for each rule, because all rules apply', () => {
    expect(textsOf(rowOf('models', { allows: ALLOWS })?.allowed)).toEqual([
      'openai/*, anthropic/*',
      '*/gpt*',
    ]);
    expect(textsOf(rowOf('tools', { allows: ALLOWS })?.allowed)).toEqual(['get_*', 'not shell*']);
    expect(textsOf(rowOf('hosts', { allows: ALLOWS })?.allowed)).toEqual([]);
  });

  test('cut a long list of patterns', () => {
    const models = [Array.from({ length: 30 }, (_, index) => `m${index}`)];
    const [text] = textsOf(rowOf('models', { allows: { ...ALLOWS, models } })?.allowed) ?? [];
    expect(text).toMatch(/^m0, .*m19 and 10 more$/);
  });

  test('compare budgets, and mark one that is too large or missing', () => {
    const cells = (kind: string) =>
      rowOf(kind, {
        allows: ALLOWS,
        declared: DECLARED,
        organisation: brokenAt(
          'spec.model.costControls.maxMonthlyUSD',
          'spec.model.costControls.maxTokensPerDay',
        ),
        observed: { ...UNKNOWN.observed, tokensToday: 1200 },
      });
    expect(cells('cost')).toMatchObject({
      allowed: { items: [{ name: expect.stringMatching(/500.00 per month$/), breaks: [] }] },
      declared: {
        items: [{ name: expect.stringMatching(/900.00 per month$/), breaks: ['production/budget'] }],
      },
      observed: null,
    });
    expect(cells('tokens')).toMatchObject({
      allowed: { items: [] },
      declared: { items: [{ name: 'no limit', breaks: ['production/budget'] }] },
      observed: { items: [{ name: expect.stringMatching(/^1.?200 today$/) }] },
    });
  });

  test('are null for what is not known', () => {
    for (const row of pictureRows(UNKNOWN))
      expect(row).toMatchObject({ allowed: null, declared: null, observed: null });
  });
});
