import { expect, test } from '@jest/globals';
import type { OrganisationStatus } from '../shapes/organisation.ts';
import { parsePolicy } from './parse-policy.ts';
import { policyCounts, type JudgedAgent } from './policy-status.ts';

const parsed = parsePolicy({
  apiVersion: 'platform.io/v1',
  kind: 'AgentPolicy',
  metadata: { name: 'production' },
  spec: {
    namespaceSelector: { matchLabels: { env: 'production' } },
    rules: [
      { id: 'models', action: 'Deny', models: { allowed: ['openai/*'] } },
      { id: 'grade', action: 'Deny', result: { minimumGrade: 'B' } },
      { id: 'text', action: 'Warn', expression: 'true' },
    ],
  },
});
if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors));
const policy = parsed.value;

const agent = (namespace: string, ...rules: string[]): JudgedAgent => ({
  ...{ namespace, name: 'shop' },
  status: {
    organisation: {
      broken: rules.map((rule) => ({ policy: rule === 'other' ? 'other' : 'production', rule })),
    } as OrganisationStatus,
  },
});

test('counts the selected agents and those that break a rule of this policy', () => {
  const agents = [
    agent('a', 'models', 'models', 'text'),
    agent('a', 'other'),
    agent('a'),
    agent('b', 'models'),
    { namespace: 'a', name: 'new', status: undefined },
  ];
  const labelsOf = (namespace: string) => ({ env: namespace === 'a' ? 'production' : 'test' });
  expect(policyCounts(policy, agents, { labelsOf })).toEqual({
    agents: 4,
    broken: 1,
    rules: [
      { id: 'models', enforcedAt: ['ci', 'manifest', 'start', 'runtime', 'lanes'], broken: 1 },
      // A Deny rule about the result of a running agent prevents nothing.
      { id: 'grade', enforcedAt: ['runtime'], broken: 0 },
      { id: 'text', enforcedAt: ['ci', 'runtime'], broken: 1 },
    ],
  });
});
