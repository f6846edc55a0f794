import type { BehavioralEvent } from '../../core/shapes/events.ts';
import type { Manifest, Tool } from '../../core/manifest/manifest.ts';
import { parseManifest } from '../../core/manifest/parse-manifest.ts';
import { egressInputOf, type EgressQuery } from '../../core/policy/egress-input.ts';
import { EGRESS_REQUEST_TYPES } from '../../core/policy/policy-input.ts';
import { policyInputOf, type InputFacts, type PolicyInput } from '../../core/policy/policy-input.ts';
import type { DenialReason } from '../../core/policy/policy-rule.ts';
import { egressRulesOf, policyConfigOf, policyOf, rulesOf } from '../../core/policy/policy.ts';
import { POLICY_RULES } from '../../core/policy/rules.ts';
import fc from '../random/properties.ts';

/** Random manifests and requests near the boundaries of the policy rules. */

/** Texts that are harmful if inserted unescaped into a program, a template or a path. */
const HOSTILE = [
  '"',
  '\\',
  "'; DROP",
  '"] } deny contains "x" if true #',
  '\n\ndeny := {"owned"}\n',
  '`',
  '{{ .Values.x }}',
  '${HOME}',
  '{"a": 1}',
  '__proto__',
  'constructor',
  'pii-detector',
  ' drop',
  'drop ',
  'Drop',
  'drop\u0000',
  'caf\u00e9',
  'cafe\u0301',
  '\u2028',
  '\ufffd',
  '\ud800',
  '\udfff',
  '😀',
  '\u202edrop',
];

const hostile = fc.oneof(
  fc.constantFrom(...HOSTILE),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 12 }),
  fc.string({ minLength: 1, maxLength: 12 }),
);

const amount = fc.oneof(
  fc.constantFrom(0, 5e-324, 0.1, 1, 3, 100, 2 ** 53, 1e21, Number.MAX_VALUE),
  fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }),
  fc.double({ min: 0, max: 1000, noNaN: true }),
);
const whole = fc.oneof(
  fc.constantFrom(1, 60, 3600, 86_400, 2 ** 53, 1e21),
  fc.integer({ min: 1, max: 2 ** 31 - 1 }),
);
const ratio = fc.oneof(fc.constantFrom(0, 0.1, 0.5, 0.7, 1), fc.double({ min: 0, max: 1, noNaN: true }));

const tool: fc.Arbitrary<Tool> = fc.record(
  {
    name: fc.oneof(fc.constant('drop'), hostile),
    description: hostile,
    annotations: fc.record(
      { destructiveHint: fc.boolean(), readOnlyHint: fc.boolean() },
      { requiredKeys: [] },
    ),
    constraints: fc.constantFrom({}, { required: ['id'] }),
  },
  { requiredKeys: ['name'] },
);

const guardrail = (...types: string[]) =>
  fc.record(
    { type: fc.constantFrom(...types), threshold: ratio, message: hostile },
    { requiredKeys: ['type'] },
  );

/** Model ids with and without dates and paths, and others that look alike. */
const modelId = fc.oneof(
  fc.constantFrom(
    'gpt-4o',
    'GPT-4o',
    'openai/gpt-4o',
    'gpt-4o-2024-08-06',
    'gpt-4o-latest',
    'gpt-4',
    'x/',
    'unknown',
  ),
  hostile,
);
const host = fc.constantFrom(
  'example.com',
  'a.example.com',
  'A.Example.COM.',
  'evilexample.com',
  '10.0.0.1',
  '[::1]',
  '',
);

const spec = fc.record(
  {
    model: fc.record({
      provider: hostile,
      id: modelId,
      apiKey: fc.constant('$env:KEY'),
      costControls: fc.record({ maxMonthlyUSD: amount, maxTokensPerDay: whole }, { requiredKeys: [] }),
    }),
    tools: fc.uniqueArray(tool, { maxLength: 5, selector: ({ name }) => name }),
    egress: fc.record(
      {
        hosts: fc.array(fc.constantFrom('example.com', '*.example.com', '10.0.0.1', '[::1]'), {
          maxLength: 2,
        }),
        tools: fc.array(fc.constantFrom('drop*', 'look', 'files_*'), { maxLength: 2 }),
        models: fc.array(modelId, { maxLength: 2 }),
      },
      { requiredKeys: [] },
    ),
    guardrails: fc.record(
      {
        input: fc.array(guardrail('pii-detector', 'custom'), { maxLength: 2 }),
        output: fc.array(guardrail('toxicity-filter', 'toxicity-filter', 'pii-detector'), { maxLength: 3 }),
      },
      { requiredKeys: [] },
    ),
    memory: fc.record(
      {
        shortTerm: fc.record(
          { ttlSeconds: fc.oneof(fc.constant(0), whole), backend: fc.constantFrom('redis', 'disk') },
          { requiredKeys: [] },
        ),
        longTerm: fc.record({ backend: fc.constantFrom('redis', 'postgres') }),
      },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: ['model'] },
);

/** A manifest that the parser accepts; rejected ones (for example, with unknown references) are filtered out. */
export function manifests(
  name: fc.Arbitrary<string> = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,12}[a-z0-9])?$/),
): fc.Arbitrary<Manifest> {
  return fc
    .record({ name, description: hostile, spec })
    .map(({ name, description, spec }) =>
      parseManifest(
        JSON.stringify({
          apiVersion: 'platform.io/v1',
          kind: 'PlatformAgent',
          metadata: { name, version: '1.0.0', description },
          spec,
        }),
      ),
    )
    .filter((parsed) => parsed.ok)
    .map(({ manifest }) => manifest);
}

/** The numbers of the policy data. */
const limitsOf = (
  rules: Parameters<typeof policyConfigOf>[0],
): Partial<Record<'toxicityThreshold' | 'ttlSeconds' | 'maxTokensPerDay' | 'maxDailyUSD', number>> =>
  policyConfigOf(rules);

/** Observed facts of one agent: values at, just below and just above the declared limits, and other values. */
export function inputs(manifest: Manifest): fc.Arbitrary<PolicyInput> {
  const policy = policyOf(manifest);
  const { toxicityThreshold, ttlSeconds, maxTokensPerDay, maxDailyUSD } = limitsOf(rulesOf(manifest));
  const declared = (manifest.spec.tools ?? []).map(({ name }) => name);
  const names = fc.oneof(
    ...(declared.length === 0 ? [] : [{ weight: 4, arbitrary: fc.constantFrom(...declared) }]),
    { weight: 1, arbitrary: hostile },
  );
  const events: fc.Arbitrary<BehavioralEvent> = fc.oneof(
    fc.record({
      type: fc.constant('guardrail' as const),
      guardrailType: fc.constantFrom('toxicity-filter', 'toxicity-filter', 'custom'),
      invoked: fc.boolean(),
      score: near(toxicityThreshold, ratio),
    }),
    fc.record(
      {
        type: fc.constant('memory' as const),
        ttlSeconds: near(ttlSeconds, whole),
        backend: fc.constantFrom('redis', 'postgres', 'disk'),
      },
      { requiredKeys: ['type'] },
    ),
  );
  const entry: fc.Arbitrary<NonNullable<InputFacts['entry']>> = fc.record(
    {
      guardrailsInvoked: fc.array(fc.oneof(fc.constant('pii-detector'), hostile), { maxLength: 3 }),
      toolsCalled: fc.array(names, { maxLength: 4 }),
      userConfirmed: fc.boolean(),
      events: fc.array(events, { maxLength: 3 }),
    },
    { requiredKeys: [] },
  );
  const facts: fc.Arbitrary<Pick<InputFacts, 'totals' | 'entry'>> = fc.record(
    {
      totals: fc.record(
        {
          tokensToday: near(maxTokensPerDay, whole),
          costTodayUsd: near(maxDailyUSD, amount),
        },
        { requiredKeys: [] },
      ),
      entry,
    },
    { requiredKeys: [] },
  );
  return facts.map((known) =>
    policyInputOf({ agentName: policy.agentName, memory: policy.memory, ...known }),
  );
}

/** Calls of one agent on its egress lanes, near the boundaries of the rules. */
export function egressInputs(manifest: Manifest): fc.Arbitrary<PolicyInput> {
  const { maxTokensPerDay, maxDailyUSD } = limitsOf(egressRulesOf(manifest));
  const declared = (manifest.spec.tools ?? []).map(({ name }) => name);
  const names = fc.oneof(
    ...(declared.length === 0 ? [] : [{ weight: 4, arbitrary: fc.constantFrom(...declared) }]),
    { weight: 2, arbitrary: fc.constantFrom('drop', 'dropped', 'look', 'files_read', 'files', '') },
    { weight: 1, arbitrary: hostile },
  );
  const query: fc.Arbitrary<EgressQuery> = fc.record(
    {
      request_type: fc.constantFrom(...EGRESS_REQUEST_TYPES),
      model: fc.oneof(fc.constant(manifest.spec.model.id), modelId),
      tools: fc.array(names, { maxLength: 3 }),
      mcp_tools: fc.array(names, { maxLength: 2 }),
      invalid_arguments: fc.array(names, { maxLength: 2 }),
      host,
      reserved_tokens: near(maxTokensPerDay, whole),
      reserved_usd: amount,
      user_confirmed: fc.boolean(),
    },
    { requiredKeys: ['request_type'] },
  );
  const totals = fc.record(
    { tokensToday: near(maxTokensPerDay, whole), costTodayUsd: near(maxDailyUSD, amount) },
    { requiredKeys: [] },
  );
  return fc.tuple(query, totals).map(([call, known]) => egressInputOf(manifest.metadata.name, call, known));
}

/** Often the value itself or an adjacent number. */
function near(value: number | undefined, any: fc.Arbitrary<number>): fc.Arbitrary<number> {
  if (value === undefined) return any;
  const around = [value, value, next(value, 1), next(value, -1), value * 2, value / 2];
  return fc.oneof(fc.constantFrom(...around.filter((each) => each >= 0)), any);
}

/** The next double above or below a positive double. */
function next(value: number, step: 1 | -1): number {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  const moved = bits.getBigInt64(0) + BigInt(step);
  if (moved < 0n) return 0;
  bits.setBigInt64(0, moved);
  return Math.min(bits.getFloat64(0), Number.MAX_VALUE);
}

/** Every possible set of policy rules. */
export const RULE_SETS: readonly (readonly DenialReason[])[] = POLICY_RULES.reduce<DenialReason[][]>(
  (sets, { reason }) => [...sets, ...sets.map((set) => [...set, reason])],
  [[]],
);
