import { describe, expect, test } from '@jest/globals';
import { anEntry } from '../../testing/audit-entry.ts';
import { aManifest, NOON } from '../../testing/facts.ts';
import type { AuditEntry } from '../behavior/audit-entry.ts';
import type { Reach } from '../facts/facts.ts';
import type { ManifestSpec } from '../manifest/manifest.ts';
import type { ProofRecord } from '../proof/proof.ts';
import { evidencePercent, type EvidenceItem, type EvidenceReport } from './evidence.ts';
import { evidenceOf } from './evidence-of.ts';
import { EVIDENCE_ROWS } from './rows.ts';
import {
  EVIDENCE_MS,
  guardrailsSeen,
  reportedModelCall,
  sightingsIn,
  sightingsInChecks,
  sightingsInFacts,
} from './sightings.ts';

const REACHED: Reach = { state: 'reachable', latencyMs: 1 };
const REFUSED: Reach = { state: 'unreachable', reason: 'connection refused' };

/** What happened before NOON. */
interface Past {
  spec?: Partial<ManifestSpec>;
  /** Entries of the ring. */
  entries?: Partial<AuditEntry>[];
  /** Ids of checks that the agent reports as passed. */
  checks?: string[];
  /** What the sidecar probed. */
  reach?: Record<string, Reach>;
  proofs?: ProofRecord[];
  /** How long ago all of it was, in milliseconds. */
  agoMs?: number;
  /** What the sidecar probes at NOON; default: the same. */
  reachNow?: Record<string, Reach>;
}

function reportOf({ spec, entries = [], checks = [], reach = {}, ...rest }: Past): EvidenceReport {
  const { proofs = [], agoMs = 0, reachNow = reach } = rest;
  const seen = new Map<string, number>();
  const agentReport = {
    checks: checks.map((id) => ({ id, status: 'pass', category: 'env', severity: 'info' }) as const),
  };
  const keys = [
    ...entries.flatMap((entry) => [...sightingsIn(anEntry(entry))]),
    ...sightingsInFacts({ reach: new Map(Object.entries(reach)), agentReport }),
  ];
  for (const key of keys) seen.set(key, NOON.getTime() - agoMs);
  const input = { manifest: aManifest(spec), at: NOON, seen, proofs };
  return evidenceOf({ ...input, reach: new Map(Object.entries(reachNow)) });
}

const itemOf = (past: Past, wanted: EvidenceItem['kind']): EvidenceItem | undefined =>
  reportOf(past).items.find(({ kind }) => kind === wanted);

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

type Row = [what: string, past: Past, item: string, tier: EvidenceItem['tier']];

describe('what shows an item, kind by kind', () => {
  test.each<Row>([
    ['usage of the declared model', { entries: [usage('gpt-4o')] }, 'model gpt-4o', 'observed'],
    ['usage with a date', { entries: [usage('gpt-4o-2024-08-06')] }, 'model gpt-4o', 'observed'],
    ['usage with the path of a gateway', { entries: [usage('openai/GPT-4o')] }, 'model gpt-4o', 'observed'],
    ['usage of another model', { entries: [usage('gpt-4o-mini')] }, 'model gpt-4o', 'none'],
    ['usage without a model', { entries: [usage('unknown')] }, 'model gpt-4o', 'none'],
    ['an unreadable usage', { entries: [{ usage: { unavailable: 'x' } }] }, 'model gpt-4o', 'none'],
    ['a model event', { entries: [modelEvent('gpt-4o')] }, 'model gpt-4o', 'reported'],
    ['a model event of another model', { entries: [modelEvent('gpt-4')] }, 'model gpt-4o', 'none'],
    ['the check of the model', { checks: ['model:openai/gpt-4o'] }, 'model gpt-4o', 'reported'],

    ['nothing', TOOLS, 'tool search', 'none'],
    ['a call in a header', { ...TOOLS, entries: [{ toolsCalled: ['search'] }] }, 'tool search', 'reported'],
    ['the check of the tool', { ...TOOLS, checks: ['tool:search'] }, 'tool search', 'reported'],
    ['a call of another tool', { ...TOOLS, entries: [{ toolsCalled: ['x'] }] }, 'tool search', 'none'],
    ['a proof of annotations', { ...TOOLS, proofs: [proof('SEC-LLM-07')] }, 'tool search', 'proved'],

    ['nothing', GUARDRAILS, 'guardrail input.pii-detector', 'none'],
    [
      'an invocation',
      { ...GUARDRAILS, entries: [{ guardrailsInvoked: ['pii-detector'] }] },
      'guardrail input.pii-detector',
      'reported',
    ],
    [
      'a report that nothing ran',
      { ...GUARDRAILS, entries: [{ guardrailsInvoked: [] }] },
      'guardrail input.pii-detector',
      'none',
    ],
    [
      'a proof of SEC-LLM-01',
      { ...GUARDRAILS, proofs: [proof('SEC-LLM-01')] },
      'guardrail input.prompt-injection',
      'proved',
    ],
    [
      'a proof of another guardrail',
      { ...GUARDRAILS, proofs: [proof('SEC-LLM-01')] },
      'guardrail input.pii-detector',
      'none',
    ],
    [
      'a proof of SEC-LLM-02',
      { ...GUARDRAILS, proofs: [proof('SEC-LLM-02')] },
      'guardrail output.toxicity-filter',
      'proved',
    ],

    ['the probe', { ...SERVICES, reach: { 'service:db': REACHED } }, 'service db', 'probed'],
    ['the check of the agent', { ...SERVICES, checks: ['service:db'] }, 'service db', 'reported'],
    ['a probe that fails', { ...SERVICES, reach: { 'service:db': REFUSED } }, 'service db', 'none'],
    [
      'a check that a probe contradicts',
      { ...SERVICES, checks: ['service:db'], reach: { 'service:db': REFUSED } },
      'service db',
      'none',
    ],
    [
      'a probe that reached the service before it failed',
      { ...SERVICES, reach: { 'service:db': REACHED }, reachNow: { 'service:db': REFUSED } },
      'service db',
      'probed',
    ],
    [
      'a check of what cannot be probed',
      { ...SERVICES, checks: ['service:db'], reach: { 'service:db': { state: 'unknown', reason: 'x' } } },
      'service db',
      'reported',
    ],

    ['the probe', { ...MEMORY, reach: { 'memory:shortTerm': REACHED } }, 'memory shortTerm', 'probed'],
    ['the check of the agent', { ...MEMORY, checks: ['memory:shortTerm'] }, 'memory shortTerm', 'reported'],
    [
      'a write that is reported',
      { ...MEMORY, entries: [{ events: [{ type: 'memory', backend: 'redis', ttlSeconds: 1 }] }] },
      'memory shortTerm',
      'reported',
    ],
    [
      'a write to another backend',
      { ...MEMORY, entries: [{ events: [{ type: 'memory', backend: 'postgres' }] }] },
      'memory shortTerm',
      'none',
    ],

    ['the check of the agent', { ...MCP, checks: ['mcp:files'] }, 'mcp files', 'reported'],
    ['the probe', { ...MCP, reach: { 'mcp:files': REACHED } }, 'mcp files', 'probed'],

    ['tokens in responses', { ...BUDGETS, entries: [usage('x')] }, 'budget maxTokensPerDay', 'observed'],
    ['tokens in responses', { ...BUDGETS, entries: [usage('x')] }, 'budget maxMonthlyUSD', 'observed'],
    ['no tokens', { ...BUDGETS, entries: [usage('gpt-4o', 0)] }, 'budget maxTokensPerDay', 'none'],
    ['tokens in events', { ...BUDGETS, entries: [modelEvent('x')] }, 'budget maxTokensPerDay', 'reported'],
    ['tokens without prices', { ...UNPRICED, entries: [usage('x')] }, 'budget maxMonthlyUSD', 'none'],
    ['a proof of MODEL-03', { ...UNPRICED, proofs: [proof('MODEL-03')] }, 'budget maxMonthlyUSD', 'proved'],

    ['nothing', DATASETS, 'evaluation datasets', 'none'],
    ['a proof of EVAL-01', { ...DATASETS, proofs: [proof('EVAL-01')] }, 'evaluation datasets', 'proved'],
    [
      'a proof that has expired',
      { ...DATASETS, proofs: [proof('EVAL-01', { expiresAt: NOON.toISOString() })] },
      'evaluation datasets',
      'none',
    ],
  ])('%s', (_what, past, wanted, tier) => {
    const item = reportOf(past).items.find(({ kind, name }) => `${kind} ${name}` === wanted);
    expect(item?.tier).toBe(tier);
  });

  test('each kind of item has cases above', () => {
    expect(EVIDENCE_ROWS.map(({ kind }) => kind)).toEqual(
      'model tool guardrail service memory mcp budget evaluation'.split(' '),
    );
  });

  test('a dated model id is shown by the same date alone', () => {
    const spec = { model: { ...model, id: 'gpt-4o-2024-05-13' } };
    expect(itemOf({ spec, entries: [usage('gpt-4o-2024-05-13')] }, 'model')?.tier).toBe('observed');
    expect(itemOf({ spec, entries: [usage('gpt-4o-2024-08-06')] }, 'model')?.tier).toBe('none');
    expect(itemOf({ spec, entries: [usage('gpt-4o')] }, 'model')?.tier).toBe('none');
  });

  test('the alias latest is shown by any date', () => {
    const spec = { model: { ...model, id: 'claude-3-5-sonnet-latest' } };
    expect(itemOf({ spec, entries: [usage('claude-3-5-sonnet-20241022')] }, 'model')?.tier).toBe('observed');
  });
});

describe('the age of evidence', () => {
  const seen: Past = { ...SERVICES, entries: [usage('gpt-4o')], reach: { 'service:db': REACHED } };

  test.each([
    [EVIDENCE_MS - 1, 2],
    [EVIDENCE_MS, 0],
  ])('what was seen %d ms ago', (agoMs, shown) => {
    expect(reportOf({ ...seen, agoMs }).shown).toBe(shown);
  });

  test('an unexpired proof counts whatever its age, and is dated by its record', () => {
    expect(itemOf({ ...DATASETS, proofs: [proof('EVAL-01')] }, 'evaluation')).toEqual({
      kind: 'evaluation',
      name: 'datasets',
      tier: 'proved',
      shownBy: 'proof of EVAL-01',
      lastSeen: '2026-01-01T00:00:00.000Z',
    });
  });
});

describe('what contradicts a report of the agent', () => {
  test('a probe that fails', () => {
    const past = { ...SERVICES, checks: ['service:db'], reach: { 'service:db': REFUSED } };
    expect(itemOf(past, 'service')).toEqual({
      kind: 'service',
      name: 'db',
      tier: 'none',
      contradictedBy: 'probe of the sidecar: connection refused',
    });
  });

  test('usage of another model in responses', () => {
    const past = { checks: ['model:openai/gpt-4o'], entries: [usage('gpt-3.5-turbo-0125')] };
    expect(itemOf(past, 'model')).toEqual({
      kind: 'model',
      name: 'gpt-4o',
      tier: 'none',
      contradictedBy: 'usage of gpt-3.5-turbo-0125 in responses',
    });
  });

  test('not usage of the fallback, nor of other models next to the declared one', () => {
    const spec = { model: { ...model, fallback: { provider: 'openai', id: 'gpt-4', apiKey: 'x' } } };
    const checks = ['model:openai/gpt-4o'];
    expect(itemOf({ spec, checks, entries: [usage('gpt-4')] }, 'model')?.tier).toBe('reported');
    expect(itemOf({ checks, entries: [usage('embed'), usage('gpt-4o')] }, 'model')?.tier).toBe('observed');
  });
});

describe('the sum', () => {
  const past: Past = {
    spec: { ...TOOLS.spec, ...GUARDRAILS.spec, ...SERVICES.spec, ...DATASETS.spec },
    entries: [usage('gpt-4o'), { guardrailsInvoked: ['pii-detector'], toolsCalled: ['search'] }],
    reach: { 'service:db': REACHED },
    proofs: [proof('EVAL-01')],
  };

  test('what the agent alone reports counts half, and stands apart', () => {
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

  test('local proofs are in the sum, and the sum without them is there', () => {
    const local = { ...past, proofs: [proof('EVAL-01', { origin: 'local' })] };
    expect(reportOf(local)).toMatchObject({ shown: 4, shownWithoutLocalProofs: 3 });
    expect(itemOf(local, 'evaluation')?.shownBy).toBe('local proof of EVAL-01');
  });

  test('the same item declared twice counts once', () => {
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

test('a reporter without a sidecar reports, and shows nothing', () => {
  const seen = new Map(
    [...reportedModelCall('gpt-4o', 3), ...sightingsInChecks([])].map((key) => [key, NOON.getTime()]),
  );
  const manifest = aManifest(BUDGETS.spec);
  const { shown, reported } = evidenceOf({ manifest, at: NOON, seen, reach: new Map(), proofs: [] });
  expect([shown, reported]).toEqual([1.5, 3]);
});

test('the guardrails that were seen are those of the last 24 hours', () => {
  const seen = new Map<string, number>();
  const note = (type: string, ms: number): void => {
    for (const key of sightingsIn(anEntry({ guardrailsInvoked: [type] }))) seen.set(key, ms);
  };
  note('pii-detector', NOON.getTime() - 1);
  note('custom', NOON.getTime() - EVIDENCE_MS);
  expect([...guardrailsSeen(seen, NOON)]).toEqual(['pii-detector']);
});

test('names are compared as reports carry them', () => {
  const name = 'x'.repeat(600);
  const cut = 'x'.repeat(500);
  expect(itemOf({ spec: { tools: [{ name }] }, entries: [{ toolsCalled: [cut] }] }, 'tool')?.tier).toBe(
    'reported',
  );
});
