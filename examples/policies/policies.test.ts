import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { stringify } from 'yaml';
import { parseManifest } from '../../core/manifest/parse-manifest.ts';
import type { AgentPolicy, Subject } from '../../core/organisation/finding.ts';
import { expressionsFor, expressionVariables, judge } from '../../core/organisation/judge.ts';
import type { ObservationStatus } from '../../core/shapes/observation.ts';
import { ManifestWorker } from '../../runtime/manifest-worker.ts';
import { loadPolicies } from '../../runtime/organisation-files.ts';

const BEFORE_THE_END = '2026-12-01T12:00:00Z';
const AFTER_THE_END = '2027-06-30T00:00:01Z';

const MODEL = {
  ...{ provider: 'openai', id: 'gpt-4o-mini', apiKey: '$secret:openai-key' },
  costControls: { maxMonthlyUSD: 40, maxTokensPerDay: 100_000 },
};
const GUARDRAILS = {
  input: [
    { type: 'pii-detector', action: 'scrub' },
    { type: 'prompt-injection', action: 'block' },
  ],
  output: [{ type: 'toxicity-filter', action: 'block', threshold: 0.7 }],
};
/** What no example rejects: the spec of the manifest, and the status of the running agent. */
const SPEC = {
  model: MODEL,
  guardrails: GUARDRAILS,
  tools: [{ name: 'refund_order', annotations: { destructiveHint: true } }],
  egress: { hosts: ['api.example.com', 'orders.shop.svc'] },
};
const RUNNING = {
  ...{ phase: 'Healthy', lastChecked: '2026-12-01T11:59:00.000Z', policyMode: 'enforce', grade: 'A' },
  evidence: { percent: 80 },
  egress: { lanes: [{ name: 'openai' }], unseenEgress: { connections: 0 } },
  proofs: [
    { ruleId: 'SEC-LLM-08', verifiedBy: 'qa', method: 'test', verifiedAt: '2026-11-01T00:00:00.000Z' },
  ],
};

/** By policy and rule: what breaks it, as a part of the spec or of the status. */
const BREAKING: Readonly<Record<string, { spec?: object; status?: object }>> = {
  'production/models': { spec: { model: { ...MODEL, provider: 'mistral', id: 'mistral-large' } } },
  'production/tools': { spec: { tools: [{ name: 'shell_exec', annotations: { destructiveHint: true } }] } },
  'production/hosts': { spec: { egress: { hosts: ['paste.example.org'] } } },
  'production/guardrails': { spec: { guardrails: { ...GUARDRAILS, input: [] } } },
  'production/budget': { spec: { model: { ...MODEL, costControls: { maxMonthlyUSD: 501 } } } },
  'production/confirmation': { spec: { tools: [{ name: 'refund_order' }] } },
  'production/key': { spec: { model: { ...MODEL, apiKey: 'sk-1' } } },
  'production/runtime': { status: { policyMode: 'track' } },
  'production/census': { status: { egress: { lanes: [{ name: 'openai' }] } } },
  'production/result': { status: { grade: 'C' } },
  'production/proofs': { status: { proofs: [] } },
  'development/models': { spec: { model: { ...MODEL, provider: 'mistral', id: 'mistral-large' } } },
  'development/tools': { spec: { tools: [{ name: 'drop_table', annotations: { destructiveHint: true } }] } },
  'development/hosts': { spec: { egress: { hosts: ['paste.example.org'] } } },
  'development/guardrails': { spec: { guardrails: { ...GUARDRAILS, output: [] } } },
  'development/budget': { spec: { model: { ...MODEL, costControls: { maxMonthlyUSD: 51 } } } },
  'development/confirmation': { spec: { tools: [{ name: 'refund_order' }] } },
  'development/key': { spec: { model: { ...MODEL, apiKey: 'sk-1' } } },
  'pilot/models': { spec: { model: { ...MODEL, id: 'o9' } } },
  'pilot/trial': { spec: { egress: { models: ['grok-4'] }, model: { ...MODEL, provider: 'xai' } } },
  'pilot/guardrails': { spec: { guardrails: { ...GUARDRAILS, input: [] } } },
  'pilot/budget': { spec: { model: { ...MODEL, costControls: { maxMonthlyUSD: 101 } } } },
  'pilot/runtime': { status: { policyMode: 'off' } },
  'pilot/ready': { status: { evidence: { percent: 59 } } },
};

const worker = new ManifestWorker();
let policies: readonly AgentPolicy[];
beforeAll(async () => {
  const loaded = await loadPolicies(import.meta.dirname, 'examples/policies');
  if (!loaded.ok) throw new Error(loaded.problems.join('\n'));
  policies = loaded.policies;
});
afterAll(() => worker.close());

interface Parts {
  spec?: object;
  status?: object;
  namespace?: string;
  at?: string;
}

/** The broken rules of an agent in a namespace with the label env, as `policy/rule`. */
async function brokenIn(env: string, { spec = {}, status = {}, namespace = 'shop', at }: Parts = {}) {
  const document = {
    ...{ apiVersion: 'platform.io/v1', kind: 'PlatformAgent' },
    metadata: { name: 'search', version: '1.0.0', description: 'Answers.' },
    spec: { ...SPEC, ...spec },
  };
  const parsed = parseManifest(stringify(document));
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  const subject: Subject = {
    ...{ namespace, labels: { env }, names: ['search'], manifest: parsed.manifest },
    observation: { ...RUNNING, ...status } as unknown as ObservationStatus,
    at: new Date(at ?? BEFORE_THE_END),
  };
  const expressions = expressionsFor(policies, subject);
  const results = await worker.evaluateAll(expressions, expressionVariables(subject));
  const { findings, notJudged } = judge(policies, subject, results);
  expect(notJudged).toEqual([]);
  return findings.map(({ policy, rule }) => `${policy}/${rule}`);
}

describe('the example policies', () => {
  test.each(['production', 'development', 'pilot'])('for %s accept a careful agent', async (env) => {
    expect(await brokenIn(env)).toEqual([]);
  });

  test('have no rule that nothing breaks', () => {
    const rules = policies.flatMap(({ name, spec }) => spec.rules.map(({ id }) => `${name}/${id}`));
    expect(rules.sort()).toEqual(Object.keys(BREAKING).sort());
  });

  test.each(Object.entries(BREAKING))('find what breaks %s', async (rule, breaking) => {
    const [env = ''] = rule.split('/');
    const broken = await brokenIn(env, breaking);
    // A model that not even the trial allows is also outside the models of the pilot. Every other row breaks one rule only.
    expect([...new Set(broken)]).toEqual(rule === 'pilot/trial' ? ['pilot/models', rule] : [rule]);
  });

  test('of development stop only what costs money or leaks a key', () => {
    const { spec } = policies.find(({ name }) => name === 'development')!;
    expect(spec.rules.filter(({ action }) => action === 'Deny').map(({ id }) => id)).toEqual([
      'budget',
      'key',
    ]);
  });

  test('of a pilot allow one team the other vendor until the date, and never a third', async () => {
    const trial = (provider: string) => ({ model: { ...MODEL, provider, id: 'large' } });
    const namespace = 'pilot-search';
    const rulesOf = (provider: string, parts: Parts) =>
      brokenIn('pilot', { spec: trial(provider), ...parts });
    expect(await rulesOf('mistral', { namespace })).toEqual([]);
    expect(await rulesOf('mistral', { namespace, at: AFTER_THE_END })).toEqual(['pilot/models']);
    expect(await rulesOf('mistral', {})).toEqual(['pilot/models']);
    expect(await rulesOf('xai', { namespace })).toEqual(['pilot/trial']);
  });
});

test('every rule and every exception has a reason above it', () => {
  for (const { name, spec } of policies) {
    const lines = readFileSync(join(import.meta.dirname, `${name}.yaml`), 'utf8').split('\n');
    const starts = lines.flatMap((line, index) => (/^ {4}- (?:id|namespace): /.test(line) ? [index] : []));
    expect(starts).toHaveLength(spec.rules.length + (spec.exceptions?.length ?? 0));
    expect(starts.filter((index) => !/^ {4}# [A-Z].*\.$/.test(lines[index - 1] ?? ''))).toEqual([]);
  }
});
