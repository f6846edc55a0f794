import { describe, expect, test } from '@jest/globals';
import type { AgentPolicySpec, OrganisationRule } from '../shapes/agent-policy.ts';
import type { OrganisationFinding } from '../shapes/organisation.ts';
import type { AgentPolicy } from './finding.ts';
import { gateReply, minimumModeOf, policiesAt, UNJUDGED } from './gate.ts';

const rule = (check: Partial<OrganisationRule>): OrganisationRule => ({ id: 'r', action: 'Deny', ...check });
const policy = (rules: OrganisationRule[], spec: Partial<AgentPolicySpec> = {}): AgentPolicy => ({
  name: 'production',
  spec: { rules, ...spec },
});
const MODELS = { models: { allowed: ['openai/*'] } };
const ENV = { namespaceSelector: { matchLabels: { env: 'production' } } };

const finding = (change: Partial<OrganisationFinding> = {}): OrganisationFinding => ({
  ...{ policy: 'production', rule: 'budget', severity: 'high', action: 'Deny' },
  ...{ path: 'spec.model.costControls.maxMonthlyUSD', message: 'the monthly budget must be declared' },
  ...change,
});

describe('the policies at a place', () => {
  test.each<[string, AgentPolicy, number]>([
    ['a check of manifests', policy([rule(MODELS)]), 1],
    ['an expression', policy([rule({ expression: 'true' })]), 1],
    ['a selected namespace', policy([rule(MODELS)], ENV), 1],
    ['another namespace', policy([rule(MODELS)], { namespaceSelector: { matchLabels: { env: 'test' } } }), 0],
    ['some agents, because the name is not known yet', policy([rule(MODELS)], { agents: ['shop'] }), 1],
    ['only checks of running agents', policy([rule({ runtime: { lanes: true } })]), 0],
    ['one check of manifests', policy([rule({ result: { minimumGrade: 'A' } }), rule(MODELS)]), 1],
  ])('with %s', (_, each, rules) => {
    const found = policiesAt([each], 'manifest', { labels: { env: 'production' } });
    expect(found.flatMap(({ spec }) => spec.rules)).toHaveLength(rules);
    expect(found.every(({ spec }) => spec.agents === each.spec.agents)).toBe(true);
  });
});

describe('the reply to the writer of a manifest', () => {
  test('has one line for each finding of a Deny rule, and the number of rules', () => {
    const findings = [finding(), finding({ path: 'spec.model' }), finding({ rule: 'models', path: '' })];
    expect(gateReply('chat', [], { findings, notJudged: [] })).toEqual({
      denied: `agent chat breaks 2 organisation rules:
  production/budget (high) spec.model.costControls.maxMonthlyUSD: the monthly budget must be declared
  production/budget (high) spec.model: the monthly budget must be declared
  production/models (high): the monthly budget must be declared`,
      warnings: [],
    });
  });

  test('warns of Warn rules, not of Audit rules', () => {
    const [message, path] = ['host a is not one of b', 'spec.egress.hosts[0]'];
    const findings = (['Warn', 'Audit'] as const).map((action) =>
      finding({ action, rule: 'hosts', path, message }),
    );
    expect(gateReply('chat', [], { findings, notJudged: [] })).toEqual({
      denied: null,
      warnings: ['organisation rule production/hosts: spec.egress.hosts[0]: host a is not one of b'],
    });
  });

  test('names rules that were not judged, except Audit rules', () => {
    const policies = [policy([rule({ id: 'a' }), rule({ id: 'b', action: 'Audit' })])];
    const notJudged = ['a', 'b'].map((id) => ({ policy: 'production', rule: id, reason: 'unknown hosts' }));
    expect(gateReply('chat', policies, { findings: [], notJudged }).warnings).toEqual([
      'organisation rule production/a was not judged: unknown hosts',
    ]);
  });

  test('is limited, and has no line break of a name in the manifest', () => {
    const findings = Array.from({ length: 60 }, () =>
      finding({ message: `tool a\n\u001b[2Jb${'x'.repeat(1_000)}` }),
    );
    const denied = gateReply('chat', [], { findings, notJudged: [] }).denied ?? '';
    const lines = denied.split('\n');
    expect([lines.length, lines.at(-1)]).toEqual([52, '  and 10 more']);
    expect(lines[1]).toMatch(/: tool a; {2}\[2Jbx+$/);
    expect(denied.length).toBeLessThan(32_000);
    const warned = findings.map((each) => ({ ...each, action: 'Warn' as const }));
    const { warnings } = gateReply('chat', [], { findings: warned, notJudged: [] });
    expect([warnings.length, warnings.at(-1)]).toEqual([11, 'and 50 more']);
  });

  test('shows the first problem of an invalid manifest and the number of others', () => {
    const problem = { path: 'spec.tols', message: 'unknown key', line: 4, column: 3 };
    expect(UNJUDGED.invalid([problem, problem, { ...problem, path: '' }])).toBe(
      'agent.yaml is not a valid manifest, so the organisation rules cannot be checked: 4:3: spec.tols: unknown key (and 2 more)',
    );
  });
});

describe('the minimum mode', () => {
  const subject = { namespace: 'shop', labels: { env: 'production' }, names: ['chat'], at: new Date(0) };
  const minimum = (minimumMode: 'track' | 'enforce') => rule({ id: minimumMode, runtime: { minimumMode } });
  const excepted = {
    ...{ namespace: 'shop', rules: ['enforce'], reason: 'a pilot', expires: '2027-01-01T00:00:00Z' },
  };
  test.each<[string, AgentPolicy[], string]>([
    ['no policy', [], 'off'],
    ['a Deny rule', [policy([minimum('track')])], 'track'],
    ['the strictest of several', [policy([minimum('enforce')]), policy([minimum('track')])], 'enforce'],
    ['a Warn rule', [policy([{ ...minimum('enforce'), action: 'Warn' }])], 'off'],
    ['another agent', [policy([minimum('enforce')], { agents: ['shop'] })], 'off'],
    ['the selected namespace', [policy([minimum('enforce')], ENV)], 'enforce'],
    ['an exception', [policy([minimum('enforce'), minimum('track')], { exceptions: [excepted] })], 'track'],
  ])('of %s', (_, policies, mode) => {
    expect(minimumModeOf(policies, subject)).toBe(mode);
  });

  test('of a namespace whose labels are not known counts no rule that selects by labels', () => {
    const policies = [policy([minimum('enforce')], ENV), policy([minimum('track')])];
    expect(minimumModeOf(policies, { ...subject, labels: null })).toBe('track');
  });
});
