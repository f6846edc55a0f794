import { describe, expect, test } from '@jest/globals';
import type { AgentPolicy } from '../organisation/finding.ts';
import { parsePolicy } from '../organisation/parse-policy.ts';
import type { PolicyReport } from '../shapes/organisation.ts';
import { excerptOf, type AgentExcerpt } from './excerpt.ts';
import { policyReportOf } from './policy-report.ts';

const AT = new Date('2026-03-01T10:00:00.000Z');
const SINCE = '2026-02-01T10:00:00Z';
const JUDGED = '2026-02-20T10:00:00Z';

const policyOf = (spec: object): AgentPolicy => {
  const parsed = parsePolicy({
    ...{ apiVersion: 'platform.io/v1', kind: 'AgentPolicy', metadata: { name: 'production' } },
    spec: { namespaceSelector: { matchLabels: { env: 'production' } }, ...spec },
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors));
  return parsed.value;
};
const POLICY = policyOf({
  rules: [
    { id: 'models', action: 'Deny', severity: 'critical', models: { allowed: ['openai/*'] } },
    { id: 'hosts', action: 'Warn', hosts: { allowed: ['*.example.com'] } },
    { id: 'grade', action: 'Audit', result: { minimumGrade: 'B' } },
  ],
});

interface Judged {
  namespace?: string;
  broken?: { rule: string; since?: string; policy?: string }[];
  notJudged?: string[];
}

/** An agent that was judged. */
const judged = (name: string, { namespace = 'shop', broken = [], notJudged = [] }: Judged): AgentExcerpt =>
  excerptOf({
    ...{ namespace, name, source: 'sidecar' },
    status: {
      phase: 'Healthy',
      organisation: {
        ...{ judgedAt: JUDGED, manifestHash: 'a', brokenTotal: broken.length },
        broken: broken.map((each) => ({
          ...{ policy: 'production', severity: 'high', action: 'Deny', path: '', message: '', ...each },
        })),
        notJudged: notJudged.map((policy) => ({ policy, reason: 'why' })),
      },
    },
  });
const notReported = excerptOf({
  ...{ namespace: 'shop', name: 'new', source: 'sidecar', status: { phase: 'Pending' } },
});

const LABELS = { shop: { env: 'production' }, lab: { env: 'test' } } as Record<
  string,
  Record<string, string>
>;
const reportOf = (agents: readonly AgentExcerpt[], policy = POLICY): PolicyReport =>
  policyReportOf(policy, agents, { labelsOf: (namespace) => LABELS[namespace] ?? null }, AT);

describe('the report of a policy', () => {
  test('has the agents that break each rule, since when, and where the rule is enforced', () => {
    const { agents, broken, notJudged, rules } = reportOf([
      judged('bot', { broken: [{ rule: 'models', since: SINCE }, { rule: 'models' }, { rule: 'hosts' }] }),
      judged('chat', { broken: [{ rule: 'grade' }, { rule: 'models', policy: 'other' }] }),
    ]);
    expect([agents, broken, notJudged]).toEqual([2, 2, 0]);
    const bot = { namespace: 'shop', agentName: 'bot' };
    expect(rules).toEqual([
      {
        ...{ id: 'models', action: 'Deny', severity: 'critical', check: 'models', broken: 1 },
        enforcedAt: ['ci', 'manifest', 'start', 'runtime', 'lanes'],
        ...{ wouldBlock: null, agents: [{ ...bot, since: SINCE }] },
      },
      {
        ...{ id: 'hosts', action: 'Warn', severity: 'high', check: 'hosts', broken: 1 },
        ...{ enforcedAt: ['ci', 'runtime'], wouldBlock: 1, agents: [{ ...bot, since: JUDGED }] },
      },
      {
        ...{ id: 'grade', action: 'Audit', severity: 'high', check: 'result', broken: 1 },
        // Deny would prevent nothing.
        ...{ enforcedAt: ['runtime'], wouldBlock: null },
        agents: [{ namespace: 'shop', agentName: 'chat', since: JUDGED }],
      },
    ]);
  });

  test('counts agents of other namespaces, also with an old result, in nothing', () => {
    const { agents, broken, rules } = reportOf([
      judged('bot', { namespace: 'lab', broken: [{ rule: 'models' }], notJudged: ['production'] }),
    ]);
    expect([agents, broken, rules[0]?.broken, rules[0]?.agents]).toEqual([0, 0, 0, []]);
  });

  test('counts agents without a result as not judged, also where the labels are not known', () => {
    const agents = [
      notReported,
      judged('bot', { notJudged: ['production'] }),
      judged('chat', { notJudged: ['other'] }),
      judged('far', { namespace: 'unknown', notJudged: ['production'] }),
    ];
    expect(reportOf(agents)).toMatchObject({ agents: 3, broken: 0, notJudged: 3 });
  });

  test('lists 50 agents of more', () => {
    const many = Array.from({ length: 60 }, (_, index) =>
      judged(`bot-${index}`, { broken: [{ rule: 'hosts' }] }),
    );
    const [, hosts] = reportOf(many).rules;
    expect([hosts?.broken, hosts?.wouldBlock, hosts?.agents.length]).toEqual([60, 60, 50]);
  });

  test('marks exceptions that end within 30 days, the next one first', () => {
    const exception = (expires: string) => ({
      namespace: 'shop',
      rules: ['models'],
      reason: 'trial',
      expires,
    });
    const { exceptions } = reportOf(
      [],
      policyOf({
        rules: POLICY.spec.rules,
        exceptions: [
          exception('2026-03-31T10:00:01Z'),
          { ...exception('2026-03-31T10:00:00Z'), agents: ['bot'] },
          exception('2026-03-01T10:00:00Z'),
        ],
      }),
    );
    expect(exceptions.map(({ agents, state }) => [agents, state])).toEqual([
      [undefined, 'expired'],
      [['bot'], 'ending'],
      [undefined, 'active'],
    ]);
  });
});
