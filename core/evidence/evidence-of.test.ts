import { describe, expect, test } from '@jest/globals';
import { anEntry } from '../../testing/fleet/audit-entry.ts';
import { someEgress } from '../../testing/fleet/egress-facts.ts';
import { aManifest, NOON } from '../../testing/fleet/facts.ts';
import type { AuditEntry } from '../shapes/audit-entry.ts';
import type { EgressFacts } from '../facts/egress-facts.ts';
import type { Reach } from '../facts/facts.ts';
import type { ManifestSpec } from '../manifest/manifest.ts';
import type { ProofRecord } from '../shapes/proof.ts';
import { evidencePercent } from './evidence.ts';
import type { EvidenceItem, EvidenceReport } from '../shapes/evidence.ts';
import { evidenceOf } from './evidence-of.ts';
import { EVIDENCE_ROWS } from './rows.ts';
import {
  EVIDENCE_MS,
  guardrailsSeen,
  reportedModelCall,
  sightingsIn,
  sightingsOfLaneCall,
  sightingsInChecks,
  sightingsInFacts,
  type LaneCall,
} from '../facts/sightings.ts';

const REACHED: Reach = { state: 'reachable', latencyMs: 1 };
const REFUSED: Reach = { state: 'unreachable', reason: 'connection refused' };

/** Everything that happened before NOON. */
interface Past {
  spec?: Partial<ManifestSpec>;
  /** Entries of the audit ring. */
  entries?: Partial<AuditEntry>[];
  /** What calls on egress lanes showed. */
  lane?: Partial<LaneCall>;
  /** Ids of checks that the agent reports as passed. */
  checks?: string[];
  /** Probe results of the sidecar. */
  reach?: Record<string, Reach>;
  proofs?: ProofRecord[];
  /** Age of all of it at NOON, in milliseconds. */
  agoMs?: number;
  /** Probe results of the sidecar at NOON; default: `reach`. */
  reachNow?: Record<string, Reach>;
  egress?: EgressFacts;
}

const NO_CALL: LaneCall = { models: [], tools: [], mcpServers: [], totalTokens: 0 };

function reportOf({ spec, entries = [], lane = {}, checks = [], reach = {}, ...rest }: Past): EvidenceReport {
  const { proofs = [], agoMs = 0, reachNow = reach, egress = null } = rest;
  const seen = new Map<string, number>();
  const agentReport = {
    checks: checks.map((id) => ({ id, status: 'pass', category: 'env', severity: 'info' }) as const),
  };
  const keys = [
    ...entries.flatMap((entry) => [...sightingsIn(anEntry(entry))]),
    ...sightingsOfLaneCall({ ...NO_CALL, ...lane }),
    ...sightingsInFacts({ reach: new Map(Object.entries(reach)), agentReport }),
  ];
  for (const key of keys) seen.set(key, NOON.getTime() - agoMs);
  const input = { manifest: aManifest(spec), at: NOON, seen, proofs, egress };
  return evidenceOf({ ...input, reach: new Map(Object.entries(reachNow)) });
}

const itemOf = (past: Past, itemKind: EvidenceItem['kind']): EvidenceItem | undefined =>
  reportOf(past).items.find(({ kind }) => kind === itemKind);

const usage = (modelId: string, totalTokens = 3): Partial<AuditEntry> => ({
  usage: { modelId, promptTokens: 1, completionTokens: totalTokens - 1, totalTokens },
});
const modelEvent = (modelId: string): Partial<AuditEntry> => ({
  events: [{ type: 'model', modelId, promptTokens: 1, completionTokens: 2 }],
});
const proof = (ruleId: string, overrides: Partial<ProofRecord> = {}): ProofRecord => ({
  ...{ ruleId, verifiedBy: 'ci', method: 'tested', verifiedAt: '2026-01-01T00:00:00.000Z' },
  origin: 'control-plane',
  ...overrides,
});

const TOOLS: Past = { spec: { tools: [{ name: 'search' }] } };
const GUARDRAILS: Past = {
  spec: {
    guardrails: {
      input: [{ type: 'pii-detector' }, { type: 'prompt-injection' }],
      output: [{ type: 'toxicity-filter' }],
    },
  },
};
const SERVICES: Past = { spec: { requires: { services: [{ name: 'db', address: 'db:5432' }] } } };
const MEMORY: Past = { spec: { memory: { shortTerm: { backend: 'redis', connection: 'redis://r:6379' } } } };
const MCP: Past = { spec: { mcp: { servers: [{ name: 'files', transport: 'stdio', command: 'files' }] } } };
const prices = { usdPerMillionTokens: { input: 1, output: 2 } };
const model = { provider: 'openai', id: 'gpt-4o', apiKey: 'literal' };
const BUDGETS: Past = {
  spec: { model: { ...model, costControls: { maxTokensPerDay: 9, maxMonthlyUSD: 9, ...prices } } },
};
const UNPRICED: Past = { spec: { model: { ...model, costControls: { maxMonthlyUSD: 9 } } } };
const DATASETS: Past = { spec: { evaluation: { datasets: [{ name: 'smoke', path: 'smoke.jsonl' }] } } };

/** `result`: the item and its tier. */
type Row = [title: string, past: Past, result: string];

describe('usage in responses, next to lanes', () => {
  const past: Past = { ...BUDGETS, entries: [usage('gpt-4o')] };
  const tiers = (egress: EgressFacts, more: Past = {}) =>
    (['model', 'budget'] as const).map((kind) => itemOf({ ...past, ...more, egress }, kind)?.tier);

  test('is no more than a report while the lane of the vendor has no call', () => {
    expect(tiers(someEgress())).toEqual(['reported', 'reported']);
    expect(itemOf({ ...past, egress: someEgress() }, 'model')).toEqual({
      ...{ kind: 'model', name: 'gpt-4o', tier: 'reported', lastSeen: NOON.toISOString() },
      shownBy: 'usage in responses; no call on the egress lane',
    });
  });

  test('is an observation after a call on the lane, and without a lane of the vendor', () => {
    expect(tiers(someEgress({ usedLanes: new Set(['openai']) }))).toEqual(['observed', 'observed']);
    expect(tiers(someEgress({ lanes: ['anthropic'] }))).toEqual(['observed', 'observed']);
    expect(tiers(someEgress(), { lane: { models: ['gpt-4o'], totalTokens: 3 } })).toEqual([
      'observed',
      'observed',
    ]);
  });

  test('does not contradict the report of another model', () => {
    const egress = someEgress();
    expect(itemOf({ entries: [usage('gpt-5'), modelEvent('gpt-4o')], egress }, 'model')?.contradictedBy).toBe(
      'usage of gpt-5 in responses',
    );
  });
});

describe('tier of an item, by kind', () => {
  test.each<Row>([
    ['usage of the declared model', { entries: [usage('gpt-4o')] }, 'model gpt-4o: observed'],
    [
      'usage of the declared model with a date',
      { entries: [usage('gpt-4o-2024-08-06')] },
      'model gpt-4o: observed',
    ],
    [
      'usage of the declared model with a gateway path',
      { entries: [usage('openai/GPT-4o')] },
      'model gpt-4o: observed',
    ],
    [
      'a lane call of the declared model',
      { lane: { models: ['openai/GPT-4o-2024-08-06'] } },
      'model gpt-4o: observed',
    ],
    ['a lane call of another model', { lane: { models: ['gpt-5'] } }, 'model gpt-4o: none'],
    ['a tool call on a lane', { ...TOOLS, lane: { tools: ['search'] } }, 'tool search: observed'],
    ['a call of another tool on a lane', { ...TOOLS, lane: { tools: ['other'] } }, 'tool search: none'],
    [
      'a response of an MCP server on a lane',
      { ...MCP, lane: { mcpServers: ['files'] } },
      'mcp files: observed',
    ],
    ['tokens on a lane', { ...BUDGETS, lane: { totalTokens: 3 } }, 'budget maxTokensPerDay: observed'],
    ['usage of another model', { entries: [usage('gpt-4o-mini')] }, 'model gpt-4o: none'],
    ['usage without a model', { entries: [usage('unknown')] }, 'model gpt-4o: none'],
    ['unreadable usage', { entries: [{ usage: { unavailable: 'x' } }] }, 'model gpt-4o: none'],
    ['a model event of the declared model', { entries: [modelEvent('gpt-4o')] }, 'model gpt-4o: reported'],
    ['a model event of another model', { entries: [modelEvent('gpt-4')] }, 'model gpt-4o: none'],
    ['a passing model check', { checks: ['model:openai/gpt-4o'] }, 'model gpt-4o: reported'],

    ['no evidence of a tool', TOOLS, 'tool search: none'],
    [
      'a tool call in a header',
      { ...TOOLS, entries: [{ toolsCalled: ['search'] }] },
      'tool search: reported',
    ],
    ['a passing tool check', { ...TOOLS, checks: ['tool:search'] }, 'tool search: reported'],
    ['a call of another tool', { ...TOOLS, entries: [{ toolsCalled: ['x'] }] }, 'tool search: none'],
    ['a proof of SEC-LLM-07', { ...TOOLS, proofs: [proof('SEC-LLM-07')] }, 'tool search: proved'],

    ['no evidence of a guardrail', GUARDRAILS, 'guardrail input.pii-detector: none'],
    [
      'a reported invocation',
      { ...GUARDRAILS, entries: [{ guardrailsInvoked: ['pii-detector'] }] },
      'guardrail input.pii-detector: reported',
    ],
    [
      'a report that no guardrail ran',
      { ...GUARDRAILS, entries: [{ guardrailsInvoked: [] }] },
      'guardrail input.pii-detector: none',
    ],
    [
      'a proof of SEC-LLM-01',
      { ...GUARDRAILS, proofs: [proof('SEC-LLM-01')] },
      'guardrail input.prompt-injection: proved',
    ],
    [
      'a proof for another guardrail',
      { ...GUARDRAILS, proofs: [proof('SEC-LLM-01')] },
      'guardrail input.pii-detector: none',
    ],
    [
      'a proof of SEC-LLM-02',
      { ...GUARDRAILS, proofs: [proof('SEC-LLM-02')] },
      'guardrail output.toxicity-filter: proved',
    ],

    ['a successful service probe', { ...SERVICES, reach: { 'service:db': REACHED } }, 'service db: probed'],
    ['a passing service check', { ...SERVICES, checks: ['service:db'] }, 'service db: reported'],
    ['a failed service probe', { ...SERVICES, reach: { 'service:db': REFUSED } }, 'service db: none'],
    [
      'a passing service check and a failed probe',
      { ...SERVICES, checks: ['service:db'], reach: { 'service:db': REFUSED } },
      'service db: none',
    ],
    [
      'a successful service probe before a failed probe',
      { ...SERVICES, reach: { 'service:db': REACHED }, reachNow: { 'service:db': REFUSED } },
      'service db: probed',
    ],
    [
      'a passing check of a service that cannot be probed',
      { ...SERVICES, checks: ['service:db'], reach: { 'service:db': { state: 'unknown', reason: 'x' } } },
      'service db: reported',
    ],

    [
      'a successful memory probe',
      { ...MEMORY, reach: { 'memory:shortTerm': REACHED } },
      'memory shortTerm: probed',
    ],
    ['a passing memory check', { ...MEMORY, checks: ['memory:shortTerm'] }, 'memory shortTerm: reported'],
    [
      'a reported memory write',
      { ...MEMORY, entries: [{ events: [{ type: 'memory', backend: 'redis', ttlSeconds: 1 }] }] },
      'memory shortTerm: reported',
    ],
    [
      'a reported write to another backend',
      { ...MEMORY, entries: [{ events: [{ type: 'memory', backend: 'postgres' }] }] },
      'memory shortTerm: none',
    ],

    ['a passing MCP check', { ...MCP, checks: ['mcp:files'] }, 'mcp files: reported'],
    ['a successful MCP probe', { ...MCP, reach: { 'mcp:files': REACHED } }, 'mcp files: probed'],

    ['tokens in responses', { ...BUDGETS, entries: [usage('x')] }, 'budget maxTokensPerDay: observed'],
    ['tokens in responses', { ...BUDGETS, entries: [usage('x')] }, 'budget maxMonthlyUSD: observed'],
    [
      'zero tokens in responses',
      { ...BUDGETS, entries: [usage('gpt-4o', 0)] },
      'budget maxTokensPerDay: none',
    ],
    ['tokens in events', { ...BUDGETS, entries: [modelEvent('x')] }, 'budget maxTokensPerDay: reported'],
    ['tokens without prices', { ...UNPRICED, entries: [usage('x')] }, 'budget maxMonthlyUSD: none'],
    ['a proof of MODEL-03', { ...UNPRICED, proofs: [proof('MODEL-03')] }, 'budget maxMonthlyUSD: proved'],

    ['no proof of the evaluation', DATASETS, 'evaluation datasets: none'],
    ['a proof of EVAL-01', { ...DATASETS, proofs: [proof('EVAL-01')] }, 'evaluation datasets: proved'],
    [
      'an expired proof of EVAL-01',
      { ...DATASETS, proofs: [proof('EVAL-01', { expiresAt: NOON.toISOString() })] },
      'evaluation datasets: none',
    ],
  ])('%s', (_title, past, result) => {
    expect(reportOf(past).items.map(({ kind, name, tier }) => `${kind} ${name}: ${tier}`)).toContain(result);
  });

  test('every kind of item has cases above', () => {
    expect(EVIDENCE_ROWS.map(({ kind }) => kind)).toEqual(
      'model tool guardrail service memory mcp budget evaluation'.split(' '),
    );
  });

  test('a dated model id matches only the same date', () => {
    const spec = { model: { ...model, id: 'gpt-4o-2024-05-13' } };
    expect(itemOf({ spec, entries: [usage('gpt-4o-2024-05-13')] }, 'model')?.tier).toBe('observed');
    expect(itemOf({ spec, entries: [usage('gpt-4o-2024-08-06')] }, 'model')?.tier).toBe('none');
    expect(itemOf({ spec, entries: [usage('gpt-4o')] }, 'model')?.tier).toBe('none');
  });

  test('the alias latest matches any date', () => {
    const spec = { model: { ...model, id: 'claude-3-5-sonnet-latest' } };
    expect(itemOf({ spec, entries: [usage('claude-3-5-sonnet-20241022')] }, 'model')?.tier).toBe('observed');
  });
});

describe('age of evidence', () => {
  const seen: Past = { ...SERVICES, entries: [usage('gpt-4o')], reach: { 'service:db': REACHED } };

  test.each([
    [EVIDENCE_MS - 1, 2],
    [EVIDENCE_MS, 0],
  ])('evidence seen %d ms ago gives %d shown items', (agoMs, shown) => {
    expect(reportOf({ ...seen, agoMs }).shown).toBe(shown);
  });

  test('an unexpired proof counts at any age, and has the date of its record', () => {
    expect(itemOf({ ...DATASETS, proofs: [proof('EVAL-01')] }, 'evaluation')).toEqual({
      kind: 'evaluation',
      name: 'datasets',
      tier: 'proved',
      shownBy: 'proof of EVAL-01',
      lastSeen: '2026-01-01T00:00:00.000Z',
    });
  });
});

describe('contradiction of a report of the agent', () => {
  test('is a failed probe', () => {
    const past = { ...SERVICES, checks: ['service:db'], reach: { 'service:db': REFUSED } };
    expect(itemOf(past, 'service')).toEqual({
      kind: 'service',
      name: 'db',
      tier: 'none',
      contradictedBy: 'sidecar probe: connection refused',
    });
  });

  test('is usage of another model in responses', () => {
    const past = { checks: ['model:openai/gpt-4o'], entries: [usage('gpt-3.5-turbo-0125')] };
    expect(itemOf(past, 'model')).toEqual({
      kind: 'model',
      name: 'gpt-4o',
      tier: 'none',
      contradictedBy: 'usage of gpt-3.5-turbo-0125 in responses',
    });
  });

  test('is a call of another model on an egress lane', () => {
    const past = { checks: ['model:openai/gpt-4o'], lane: { models: ['gpt-5'] } };
    expect(itemOf(past, 'model')?.contradictedBy).toBe('call of gpt-5 on an egress lane');
    const spec = { model: { ...model, fallback: { provider: 'openai', id: 'gpt-5', apiKey: 'x' } } };
    expect(itemOf({ ...past, spec }, 'model')?.tier).toBe('reported');
  });

  test('is not usage of the fallback, or of other models in addition to the declared model', () => {
    const spec = { model: { ...model, fallback: { provider: 'openai', id: 'gpt-4', apiKey: 'x' } } };
    const checks = ['model:openai/gpt-4o'];
    expect(itemOf({ spec, checks, entries: [usage('gpt-4')] }, 'model')?.tier).toBe('reported');
    expect(itemOf({ checks, entries: [usage('embed'), usage('gpt-4o')] }, 'model')?.tier).toBe('observed');
  });
});

describe('sums', () => {
  const past: Past = {
    spec: { ...TOOLS.spec, ...GUARDRAILS.spec, ...SERVICES.spec, ...DATASETS.spec },
    entries: [usage('gpt-4o'), { guardrailsInvoked: ['pii-detector'], toolsCalled: ['search'] }],
    reach: { 'service:db': REACHED },
    proofs: [proof('EVAL-01')],
  };

  test('an item with tier reported counts half, and is counted in reported', () => {
    const { items, ...sums } = reportOf(past);
    expect(sums).toEqual({ shown: 4, declared: 7, reported: 2 });
    expect(items.map(({ name, tier }) => `${tier} ${name}`)).toEqual([
      'probed db',
      'observed gpt-4o',
      'proved datasets',
      'reported search',
      'reported input.pii-detector',
      'none input.prompt-injection',
      'none output.toxicity-filter',
    ]);
  });

  test('local proofs count in shown, and shownWithoutLocalProofs excludes them', () => {
    const local = { ...past, proofs: [proof('EVAL-01', { origin: 'local' })] };
    expect(reportOf(local)).toMatchObject({ shown: 4, shownWithoutLocalProofs: 3 });
    expect(itemOf(local, 'evaluation')?.shownBy).toBe('local proof of EVAL-01');
  });

  test('an item declared twice counts once', () => {
    const type = 'custom';
    const guardrails = { input: [{ type }, { type }], output: [{ type }] } as const;
    expect(reportOf({ spec: { guardrails: structuredClone(guardrails) as never } }).declared).toBe(3);
  });

  test.each([
    [0, 9, 0],
    [4.5, 9, 50],
    [4, 9, 44],
    [9, 9, 100],
    [10, 9, 100],
    [1, 0, 0],
  ])('%d of %d is %d percent', (shown, declared, percent) => {
    expect(evidencePercent({ shown, declared })).toBe(percent);
  });
});

test('evidence of a reporter without a sidecar has tier reported only', () => {
  const seen = new Map(
    [...reportedModelCall('gpt-4o', 3), ...sightingsInChecks([])].map((key) => [key, NOON.getTime()]),
  );
  const manifest = aManifest(BUDGETS.spec);
  const { shown, reported } = evidenceOf({ manifest, at: NOON, seen, reach: new Map(), proofs: [] });
  expect([shown, reported]).toEqual([1.5, 3]);
});

test('guardrailsSeen returns the guardrails of the last 24 hours', () => {
  const seen = new Map<string, number>();
  const record = (type: string, ms: number): void => {
    for (const key of sightingsIn(anEntry({ guardrailsInvoked: [type] }))) seen.set(key, ms);
  };
  record('pii-detector', NOON.getTime() - 1);
  record('custom', NOON.getTime() - EVIDENCE_MS);
  expect([...guardrailsSeen(seen, NOON)]).toEqual(['pii-detector']);
});

test('names are compared after truncation to the report limit', () => {
  const name = 'x'.repeat(600);
  const cut = 'x'.repeat(500);
  expect(itemOf({ spec: { tools: [{ name }] }, entries: [{ toolsCalled: [cut] }] }, 'tool')?.tier).toBe(
    'reported',
  );
});
