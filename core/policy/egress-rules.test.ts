import { describe, expect, test } from '@jest/globals';
import { aManifest } from '../../testing/fleet/facts.ts';
import type { Manifest, ManifestSpec } from '../manifest/manifest.ts';
import { egressInputOf, type EgressQuery } from './egress-input.ts';
import { EGRESS_RULES } from './egress-rules.ts';
import type { EgressReason } from './policy-rule.ts';
import { canariesOf, egressRulesOf, evaluate, policyOf } from './policy.ts';

const model = { provider: 'openai', id: 'gpt-4o', apiKey: 'k' };
const BUDGETS: ManifestSpec['model'] = {
  ...model,
  costControls: { maxTokensPerDay: 1000, maxMonthlyUSD: 300 },
};
const request = (query: Omit<EgressQuery, 'request_type'>): EgressQuery => ({
  request_type: 'egress_model_request',
  ...query,
});
const called = (query: Omit<EgressQuery, 'request_type'>): EgressQuery => ({
  request_type: 'egress_tool_call',
  ...query,
});
const connect = (host: string): EgressQuery => ({ request_type: 'egress_connect', host });

type Row = [when: string, query: EgressQuery, isDenied: boolean];
const TOTALS = { tokensToday: 900, costTodayUsd: 9 };

const ROWS: Record<EgressReason, { spec: Partial<ManifestSpec>; rows: Row[] }> = {
  daily_token_limit_exceeded: {
    spec: { model: BUDGETS },
    rows: [
      ['reserved tokens exceed the rest', request({ reserved_tokens: 101 }), true],
      ['a part of a token exceeds the rest', request({ reserved_tokens: 100.5 }), true],
      ['reserved tokens are the rest', request({ reserved_tokens: 100 }), false],
      ['nothing is reserved', request({}), false],
      ['a tool is called', called({ reserved_tokens: 5000 }), false],
    ],
  },
  destructive_tool_without_confirmation: {
    spec: { tools: [{ name: 'drop', annotations: { destructiveHint: true } }, { name: 'look' }] },
    rows: [
      ['called by a model', called({ tools: ['look', 'drop'] }), true],
      ['called on an MCP server', { request_type: 'egress_mcp_call', tools: ['drop'] }, true],
      ['called, confirmation denied', called({ tools: ['drop'], user_confirmed: false }), true],
      ['called, confirmed', called({ tools: ['drop'], user_confirmed: true }), false],
      ['only offered', request({ tools: ['drop'] }), false],
      ['another tool is called', called({ tools: ['look'] }), false],
    ],
  },
  host_not_declared: {
    spec: {
      egress: { hosts: ['api.example.com', '*.cdn.example.com', '[2001:db8::1]'] },
      requires: { services: [{ name: 'db', address: 'postgres://db.internal:5432/x' }] },
    },
    rows: [
      ['an undeclared host', connect('evil.example.com'), true],
      ['a domain whose subdomains are declared', connect('cdn.example.com'), true],
      ['a host that ends like a declared one', connect('notapi.example.com'), true],
      ['a declared host', connect('API.example.com.'), false],
      ['a declared address', connect('2001:DB8::1'), false],
      ['a subdomain', connect('a.b.cdn.example.com'), false],
      ['the host of a service', connect('db.internal'), false],
      ['the host of the vendor', connect('api.openai.com'), false],
      ['no host', called({ tools: [] }), false],
    ],
  },
  model_not_declared: {
    spec: {
      model: { ...model, fallback: { provider: 'anthropic', id: 'claude-sonnet-4-5-20250929', apiKey: 'k' } },
      egress: { models: ['text-embedding-3-small'] },
    },
    rows: [
      ['another model', request({ model: 'gpt-5' }), true],
      ['a smaller variant', request({ model: 'gpt-4o-mini' }), true],
      ['another date of a dated fallback', request({ model: 'claude-sonnet-4-5-20251201' }), true],
      ['an empty id', request({ model: '' }), true],
      ['the declared model', request({ model: 'gpt-4o' }), false],
      ['a dated version', request({ model: 'gpt-4o-2024-08-06' }), false],
      ['the path of a gateway', request({ model: 'openai/GPT-4o' }), false],
      ['the fallback', request({ model: 'claude-sonnet-4-5-20250929' }), false],
      ['a further model', request({ model: 'text-embedding-3-small' }), false],
      ['no model', request({}), false],
    ],
  },
  monthly_cost_limit_exceeded: {
    spec: { model: BUDGETS },
    rows: [
      ['the reserved cost reaches the limit', request({ reserved_usd: 1 }), true],
      ['the reserved cost is below the rest', request({ reserved_usd: 0.99 }), false],
      ['a tool is called', called({ reserved_usd: 5 }), false],
    ],
  },
  tool_arguments_invalid: {
    spec: { tools: [{ name: 'pay', constraints: { required: ['amount'] } }, { name: 'look' }] },
    rows: [
      ['invalid', called({ tools: ['pay'], invalid_arguments: ['pay'] }), true],
      ['valid', called({ tools: ['pay'], invalid_arguments: [] }), false],
      ['not validated', called({ tools: ['pay'] }), false],
      ['of a tool without constraints', called({ tools: ['look'], invalid_arguments: ['look'] }), false],
    ],
  },
  tool_not_declared: {
    spec: { tools: [{ name: 'look' }], egress: { tools: ['web_search', 'files_*'] } },
    rows: [
      ['offered', request({ tools: ['look', 'drop'] }), true],
      ['called', called({ tools: ['drop'] }), true],
      ['called on an MCP server', { request_type: 'egress_mcp_call', tools: ['drop'] }, true],
      ['in another case', request({ tools: ['Look'] }), true],
      ['an empty name', request({ tools: [''] }), true],
      ['only the start of a pattern', request({ tools: ['files'] }), true],
      ['declared', request({ tools: ['look', 'web_search', 'files_read'] }), false],
      ['of a declared MCP server', request({ tools: ['read'], mcp_tools: ['read'] }), false],
      ['none', request({ tools: [] }), false],
      ['not known', request({}), false],
    ],
  },
};

const inputOf = (manifest: Manifest, query: EgressQuery) =>
  egressInputOf(manifest.metadata.name, query, TOTALS);

describe.each(EGRESS_RULES)('$reason', ({ reason }) => {
  const { spec, rows } = ROWS[reason];
  const manifest = aManifest(spec);
  const policy = policyOf(manifest);

  test.each(rows)('%s', (_when, query, isDenied) => {
    expect(evaluate(policy, inputOf(manifest, query)).includes(reason)).toBe(isDenied);
  });

  test('denies its canaries, which are asked only with lanes', () => {
    const own = canariesOf(policy, true).filter((canary) => canary.reason === reason);
    const isAsked = (type: string) => type.startsWith('egress_');
    expect(own.filter(({ input }) => isAsked(input.request_type)).length).toBeGreaterThan(0);
    for (const { input } of own) expect(evaluate(policy, input)).toContain(reason);
    expect(canariesOf(policy).filter(({ input }) => isAsked(input.request_type))).toEqual([]);
  });
});

test('only the rules about names apply to every manifest', () => {
  expect(egressRulesOf(aManifest()).map(({ rule }) => rule.reason)).toEqual([
    'host_not_declared',
    'model_not_declared',
    'tool_not_declared',
  ]);
});

test('the rules are sorted by reason', () => {
  const reasons = EGRESS_RULES.map(({ reason }) => reason);
  expect(reasons).toEqual(reasons.toSorted());
});

test('an egress request is not decided by the rules for requests, and the other way round', () => {
  const manifest = aManifest({
    guardrails: { input: [{ type: 'pii-detector' }] },
    memory: { shortTerm: { ttlSeconds: 5 } },
  });
  const policy = policyOf(manifest);
  expect(evaluate(policy, inputOf(manifest, request({ tools: ['x'] })))).toEqual(['tool_not_declared']);
  expect(evaluate(policy, { agent_name: 'shop', request_type: 'llm_call', tools: ['x'] })).toEqual([
    'pii_detector_not_invoked',
  ]);
});

describe('the input document', () => {
  test('has normalised names, and the totals only in a model request', () => {
    const query = { model: 'OpenAI/GPT-4o-2024-08-06', tools: ['a\ud800'], host: '[::1]' };
    expect(egressInputOf('shop', request(query), TOTALS)).toEqual({
      agent_name: 'shop',
      request_type: 'egress_model_request',
      model: 'OpenAI/GPT-4o-2024-08-06',
      model_names: ['gpt-4o-2024-08-06', 'gpt-4o'],
      tools: ['a\ufffd'],
      host: '::1',
      tokens_today: 900,
      cost_today_usd: 9,
      reserved_tokens: 1,
    });
    expect(egressInputOf('shop', called({ tools: ['a'] }), TOTALS)).toEqual({
      agent_name: 'shop',
      request_type: 'egress_tool_call',
      tools: ['a'],
    });
  });

  test('has numbers whose sum is exact', () => {
    const input = egressInputOf('shop', request({ reserved_tokens: Infinity, reserved_usd: Infinity }), {
      tokensToday: 1e300,
      costTodayUsd: 1,
    });
    expect(Number.isSafeInteger((input.tokens_today ?? 0) + (input.reserved_tokens ?? 0) - 1)).toBe(true);
    expect(input.cost_today_usd).toBe(Number.MAX_VALUE);
  });
});
