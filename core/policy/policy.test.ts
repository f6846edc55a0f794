import { describe, expect, test } from '@jest/globals';
import { manifestText } from '../../testing/manifests/manifest-text.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { parseManifest } from '../manifest/parse-manifest.ts';
import type { PolicyInput } from './policy-input.ts';
import type { DenialReason } from './policy-rule.ts';
import { canariesOf, evaluate, policyConfigOf, policyDataOf, policyOf, rulesOf } from './policy.ts';
import { POLICY_RULES } from './rules.ts';

function manifest(spec = '', costControls = ''): Manifest {
  const text = manifestText(`${costControls === '' ? '' : `    costControls: ${costControls}\n`}${spec}`);
  const parsed = parseManifest(text);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.manifest;
}

const PII = manifest('  guardrails: { input: [{ type: custom }, { type: pii-detector }] }\n');
const TOXICITY = manifest('  guardrails: { output: [{ type: toxicity-filter, threshold: 0.7 }] }\n');
const COST = manifest('', '{ maxMonthlyUSD: 100 }');
const TOKENS = manifest('', '{ maxTokensPerDay: 1000 }');
const TTL = manifest('  memory: { shortTerm: { ttlSeconds: 3600 } }\n');
const TOOLS = manifest(`  tools:
    - { name: look, annotations: { readOnlyHint: true } }
    - { name: drop, annotations: { destructiveHint: true } }
    - { name: keep, annotations: { destructiveHint: false } }
    - { name: wipe, annotations: { destructiveHint: true } }
    - { name: plain }
`);

/** The daily budget of COST, as a JSON number. */
const DAILY = 100 / 30;
const BELOW_DAILY = DAILY - 2 ** -51;

const call = (facts: Partial<PolicyInput> = {}): PolicyInput => ({
  agent_name: 'minimal',
  request_type: 'llm_call',
  ...facts,
});
const REPORT: PolicyInput = { agent_name: 'minimal', request_type: 'report' };

interface Row {
  when: string;
  input: PolicyInput;
  denied: boolean;
}

const ROWS: Record<DenialReason, { manifest: Manifest; rows: Row[] }> = {
  pii_detector_not_invoked: {
    manifest: PII,
    rows: [
      { when: 'guardrails unknown', input: call(), denied: true },
      { when: 'no guardrail ran', input: call({ guardrails_invoked: [] }), denied: true },
      {
        when: 'only other guardrails ran',
        input: call({ guardrails_invoked: ['custom', 'PII-detector'] }),
        denied: true,
      },
      { when: 'pii-detector ran', input: call({ guardrails_invoked: ['pii-detector'] }), denied: false },
      {
        when: 'pii-detector and others ran',
        input: call({ guardrails_invoked: ['x', 'pii-detector'] }),
        denied: false,
      },
      { when: 'report without a call', input: REPORT, denied: false },
    ],
  },
  toxicity_threshold_exceeded: {
    manifest: TOXICITY,
    rows: [
      { when: 'above', input: call({ toxicity_score: 0.71 }), denied: true },
      { when: 'equal', input: call({ toxicity_score: 0.7 }), denied: true },
      { when: 'just below', input: call({ toxicity_score: 0.7 - 2 ** -53 }), denied: false },
      { when: 'zero', input: call({ toxicity_score: 0 }), denied: false },
      { when: 'unknown', input: call(), denied: false },
    ],
  },
  monthly_cost_limit_exceeded: {
    manifest: COST,
    rows: [
      { when: 'above', input: call({ cost_today_usd: 4 }), denied: true },
      { when: 'equal', input: call({ cost_today_usd: DAILY }), denied: true },
      { when: 'just below', input: call({ cost_today_usd: BELOW_DAILY }), denied: false },
      { when: 'unknown', input: call(), denied: false },
      { when: 'equal, in a report', input: { ...REPORT, cost_today_usd: DAILY }, denied: true },
    ],
  },
  daily_token_limit_exceeded: {
    manifest: TOKENS,
    rows: [
      { when: 'above', input: call({ tokens_today: 1001 }), denied: true },
      { when: 'equal', input: call({ tokens_today: 1000 }), denied: true },
      { when: 'below', input: call({ tokens_today: 999 }), denied: false },
      { when: 'unknown', input: call(), denied: false },
      { when: 'equal, in a report', input: { ...REPORT, tokens_today: 1000 }, denied: true },
    ],
  },
  memory_ttl_mismatch: {
    manifest: TTL,
    rows: [
      { when: 'shorter', input: call({ memory_write: { ttl_seconds: 3599 } }), denied: true },
      { when: 'longer', input: call({ memory_write: { ttl_seconds: 3600.5 } }), denied: true },
      { when: 'zero', input: call({ memory_write: { ttl_seconds: 0 } }), denied: true },
      { when: 'equal', input: call({ memory_write: { ttl_seconds: 3600 } }), denied: false },
      { when: 'unknown', input: call(), denied: false },
    ],
  },
  destructive_tool_without_confirmation: {
    manifest: TOOLS,
    rows: [
      { when: 'called, confirmation unknown', input: call({ tools_called: ['look', 'wipe'] }), denied: true },
      {
        when: 'called, confirmation denied',
        input: call({ tools_called: ['drop'], user_confirmed: false }),
        denied: true,
      },
      {
        when: 'called, confirmed',
        input: call({ tools_called: ['drop', 'wipe'], user_confirmed: true }),
        denied: false,
      },
      {
        when: 'only other tools called',
        input: call({ tools_called: ['look', 'keep', 'plain', 'Drop'] }),
        denied: false,
      },
      { when: 'no tools called', input: call({ tools_called: [], user_confirmed: false }), denied: false },
      { when: 'tools unknown', input: call(), denied: false },
    ],
  },
};

describe.each(POLICY_RULES)('$reason', ({ reason }) => {
  const { manifest: declaring, rows } = ROWS[reason];
  const policy = policyOf(declaring);

  test.each(rows)('$when: denied $denied', ({ input, denied }) => {
    expect(evaluate(policy, input)).toEqual(denied ? [reason] : []);
  });

  test('does not apply when the manifest does not declare it', () => {
    const denied = rows.filter((row) => row.denied).map(({ input }) => input);
    expect(denied.map((input) => evaluate(policyOf(manifest()), input))).toEqual(denied.map(() => []));
  });

  test('has canaries, and denies each of them', () => {
    const canaries = canariesOf(policy);
    expect(canaries.length).toBeGreaterThan(0);
    for (const canary of canaries) {
      expect(canary.reason).toBe(reason);
      expect(evaluate(policy, canary.input)).toContain(reason);
    }
  });
});

describe('policy', () => {
  const everything = manifest(
    `  guardrails:
    input: [{ type: pii-detector }]
    output: [{ type: toxicity-filter }, { type: toxicity-filter, threshold: 0.8 }, { type: toxicity-filter, threshold: 0.5 }]
  memory: { shortTerm: { ttlSeconds: 0 } }
  tools: [{ name: drop, annotations: { destructiveHint: true } }, { name: "\\uD800", annotations: { destructiveHint: true } }]
`,
    '{ maxMonthlyUSD: 0, maxTokensPerDay: 1 }',
  );

  test('returns all reasons, sorted, when every rule denies', () => {
    const input = call({
      toxicity_score: 0.5,
      cost_today_usd: 0,
      tokens_today: 1,
      memory_write: { ttl_seconds: 1 },
      tools_called: ['drop'],
    });
    const reasons = evaluate(policyOf(everything), input);
    expect(reasons).toHaveLength(POLICY_RULES.length);
    expect(reasons).toEqual(reasons.toSorted());
  });

  test('has its data under the path of its package, with the daily budget computed', () => {
    expect(policyDataOf(everything)).toEqual({
      platform: {
        agent: {
          minimal: {
            config: {
              toxicityThreshold: 0.5,
              maxMonthlyUSD: 0,
              maxDailyUSD: 0,
              maxTokensPerDay: 1,
              ttlSeconds: 0,
              destructiveTools: ['drop', '\ufffd'],
            },
            egress: expect.objectContaining({ tools: ['drop', '\ufffd'], models: ['gpt-4.1'] }),
          },
        },
      },
    });
    expect(policyConfigOf(rulesOf(COST))).toEqual({ maxMonthlyUSD: 100, maxDailyUSD: 100 / 30 });
  });

  test.each([
    ['an empty manifest', manifest()],
    [
      'a toxicity filter without a threshold',
      manifest('  guardrails: { output: [{ type: toxicity-filter }] }\n'),
    ],
    ['a PII detector on the output', manifest('  guardrails: { output: [{ type: pii-detector }] }\n')],
    [
      'a toxicity filter on the input',
      manifest('  guardrails: { input: [{ type: toxicity-filter, threshold: 1 }] }\n'),
    ],
    [
      'tools without destructiveHint true',
      manifest('  tools: [{ name: a, annotations: { destructiveHint: false } }]\n'),
    ],
    ['an alert limit only', manifest('', '{ alertAtUSD: 5 }')],
    ['memory without a TTL', manifest('  memory: { shortTerm: { backend: redis } }\n')],
  ])('has no rule and no canary for %s', (_title, declaring) => {
    expect(rulesOf(declaring)).toEqual([]);
    expect(canariesOf(policyOf(declaring))).toEqual([]);
    const minimal = { config: {}, egress: expect.any(Object) };
    expect(policyDataOf(declaring)).toEqual({ platform: { agent: { minimal } } });
  });

  test.each([
    ['backend: redis, shortTerm: { ttlSeconds: 5 }, longTerm: { backend: redis }', []],
    ['backend: redis, shortTerm: { backend: disk, ttlSeconds: 5 }, longTerm: { backend: redis }', ['redis']],
    [
      'shortTerm: { ttlSeconds: 5 }, longTerm: { backend: pg }, vector: { backend: qdrant }',
      ['pg', 'qdrant'],
    ],
  ])('lists the backends of other memories: %s', (memory, otherBackends) => {
    expect(policyOf(manifest(`  memory: { ${memory} }\n`)).memory).toEqual({ ttlSeconds: 5, otherBackends });
  });

  test('canaries detect an engine with the data of an older manifest', () => {
    const older = policyOf(manifest('  tools: [{ name: wipe, annotations: { destructiveHint: true } }]\n'));
    const missed = canariesOf(policyOf(TOOLS)).filter(
      ({ reason, input }) => !evaluate(older, input).includes(reason),
    );
    expect(missed.map(({ input }) => input.tools_called)).toEqual([['drop']]);
  });
});
