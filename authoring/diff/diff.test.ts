import { describe, expect, test } from '@jest/globals';
import { aManifest } from '../../testing/fleet/facts.ts';
import type { ManifestSpec } from '../../core/manifest/manifest.ts';
import { diffManifests } from './diff.ts';
import { DRIFT_RULES } from './drift-rules.ts';

const MODEL = { provider: 'openai', id: 'gpt-4o', apiKey: '$secret:openai' };
const TOOL = { name: 'search', annotations: { destructiveHint: false } };
const LIMIT = { type: 'object', maxProperties: 2 };
const FALLBACK = { provider: 'anthropic', id: 'claude', apiKey: '$env:KEY' };
const DATASET = { name: 'smoke', path: 'smoke.jsonl' };

type Spec = Partial<ManifestSpec>;
const diff = (from: Spec, to: Spec) =>
  diffManifests({ name: 'a.yaml', manifest: aManifest(from) }, { name: 'b.yaml', manifest: aManifest(to) });

/** Every row of the table: two manifests, the property, and the type of the change. */
const CASES: [code: string, from: Spec, to: Spec, property: string, type: string][] = [
  [
    'guardrail-removed',
    { guardrails: { input: [{ type: 'pii-detector' }, { type: 'topic-filter' }] } },
    { guardrails: { input: [{ type: 'topic-filter' }] } },
    'spec.guardrails.input[pii-detector]',
    'removed',
  ],
  [
    'guardrail-removed',
    { guardrails: { output: [{ type: 'toxicity-filter' }] } },
    {},
    'spec.guardrails.output[toxicity-filter]',
    'removed',
  ],
  [
    'key-reference-removed',
    { model: MODEL },
    { model: { ...MODEL, apiKey: 'sk-literal' } },
    'spec.model.apiKey',
    'changed',
  ],
  [
    'key-reference-removed',
    { memory: { vector: { backend: 'qdrant', apiKey: '$env:QDRANT' } } },
    { memory: { vector: { backend: 'qdrant' } } },
    'spec.memory.vector.apiKey',
    'removed',
  ],
  [
    'model-provider-changed',
    { model: MODEL },
    { model: { ...MODEL, provider: 'groq' } },
    'spec.model.provider',
    'changed',
  ],
  ['model-changed', { model: MODEL }, { model: { ...MODEL, id: 'gpt-5' } }, 'spec.model.id', 'changed'],
  [
    'model-changed',
    { model: { ...MODEL, fallback: FALLBACK } },
    { model: { ...MODEL, fallback: { ...FALLBACK, id: 'claude-2' } } },
    'spec.model.fallback.id',
    'changed',
  ],
  ['evaluation-removed', { evaluation: { ciGate: true } }, {}, 'spec.evaluation', 'removed'],
  [
    'evaluation-removed',
    { evaluation: { datasets: [DATASET] } },
    { evaluation: {} },
    'spec.evaluation.datasets[smoke]',
    'removed',
  ],
  [
    'evaluation-removed',
    { evaluation: { ciGate: true } },
    { evaluation: { ciGate: false } },
    'spec.evaluation.ciGate',
    'changed',
  ],
  [
    'evaluation-lowered',
    { evaluation: { thresholds: { pass_rate: 0.9 } } },
    { evaluation: { thresholds: { pass_rate: 0.5 } } },
    'spec.evaluation.thresholds.pass_rate',
    'changed',
  ],
  [
    'guardrail-changed',
    { guardrails: { input: [{ type: 'pii-detector', action: 'block' }] } },
    { guardrails: { input: [{ type: 'pii-detector', action: 'warn' }] } },
    'spec.guardrails.input[pii-detector].action',
    'changed',
  ],
  [
    'observability-removed',
    { observability: { tracing: { backend: 'otel' } } },
    { observability: {} },
    'spec.observability.tracing',
    'removed',
  ],
  ['tool-added-destructive', {}, { tools: [{ name: 'pay' }] }, 'spec.tools[pay]', 'added'],
  ['tool-added', {}, { tools: [TOOL] }, 'spec.tools[search]', 'added'],
  [
    'key-reference-weakened',
    { model: MODEL },
    { model: { ...MODEL, apiKey: '$env:OPENAI_API_KEY' } },
    'spec.model.apiKey',
    'changed',
  ],
  [
    'limit-raised',
    { model: { ...MODEL, costControls: { maxMonthlyUSD: 10 } } },
    { model: { ...MODEL, costControls: { maxMonthlyUSD: 20 } } },
    'spec.model.costControls.maxMonthlyUSD',
    'changed',
  ],
  [
    'safeguard-removed',
    { memory: { hygiene: { piiScrubFields: ['email', 'name'] } } },
    { memory: { hygiene: { piiScrubFields: ['name'] } } },
    'spec.memory.hygiene.piiScrubFields[email]',
    'removed',
  ],
  [
    'safeguard-removed',
    { api: { auth: { type: 'jwt' } } },
    { api: { auth: { type: 'none' } } },
    'spec.api.auth.type',
    'changed',
  ],
  [
    'rule-suppressed',
    {},
    { compliance: { suppressions: [{ rule: 'MEM-01', reason: 'no memory' }] } },
    'spec.compliance.suppressions[MEM-01]',
    'added',
  ],
  [
    'constraints-changed',
    { tools: [{ ...TOOL, constraints: LIMIT }] },
    { tools: [TOOL] },
    'spec.tools[search].constraints',
    'removed',
  ],
  [
    'constraints-changed',
    { tools: [{ ...TOOL, constraints: LIMIT }] },
    { tools: [{ ...TOOL, constraints: { ...LIMIT, maxProperties: 9 } }] },
    'spec.tools[search].constraints.maxProperties',
    'changed',
  ],
  [
    'egress-widened',
    { egress: { hosts: ['api.example.com'] } },
    { egress: { hosts: ['api.example.com', '*.example.org'] } },
    'spec.egress.hosts[*.example.org]',
    'added',
  ],
  ['egress-widened', {}, { egress: { tools: ['files_*'] } }, 'spec.egress.tools[files_*]', 'added'],
  [
    'price-changed',
    { model: { ...MODEL, prices: { 'gpt-4o': { input: 2, output: 10 } } } },
    { model: { ...MODEL, prices: { 'gpt-4o': { input: 1, output: 10 } } } },
    'spec.model.prices.gpt-4o.input',
    'changed',
  ],
  [
    'other-change',
    { tools: [TOOL] },
    { tools: [{ ...TOOL, constraints: LIMIT }] },
    'spec.tools[search].constraints',
    'added',
  ],
  ['other-change', { tools: [TOOL] }, {}, 'spec.tools[search]', 'removed'],
  [
    'other-change',
    {},
    { guardrails: { input: [{ type: 'topic-filter' }] } },
    'spec.guardrails.input[topic-filter]',
    'added',
  ],
];

describe('rows of the table', () => {
  test.each(CASES)('%s: %j to %j', (code, from, to, ...[property, type]) => {
    const rule = DRIFT_RULES.find((each) => each.code === code);
    expect(diff(from, to).changes).toEqual([
      expect.objectContaining({
        type,
        property,
        code,
        severity: rule?.severity,
        scoreImpact: rule?.scoreImpact,
      }),
    ]);
  });

  test('every row has a case', () => {
    expect([...new Set(CASES.map(([code]) => code))].sort()).toEqual(
      DRIFT_RULES.map(({ code }) => code).sort(),
    );
  });

  test('the severities of the contract', () => {
    const severities = Object.fromEntries(DRIFT_RULES.map(({ code, severity }) => [code, severity]));
    expect(severities).toMatchObject({
      'guardrail-removed': 'HIGH',
      'key-reference-removed': 'HIGH',
      'model-changed': 'MEDIUM',
      'model-provider-changed': 'MEDIUM',
      'evaluation-removed': 'MEDIUM',
      'tool-added': 'LOW',
      'observability-removed': 'LOW',
    });
  });

  test.each([
    ['HIGH', -15, -10],
    ['MEDIUM', -8, -5],
    ['LOW', -3, 0],
  ])('%s has an impact from %i to %i', (severity, least, most) => {
    const impacts = DRIFT_RULES.filter((rule) => rule.severity === severity).map((rule) => rule.scoreImpact);
    expect([Math.min(...impacts), Math.max(...impacts)]).toEqual([least, most]);
  });
});

describe('the report', () => {
  test('sums the impacts and lists the most severe change first', () => {
    const report = diff(
      { model: MODEL, guardrails: { input: [{ type: 'pii-detector' }] } },
      { model: { ...MODEL, id: 'gpt-5' }, tools: [{ name: 'pay' }] },
    );
    expect(report).toMatchObject({
      from: 'a.yaml',
      to: 'b.yaml',
      scoreFrom: 100,
      scoreTo: 77,
      gradeFrom: 'A',
      gradeTo: 'B',
      netScoreChange: -23,
    });
    expect(report.changes.map(({ severity }) => severity)).toEqual(['HIGH', 'MEDIUM', 'LOW']);
  });

  test('never goes below 0', () => {
    const input = Array.from({ length: 10 }, (_, index) => ({
      type: 'custom' as const,
      module: `m${index}`,
    }));
    expect(diff({ guardrails: { input } }, {})).toMatchObject({
      scoreTo: 0,
      gradeTo: 'F',
      netScoreChange: -100,
    });
  });

  test('a removed field of a guardrail is not a removed guardrail, whatever its name', () => {
    const input = (fields: string[]) => ({
      guardrails: { input: [{ type: 'pii-detector' as const, fields }] },
    });
    expect(diff(input(['a]']), input([])).changes.map(({ code }) => code)).toEqual(['guardrail-changed']);
  });

  test('describes each type of change, with passwords masked', () => {
    const connection = (password: string) => ({
      memory: { longTerm: { backend: 'postgres', connectionString: `postgres://app:${password}@db/agent` } },
    });
    const descriptions = (from: Spec, to: Spec) =>
      diff(from, to).changes.map(({ description }) => description);
    expect(descriptions(connection('one'), connection('two'))).toEqual([
      'spec.memory.longTerm.connectionString changed from "postgres://app:***@db/agent" to "postgres://app:***@db/agent"',
    ]);
    expect(descriptions({ api: { port: 1 } }, { api: { streaming: true } })).toEqual([
      'spec.api.streaming added: true',
      'spec.api.port removed: 1',
    ]);
    expect(descriptions({}, { tools: [TOOL] })).toEqual(['spec.tools[search] added']);
  });

  test('has the path with list indexes, so that a position can be found', () => {
    const [added] = diff({ tools: [TOOL] }, { tools: [TOOL, { name: 'pay' }] }).changes;
    expect(added?.path).toEqual(['spec', 'tools', 1]);
    const [removed] = diff({ tools: [{ name: 'pay' }, TOOL] }, { tools: [TOOL] }).changes;
    expect(removed?.path).toEqual(['spec', 'tools', -1]);
  });
});

describe('no difference', () => {
  test.each<[string, Spec, Spec]>([
    ['equal manifests', { tools: [TOOL] }, { tools: [{ ...TOOL }] }],
    ['another order of tools', { tools: [TOOL, { name: 'pay' }] }, { tools: [{ name: 'pay' }, TOOL] }],
    [
      'another order of guardrails of the same type',
      {
        guardrails: {
          input: [
            { type: 'custom', module: 'a' },
            { type: 'custom', module: 'b' },
          ],
        },
      },
      {
        guardrails: {
          input: [
            { type: 'custom', module: 'b' },
            { type: 'custom', module: 'a' },
          ],
        },
      },
    ],
    [
      'another order of fields to scrub',
      { memory: { hygiene: { piiScrubFields: ['email', 'name'] } } },
      { memory: { hygiene: { piiScrubFields: ['name', 'email'] } } },
    ],
    [
      'a service whose name is its type',
      { requires: { services: [{ type: 'redis' }] } },
      { requires: { services: [{ type: 'redis' }] } },
    ],
    ['an empty list and no list', { tools: [] }, {}],
  ])('%s', (_what, from, to) => {
    expect(diff(from, to)).toMatchObject({ scoreTo: 100, gradeTo: 'A', netScoreChange: 0, changes: [] });
  });
});

test('literal secrets are not shown, references are', () => {
  const server = (args: string[]) => ({ servers: [{ name: 'a', command: 'a', args }] });
  const report = diff(
    { model: { ...MODEL, apiKey: 'sk-one' }, mcp: server(['--api-key=sk-three']) },
    { model: { ...MODEL, apiKey: '$env:KEY' }, mcp: server(['--api-key=sk-four', 'https://u:five@a']) },
  );
  expect(report.changes.map(({ description }) => description)).toEqual([
    'spec.model.apiKey changed from [literal value] to "$env:KEY"',
    'spec.mcp.servers[a].args[literal value] changed from [literal value] to [literal value]',
    'spec.mcp.servers[a].args[literal value#2] added: "https://u:***@a"',
  ]);
  expect(JSON.stringify(report)).not.toMatch(/sk-|five/);
});
