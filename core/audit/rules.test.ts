import { describe, expect, test } from '@jest/globals';
import { aManifest } from '../../testing/fleet/facts.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { PACKS } from '../shapes/values.ts';
import { audit } from './audit.ts';
import { fixesOf } from './fixes.ts';
import { RULE_IDS, RULES } from './rules.ts';
import crosswalk from './crosswalk.json' with { type: 'json' };
import { OWASP } from './references.ts';

const tool = (annotations?: object) => ({ name: 'pay', ...(annotations && { annotations }) });
const model = (more: object) => ({ model: { provider: 'openai', id: 'gpt-5', apiKey: '$env:KEY', ...more } });
const fallback = { provider: 'anthropic', id: 'claude-sonnet-4-5', apiKey: '$env:OTHER' };
const longTerm = { backend: 'postgres', ttlDays: 30 };
const shortTerm = { backend: 'redis', ttlSeconds: 60, maxTokens: 100 };
const hallucination = { metrics: ['hallucination'], thresholds: { hallucination: 0.1 } };

/** Rule, a spec that passes, a spec that violates the rule, and the path of the violation. `metadata` is next to the spec. */
type Row = [id: string, passes: object, violates: object, path: string];

const ROWS: Row[] = [
  [
    'SEC-LLM-01',
    { guardrails: { input: [{ type: 'prompt-injection' }] } },
    { guardrails: { input: [{ type: 'pii-detector' }], output: [{ type: 'topic-filter' }] } },
    'spec.guardrails.input',
  ],
  ['SEC-LLM-01', { guardrails: { input: [{ type: 'topic-filter' }] } }, {}, 'spec.guardrails.input'],
  [
    'SEC-LLM-02',
    { guardrails: { output: [{ type: 'custom' }] } },
    { guardrails: { input: [{ type: 'custom' }], output: [] } },
    'spec.guardrails.output',
  ],
  [
    'SEC-LLM-03',
    { prompts: { system: '$file:prompt.md' } },
    { prompts: { system: 'You are kind.' } },
    'spec.prompts.system',
  ],
  [
    'SEC-LLM-03',
    { prompts: { system: '$file:a/b.md' } },
    { prompts: { system: '$env:P' } },
    'spec.prompts.system',
  ],
  [
    'SEC-LLM-04',
    { api: { rateLimit: { requestsPerMinute: 60 } } },
    { api: { rateLimit: { requestsPerHour: 60 } } },
    'spec.api.rateLimit.requestsPerMinute',
  ],
  [
    'SEC-LLM-04',
    model({ costControls: { maxMonthlyUSD: 0 } }),
    model({ costControls: { maxTokensPerDay: 1 } }),
    'spec.api.rateLimit.requestsPerMinute',
  ],
  ['SEC-LLM-05', model({}), model({ id: 'latest' }), 'spec.model.id'],
  ['SEC-LLM-05', model({ id: 'latest-ish' }), model({ provider: ' ' }), 'spec.model.provider'],
  [
    'SEC-LLM-06',
    { memory: { longTerm, hygiene: { piiScrubFields: ['email'] } } },
    { memory: { longTerm, hygiene: { piiScrubFields: [] } } },
    'spec.memory.hygiene.piiScrubFields',
  ],
  ['SEC-LLM-06', { memory: { shortTerm } }, { memory: { longTerm } }, 'spec.memory.hygiene.piiScrubFields'],
  [
    'SEC-LLM-07',
    { tools: [tool({ readOnlyHint: true })] },
    { tools: [tool({ readOnlyHint: true }), tool({})] },
    'spec.tools[1].annotations',
  ],
  ['SEC-LLM-07', { tools: [] }, { tools: [tool()] }, 'spec.tools[0].annotations'],
  [
    'SEC-LLM-08',
    { tools: [tool({ destructiveHint: false })] },
    { tools: [tool({ destructiveHint: false }), tool({ readOnlyHint: true })] },
    'spec.tools[1].annotations',
  ],
  [
    'SEC-LLM-09',
    { evaluation: { framework: 'deepeval', ciGate: true } },
    { evaluation: { framework: 'deepeval' } },
    'spec.evaluation.ciGate',
  ],
  [
    'SEC-LLM-09',
    { evaluation: { framework: 'x', ciGate: true } },
    { evaluation: { ciGate: true } },
    'spec.evaluation.framework',
  ],
  ['SEC-LLM-10', model({ apiKey: '$secret:key' }), model({ apiKey: 'sk-plain' }), 'spec.model.apiKey'],
  ['SEC-LLM-10', model({ apiKey: '$env:KEY' }), model({ apiKey: '$file:key.txt' }), 'spec.model.apiKey'],
  ['MODEL-01', model({ fallback }), {}, 'spec.model.fallback'],
  ['MODEL-02', model({ id: 'llama3.3:70b' }), model({ id: 'llama3.3:latest' }), 'spec.model.id'],
  ['MODEL-02', model({ id: 'mistral-small-2506' }), model({ id: ' Latest' }), 'spec.model.id'],
  ['MODEL-03', model({ costControls: { maxMonthlyUSD: 50 } }), {}, 'spec.model.costControls.maxMonthlyUSD'],
  [
    'MODEL-04',
    model({ fallback: { ...fallback, maxRetries: 0 } }),
    model({ fallback }),
    'spec.model.fallback.maxRetries',
  ],
  [
    'MEM-01',
    { memory: { longTerm, hygiene: { piiScrubFields: ['email'] } } },
    { memory: { longTerm } },
    'spec.memory.hygiene.piiScrubFields',
  ],
  [
    'MEM-02',
    { memory: { backend: 'redis', shortTerm, longTerm } },
    { memory: { shortTerm: { backend: 'redis' } } },
    'spec.memory.shortTerm.ttlSeconds',
  ],
  [
    'MEM-02',
    { memory: { vector: { backend: 'pgvector' } } },
    { memory: { shortTerm, longTerm: { backend: 'postgres' } } },
    'spec.memory.longTerm.ttlDays',
  ],
  [
    'MEM-03',
    { memory: { longTerm, hygiene: { auditLog: true } } },
    { memory: { longTerm, hygiene: { auditLog: false } } },
    'spec.memory.hygiene.auditLog',
  ],
  [
    'MEM-04',
    { memory: { vector: { backend: 'pgvector', namespace: 'shop' } } },
    { memory: { vector: { backend: 'pgvector' } } },
    'spec.memory.vector.namespace',
  ],
  [
    'MEM-05',
    { memory: { shortTerm } },
    { memory: { shortTerm: { backend: 'redis', maxTurns: 20 } } },
    'spec.memory.shortTerm.maxTokens',
  ],
  [
    'EVAL-01',
    { evaluation: { datasets: [{ name: 'a', path: 'a.jsonl' }] } },
    { evaluation: { datasets: [] } },
    'spec.evaluation.datasets',
  ],
  ['EVAL-02', { evaluation: { ciGate: true } }, { evaluation: { ciGate: false } }, 'spec.evaluation.ciGate'],
  [
    'EVAL-03',
    { evaluation: hallucination },
    { evaluation: { ...hallucination, thresholds: { pass_rate: 0.9 } } },
    'spec.evaluation.thresholds.hallucination',
  ],
  [
    'EVAL-03',
    {
      evaluation: {
        ...hallucination,
        metrics: [],
        datasets: [{ name: 'a', path: 'a.jsonl', metrics: ['hallucination'] }],
      },
    },
    { evaluation: { ...hallucination, metrics: ['pass_rate'] } },
    'spec.evaluation.metrics',
  ],
  ['OBS-01', { observability: { tracing: { backend: 'otel' } } }, {}, 'spec.observability.tracing.backend'],
  [
    'OBS-02',
    { observability: { logging: { level: 'info' } } },
    { observability: { logging: { structured: false } } },
    'spec.observability.logging.structured',
  ],
  [
    'OBS-03',
    { observability: { logging: { redactFields: ['email'] } } },
    { observability: { logging: { redactFields: [] } } },
    'spec.observability.logging.redactFields',
  ],
  ['META-01', {}, { metadata: { description: ' \n' } }, 'metadata.description'],
  [
    'META-02',
    model({ parameters: { temperature: 1.5 } }),
    model({ parameters: { temperature: 1.6 } }),
    'spec.model.parameters.temperature',
  ],
  [
    'META-02',
    model({ parameters: {} }),
    model({ parameters: { temperature: 2 } }),
    'spec.model.parameters.temperature',
  ],
];

/** A manifest from the spec of a row, and from its `metadata` if present. */
function rowManifest({ metadata, ...spec }: { metadata?: object }): Manifest {
  const manifest = aManifest(spec);
  return { ...manifest, metadata: { ...manifest.metadata, ...metadata } };
}

/** The crosswalk has no list for an edition that a rule is not about. */
type Maps = Partial<Record<string, { id: string }[]>>;

describe('compliance rules', () => {
  test.each(ROWS)('%s passes with %j and is violated with %j', (id, passes, violates, path) => {
    const rule = RULES.find((each) => each.id === id);
    expect(rule?.violatedAt(rowManifest(passes))).toBeNull();
    expect(rule?.violatedAt(rowManifest(violates))).toBe(path);
  });

  test.each(ROWS)('the fix of %s makes it pass', (id, _passes, violates, path) => {
    const others = RULE_IDS.filter((each) => each !== id);
    const suppressions = others.map((rule) => ({ rule, reason: 'not tested here' }));
    const spec: object = { ...violates, compliance: { suppressions } };
    const manifest = rowManifest(spec);
    const { recommendation } = RULES.find((each) => each.id === id) ?? { recommendation: '' };
    expect(fixesOf(manifest, audit(manifest, { evidence: null, at: new Date(0) }))).toEqual([
      { ruleIds: [id], path, recommendation, score: 100, grade: 'A' },
    ]);
  });

  test('all have a row in this table', () => {
    expect([...new Set(ROWS.map(([id]) => id))]).toEqual(RULE_IDS);
  });

  test('are grouped by pack in the order of PACKS', () => {
    expect([...new Set(RULES.map(({ pack }) => pack))]).toEqual([...PACKS]);
  });

  test.each(RULES)(
    '$id has a message and a recommendation that are whole sentences',
    ({ message, recommendation, passesWhen }) => {
      expect(message).toMatch(/^[A-Z].*\.$/);
      expect(recommendation).toMatch(/^[A-Z].*(?:\.|: \S+|: \S+: \S+)$/);
      expect(passesWhen).toMatch(/^[a-z*].*[^.]$/);
    },
  );

  test.each(RULES)('$id cites the entries of both editions that the crosswalk has for it', (rule) => {
    const maps: Maps = crosswalk.rules.find(({ id }) => id === rule.id)?.maps ?? {};
    const cited = (edition: string): string[] =>
      rule.references.flatMap((text) => text.match(new RegExp(`LLM\\d\\d:${edition}`, 'g')) ?? []);
    const idsOf = (list: Maps[string] = []): string[] => list.map(({ id }) => id);
    expect(cited('2026').sort()).toEqual(idsOf(maps['owaspLlm2026']).sort());
    expect(cited('2025').sort()).toEqual(idsOf(maps['owaspLlm2025']).sort());
  });

  test.each(Object.values(OWASP))('%s is the entry of the list of 2026 with its title', (reference) => {
    const found = /^OWASP (LLM\d\d:2026) (.*) \(LLM\d\d:2025.*\)$/.exec(reference);
    expect(crosswalk.frameworks.owaspLlm2026.entries).toContainEqual(
      expect.objectContaining({ id: found?.[1], title: found?.[2] }),
    );
  });

  // The AI Act does not require evidence of tampering, in contrast to some summaries of its Article 12.
  test('no article of the AI Act is mapped to the chain of the audit log', () => {
    const ofCapability = (name: string): Maps =>
      crosswalk.capabilities.find(({ id }) => id === name)?.maps ?? {};
    expect(ofCapability('audit-log')).toHaveProperty('euAiAct');
    expect(ofCapability('audit-chain')).toHaveProperty('nistAiRmf10');
    expect(ofCapability('audit-chain')).not.toHaveProperty('euAiAct');
  });
});

/** Severities, tiers and evidence from the contract's table. */
test.each([
  ['SEC-LLM-01', 'high', 'B', 'guardrail'],
  ['SEC-LLM-02', 'high', 'B', 'guardrail'],
  ['SEC-LLM-03', 'medium', 'P', 'check file'],
  ['SEC-LLM-04', 'medium', 'X', 'proof'],
  ['SEC-LLM-05', 'medium', 'P', 'check model'],
  ['SEC-LLM-06', 'critical', 'X', 'proof'],
  ['SEC-LLM-07', 'medium', 'X', 'proof'],
  ['SEC-LLM-08', 'high', 'X', 'proof'],
  ['SEC-LLM-09', 'medium', 'P', 'evaluation'],
  ['SEC-LLM-10', 'high', 'P', 'check secret env'],
  ['MODEL-01', 'high', 'X', 'proof'],
  ['MODEL-02', 'medium', 'P', 'check model'],
  ['MODEL-03', 'medium', 'X', 'proof'],
  ['MODEL-04', 'low', 'X', 'proof'],
  ['MEM-01', 'critical', 'X', 'proof'],
  ['MEM-02', 'high', 'P', 'check memory'],
  ['MEM-03', 'medium', 'P', 'check memory'],
  ['MEM-04', 'medium', 'P', 'check memory'],
  ['MEM-05', 'low', 'P', 'check memory'],
  ['EVAL-01', 'medium', 'P', 'evaluation'],
  ['EVAL-02', 'medium', 'P', 'evaluation'],
  ['EVAL-03', 'medium', 'P', 'evaluation'],
  ['OBS-01', 'medium', 'P', 'check tracing'],
  ['OBS-02', 'low', 'B', 'proof'],
  ['OBS-03', 'medium', 'X', 'proof'],
  ['META-01', 'low', 'D', 'none'],
  ['META-02', 'medium', 'D', 'none'],
])('%s has severity %s, tier %s and evidence %s', (id, severity, tier, evidence) => {
  const rule = RULES.find((each) => each.id === id);
  const kind = rule?.evidence;
  const evidenceText = kind?.kind === 'check' ? ['check', ...kind.categories].join(' ') : kind?.kind;
  expect([rule?.severity, rule?.tier, evidenceText]).toEqual([severity, tier, evidence]);
});
