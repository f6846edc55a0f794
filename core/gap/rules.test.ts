import { expect, test } from '@jest/globals';
import { misbehavingEgress, someEgress } from '../../testing/fleet/egress-facts.ts';
import type { CheckStatus } from '../facts/check.ts';
import type { Check } from '../shapes/health.ts';
import { aManifest, someFacts } from '../../testing/fleet/facts.ts';
import type { Facts, HttpResult } from '../facts/facts.ts';
import { check } from '../health/check.ts';
import type { ManifestSpec } from '../manifest/manifest.ts';
import type { GapRule } from './finding.ts';
import { GAP_RULES } from './rules.ts';

type Case = [Partial<ManifestSpec>, Partial<Facts>];

const REFUSED: HttpResult = { answered: false, reason: 'connection refused' };
const SPEC: Partial<ManifestSpec> = {
  tools: [{ name: 'search' }],
  memory: { backend: 'redis' },
  mcp: { servers: [{ name: 'files', transport: 'stdio', command: 'files' }] },
  guardrails: { input: [{ type: 'pii-detector' }] },
  requires: { envVars: ['DB_URL'], services: [{ name: 'db', address: 'db:5432' }] },
};
const reported = (...checks: [id: string, status: CheckStatus][]): Case => [
  SPEC,
  {
    agentReport: {
      checks: checks.map(([id, status]): Check => ({ id, status, category: 'env', severity: 'info' })),
    },
  },
];
/** The agent reports the item as reachable, and the sidecar cannot reach it. */
const contradicted = (id: string): Case => {
  const [spec, facts] = reported([id, 'pass']);
  return [spec, { ...facts, reach: new Map([[id, { state: 'unreachable', reason: 'connection refused' }]]) }];
};
const withoutBehavior = (requestsWithout: number): Case => [
  SPEC,
  { behavior: { sampled: 0, guardrailsInvoked: new Map(), requestsWithout } },
];
const observed = (times: number): Case => [
  SPEC,
  { behavior: { sampled: 100, guardrailsInvoked: new Map([['pii-detector', times]]) } },
];
const denied = (reason: string): Case => [{}, { policy: { state: 'answered', denials: [reason] } }];

/** Inputs that make each row find an issue, for every severity of the row. */
const FIRING: Readonly<Record<string, Case[]>> = {
  'manifest.invalid': [[{}, { manifestInvalid: 'line 3' }]],
  auditable: [[{}, {}]],
  evaluated: [[{ evaluation: { datasets: [{ name: 'golden', path: 'golden.jsonl' }] } }, {}]],
  'agent.name-mismatch': [[{}, { podAgentName: 'store' }]],
  healthcheckable: [[{}, { health: REFUSED }]],
  discoverable: [[{}, { capabilities: REFUSED }]],
  'reporter.invalid': [[{}, { invalidReport: { field: 'status', reason: 'must be a string' } }]],
  'discoverable.<tool>': [[SPEC, { capabilities: { answered: true, status: 200, latencyMs: 1, tools: [] } }]],
  'model.apiKey': [
    reported(['model:openai/gpt-4o', 'fail']),
    reported(['model:openai/gpt-4o', 'skip']),
    reported(),
  ],
  'env:<name>': [reported(['env:DB_URL', 'fail']), reported()],
  'service:<name>': [
    reported(['service:db', 'fail']),
    reported(),
    reported(['service:db', 'skip']),
    contradicted('service:db'),
  ],
  'tool:<name>': [reported(['tool:search', 'fail']), reported(), reported(['tool:search', 'skip'])],
  'memory:<role>': [reported(['memory:backend', 'skip']), reported(), contradicted('memory:backend')],
  'mcp:<name>': [reported(['mcp:files', 'skip']), reported(), contradicted('mcp:files')],
  'guardrails.<where>.<type>': [observed(49), observed(79), observed(99), observed(100)],
  'guardrails.unreported': [withoutBehavior(99), withoutBehavior(100)],
  'serving.errors': [
    [{}, { behavior: { sampled: 0, guardrailsInvoked: new Map(), serving: { responses: 20, failed: 10 } } }],
    [{}, { behavior: { sampled: 0, guardrailsInvoked: new Map(), serving: { responses: 20, failed: 9 } } }],
  ],
  'policy.<reason>': [
    denied('monthly_cost_limit_exceeded'),
    denied('daily_token_limit_exceeded'),
    denied('toxicity_threshold_exceeded'),
    denied('custom_reason'),
  ],
  'policy.not-loaded': [[{}, { policy: { state: 'not-loaded' } }]],
  'tools.undeclared.<name>': [
    [SPEC, { egress: misbehavingEgress() }],
    [{}, { reported: { tools: new Set(['drop']), models: null } }],
  ],
  'model.undeclared.<id>': [[SPEC, { egress: misbehavingEgress() }]],
  'tokens.misreported': [[SPEC, { egress: misbehavingEgress() }]],
  'egress.unseen': [[SPEC, { egress: misbehavingEgress() }]],
  'egress.lane-unused.<lane>': [
    [
      SPEC,
      { egress: someEgress(), reported: { tools: null, models: null, calls: new Map([['gpt-4o', 3]]) } },
    ],
  ],
};

function severitiesOf(rule: GapRule, [spec, some]: Case): string[] {
  const manifest = aManifest(spec);
  const facts = someFacts(some);
  const checks = check(manifest, facts).checks;
  const agentChecks = facts.agentReport === null ? null : new Map(checks.map((each) => [each.id, each]));
  return [rule.find({ manifest, facts, agentChecks }) ?? []].flat().map((finding) => finding.severity);
}

test.each(GAP_RULES.map((rule): [string, GapRule] => [rule.property, rule]))(
  'row %s finds exactly the severities in its `when`',
  (property, rule) => {
    const inputs = FIRING[property];
    if (inputs === undefined) throw new Error('add inputs for this row to FIRING');
    const found = new Set(inputs.flatMap((each) => severitiesOf(rule, each)));
    expect([...found].sort()).toEqual(Object.keys(rule.when).sort());
  },
);

test('every row has its own property, a title, and a recommendation that its findings can use', () => {
  expect(new Set(GAP_RULES.map(({ property }) => property)).size).toBe(GAP_RULES.length);
  for (const { property, title, recommendation } of GAP_RULES)
    expect([property, title, recommendation]).toEqual([
      property,
      expect.stringMatching(/^[A-Z].*[^.]$/),
      expect.stringMatching(/^[A-Z].*\.$/),
    ]);
});
