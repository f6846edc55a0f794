import { expect, test } from '@jest/globals';
import { aHeartbeat } from '../../testing/fleet/heartbeat.ts';
import { RULE_IDS } from '../audit/rules.ts';
import type { AuditSummary } from '../shapes/audit.ts';
import type { Issue } from '../shapes/gap.ts';
import { GAP_RULES } from '../gap/rules.ts';
import { mergeHeartbeat } from '../observation/merge-heartbeat.ts';
import { POLICY_RULES } from '../policy/rules.ts';
import { excerptOf, type AgentExcerpt } from './excerpt.ts';
import { ruleStatesOf } from './rule-states.ts';
import type { RuleState } from '../shapes/rule-state.ts';
import { gapRuleOf, RULE_TEXTS } from './rule-texts.ts';

const issue = (property: string, source?: Issue['source']): Issue => ({
  severity: 'low',
  property,
  description: 'd',
  recommendation: 'r',
  ...(source && { source }),
});

function agent(name: string, issues: Issue[], audit: Partial<AuditSummary> = {}): AgentExcerpt {
  const heartbeat = aHeartbeat({
    gap: { score: 50, grade: 'D', source: 'agent-sdk', issues },
    audit: { declared: 90, proved: 50, failed: [], suppressions: [], ...audit },
  });
  const status = mergeHeartbeat(undefined, heartbeat, { instance: 'i' }, new Date('2026-03-01T10:00:00Z'));
  return excerptOf({ namespace: 'team', name, source: 'sidecar', status });
}

const stateOf = (states: readonly RuleState[], id: string): RuleState | undefined =>
  states.find((each) => each.id === id);
const failingOf = (states: readonly RuleState[], id: string) =>
  stateOf(states, id)?.failing.map(({ agentName }) => agentName);

test('describes every gap rule, every policy rule and every compliance rule once, in sentences', () => {
  const ids = RULE_TEXTS.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids).toEqual([
    ...GAP_RULES.map(({ property }) => property),
    ...POLICY_RULES.map(({ reason }) => `policy.${reason}`),
    ...RULE_IDS,
  ]);
  for (const { id, title, meaning, remedy } of RULE_TEXTS)
    expect([id, title, meaning, remedy]).toEqual([
      id,
      expect.stringMatching(/^[A-Z][^`]*[^.`]$/),
      expect.stringMatching(/^[A-Z][^`]*\.$/),
      expect.stringMatching(/^[A-Z][^`]*\.$/),
    ]);
});

test.each([
  [
    'model.apiKey',
    {
      kind: 'gap',
      pack: null,
      title: 'Model not usable, or not checked',
      severity: 'critical',
      points: 30,
      meaning:
        "Critical (30 points): the agent's model check fails. High (20 points): the model check is skipped (the API key is not set) or not reported.",
    },
  ],
  [
    'policy.memory_ttl_mismatch',
    {
      kind: 'gap',
      pack: null,
      title: 'Policy: the TTL of a write to short-term memory differs from ttlSeconds',
      severity: 'high',
      points: 20,
      meaning:
        'The policy denies a request when the TTL of a write to short-term memory differs from ttlSeconds. It is declared at spec.memory.shortTerm.ttlSeconds (set).',
      remedy: 'Write to memory with the TTL that the manifest declares.',
    },
  ],
  [
    'MODEL-01',
    {
      kind: 'compliance',
      pack: 'model-resilience',
      title: 'No fallback model is declared',
      severity: 'high',
      points: 3,
      meaning:
        'The rule passes when model.fallback is declared. Evidence at run time: an unexpired proof of this rule was submitted.',
      remedy:
        'Declare spec.model.fallback with maxRetries, and submit a proof that the fallback model activates.',
    },
  ],
])('%s has the meaning and the remedy of its table', (id, expected) => {
  expect(RULE_TEXTS.find((each) => each.id === id)).toMatchObject(expected);
});

test.each([
  ['healthcheckable', 'healthcheckable'],
  ['tool:search', 'tool:<name>'],
  ['env:A.B', 'env:<name>'],
  ['discoverable', 'discoverable'],
  ['discoverable.search', 'discoverable.<tool>'],
  ['guardrails.unreported', 'guardrails.unreported'],
  ['guardrails.input.pii-detector', 'guardrails.<where>.<type>'],
  ['policy.not-loaded', 'policy.not-loaded'],
  ['policy.pii_detector_not_invoked', 'policy.pii_detector_not_invoked'],
  ['policy.after_hours', 'policy.<reason>'],
  ['tool:', null],
  ['something', null],
])('the property %s belongs to the rule %s', (property, rule) => {
  expect(gapRuleOf(property)).toBe(rule);
});

test('lists the agents that fail a rule, each once, without issues of an LLM and of unknown rules', () => {
  const states = ruleStatesOf(
    [
      agent('a', [issue('tool:search'), issue('tool:pay'), issue('discoverable', 'llm'), issue('unknown')]),
      agent('b', [issue('policy.after_hours', 'policy'), issue('policy.pii_detector_not_invoked', 'policy')]),
      agent('c', [issue('tool:search')], { failed: ['MODEL-01', 'UNKNOWN-1'] }),
    ],
    100,
  );
  expect(failingOf(states, 'tool:<name>')).toEqual(['a', 'c']);
  expect(failingOf(states, 'discoverable')).toEqual([]);
  expect(failingOf(states, 'policy.<reason>')).toEqual(['b']);
  expect(failingOf(states, 'policy.pii_detector_not_invoked')).toEqual(['b']);
  expect(stateOf(states, 'MODEL-01')).toMatchObject({
    failing: [{ agentName: 'c', namespace: 'team' }],
    failingCount: 1,
  });
  expect(states.map(({ id }) => id)).toEqual(RULE_TEXTS.map(({ id }) => id));
});

test('lists the suppressions of a rule with all values, and null for those that the manifest does not have', () => {
  const states = ruleStatesOf(
    [
      agent('a', [], {
        suppressions: [
          {
            rule: 'MODEL-01',
            reason: 'one model',
            approvedBy: 'security@example.com',
            expires: '2026-12-31',
            state: 'active',
          },
          { rule: 'NO-SUCH-RULE', reason: 'typo', state: 'unknown' },
          { rule: 'tool:<name>', reason: 'not a compliance rule', state: 'unknown' },
        ],
      }),
      agent('b', [], { suppressions: [{ rule: 'MODEL-01', reason: 'later', state: 'expired' }] }),
    ],
    100,
  );
  expect(stateOf(states, 'MODEL-01')).toMatchObject({
    failingCount: 0,
    suppressedCount: 2,
    suppressed: [
      {
        ...{ agentName: 'a', namespace: 'team', reason: 'one model', state: 'active' },
        ...{ approvedBy: 'security@example.com', expires: '2026-12-31' },
      },
      {
        ...{ agentName: 'b', namespace: 'team', reason: 'later', state: 'expired' },
        ...{ approvedBy: null, expires: null },
      },
    ],
  });
  expect(stateOf(states, 'tool:<name>')?.suppressed).toEqual([]);
});

test('lists at most `limit` agents per rule, and counts all', () => {
  const suppressions: AuditSummary['suppressions'] = [{ rule: 'MODEL-02', reason: 'r', state: 'active' }];
  const agents = ['a', 'b', 'c'].map((name) => agent(name, [issue('auditable')], { suppressions }));
  const states = ruleStatesOf(agents, 2);
  expect(failingOf(states, 'auditable')).toEqual(['a', 'b']);
  expect(stateOf(states, 'auditable')?.failingCount).toBe(3);
  expect(stateOf(states, 'MODEL-02')?.suppressed.map(({ agentName }) => agentName)).toEqual(['a', 'b']);
  expect(stateOf(states, 'MODEL-02')?.suppressedCount).toBe(3);
});
