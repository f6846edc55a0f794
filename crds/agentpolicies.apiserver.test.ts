import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parse, parseAllDocuments } from 'yaml';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { parsePolicy } from '../core/organisation/parse-policy.ts';
import { CHECK_NAMES } from '../core/shapes/agent-policy.ts';
import type { JsonSchema } from '../core/untrusted/json-schema.ts';
import { expectOk } from '../kube/objects.ts';
import { AGENT_POLICIES } from '../kube/resources.ts';
import type { KubeObject } from '../kube/types.ts';
import { ServedCrd } from '../testing/cluster/served-crd.ts';
import { blocksUnder } from '../testing/documents/documented-commands.ts';
import { until } from '../testing/time/until.ts';

const EVERY_CHECK = `
apiVersion: platform.io/v1
kind: AgentPolicy
metadata: {name: production}
spec:
  namespaceSelector: {matchLabels: {env: production}}
  agents: ["*"]
  rules:
  - {id: models, action: Deny, severity: critical, models: {allowed: ["openai/gpt-4o*", "anthropic/*"]}}
  - {id: tools, action: Deny, severity: critical, message: tools that delete everything are not allowed, tools: {forbidden: ["shell*", "delete_all_*"]}}
  - {id: hosts, action: Warn, hosts: {allowed: ["*.example.com"]}}
  - {id: guardrails, action: Deny, guardrails: {input: [pii-detector], output: [toxicity-filter]}}
  - {id: budget, action: Deny, budget: {maxMonthlyUSD: 500, maxTokensPerDay: 2000000}}
  - {id: confirm, action: Deny, confirmation: {tools: destructive}}
  - {id: runtime, action: Deny, runtime: {minimumMode: enforce, lanes: true, census: true}}
  - {id: result, action: Audit, result: {minimumGrade: B, minimumEvidence: 60}}
  - {id: proofs, action: Audit, proofs: {required: [SEC-LLM-06], maximumAgeDays: 90}}
  - {id: temperature, action: Warn, severity: low, message: temperature above 1, expression: "!has(manifest.spec.model.parameters) || manifest.spec.model.parameters.temperature <= 1.0"}
  exceptions:
  - {namespace: team-a, agents: [shop], rules: [models], reason: pilot with another vendor, expires: "2027-01-31T00:00:00Z"}
`;

const EXAMPLES = join(dirname(import.meta.dirname), 'examples/policies');
const exampleFiles = readdirSync(EXAMPLES).filter((name) => name.endsWith('.yaml'));

const MODELS = { models: { allowed: ['openai/*'] } };
const ruleOf = (change: object = {}) => ({ id: 'models', action: 'Deny', ...change });
const policyOf = (name: string, spec: object) => ({
  apiVersion: 'platform.io/v1',
  kind: 'AgentPolicy',
  metadata: { name },
  spec,
});
const exceptionOf = (change: object = {}) => ({
  ...{ namespace: 'team-a', rules: ['models'], reason: 'a pilot', expires: '2027-01-31T00:00:00Z' },
  ...change,
});
const withException = (change: object) => ({
  rules: [ruleOf(MODELS)],
  exceptions: [exceptionOf(change)],
});

(whyNoControlPlane() ? describe.skip : describe)('the AgentPolicy in a real API server', () => {
  let crd: ServedCrd<KubeObject>;

  beforeAll(async () => {
    crd = await ServedCrd.open(AGENT_POLICIES);
  });
  afterAll(() => crd.close());

  test('is structural, and its rules are not too expensive', async () => {
    expect((await crd.conditions()).sort()).toEqual(['Established=True', 'NamesAccepted=True']);
  });

  test('accepts every check, and what it stores can be parsed', async () => {
    const parsed = parsePolicy(parse(EVERY_CHECK));
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors));
    const { name, spec } = parsed.value;
    const rules = spec.rules.map((rule) => ({ severity: 'high', ...rule }));
    const stored = expectOk(await crd.create(parse(EVERY_CHECK)));
    expect(parsePolicy(stored)).toEqual({ ok: true, value: { name, spec: { ...spec, rules } } });
  });

  test.each(exampleFiles)('accepts the example %s', async (name) => {
    const example = parse(readFileSync(join(EXAMPLES, name), 'utf8')) as KubeObject;
    // Another test of this file has a policy of the same name.
    const renamed = { ...example, metadata: { name: `example-${example.metadata.name}` } };
    const stored = expectOk(await crd.create(renamed));
    expect(parsePolicy(stored)).toMatchObject({ ok: true, value: { name: renamed.metadata.name } });
  });

  test.each<[string, object, string]>([
    [
      'two rules with one id',
      { rules: [ruleOf(MODELS), ruleOf(MODELS)] },
      'spec.rules[1]: Duplicate value: {"id":"models"}',
    ],
    [
      'an action in lower case',
      { rules: [ruleOf({ ...MODELS, action: 'deny' })] },
      'spec.rules[0].action: Unsupported value: "deny": supported values: "Deny", "Warn", "Audit"',
    ],
    [
      'a rule without a check',
      { rules: [ruleOf()] },
      `rule models: exactly one of ${CHECK_NAMES.join(', ')} is required`,
    ],
    [
      'a rule with two checks',
      { rules: [ruleOf({ ...MODELS, hosts: { allowed: ['*.example.com'] } })] },
      `rule models: exactly one of ${CHECK_NAMES.join(', ')} is required`,
    ],
    ['an exception without an end', withException({ expires: undefined }), 'exceptions[0].expires: Required'],
    ['an exception without a reason', withException({ reason: undefined }), 'exceptions[0].reason: Required'],
    [
      'an exception to a rule that does not exist',
      withException({ rules: ['modles'] }),
      'an exception names a rule that this policy does not have',
    ],
    ['no rules', { rules: [] }, 'spec.rules: Invalid value'],
    [
      '51 rules',
      { rules: Array.from({ length: 51 }, (_, index) => ruleOf({ ...MODELS, id: `r${index}` })) },
      'must have at most 50 items',
    ],
    [
      'a pattern of 201 characters',
      { rules: [ruleOf({ models: { allowed: ['x'.repeat(201)] } })] },
      'Too long: may not be more than 200',
    ],
    ['a check without a limit', { rules: [ruleOf({ budget: {} })] }, 'needs at least one of maxMonthlyUSD'],
    [
      'an id that is not a DNS label',
      { rules: [ruleOf({ ...MODELS, id: 'all models' })] },
      'spec.rules[0].id: Invalid value: "all models"',
    ],
  ])('rejects %s', async (_, spec, message) => {
    const response = await crd.create(policyOf('rejected', spec));
    expect(response).toMatchObject({ ok: false, status: 422, message: expect.stringContaining(message) });
  });

  test('accepts a policy at its limits', async () => {
    const allowed = Array.from({ length: 100 }, (_, index) => `${'p'.repeat(190)}${index}`);
    const rules = Array.from({ length: 50 }, (_, index) => ruleOf({ id: `r${index}`, models: { allowed } }));
    const named = rules.map(({ id }) => id);
    const exceptions = Array.from({ length: 100 }, () => exceptionOf({ rules: named }));
    expect(await crd.create(policyOf('limits', { rules, exceptions }))).toMatchObject({ ok: true });
  });

  test('stores the status apart from the spec, and prints it', async () => {
    expectOk(await crd.create(policyOf('printed', { rules: [ruleOf(MODELS)] })));
    const lastTransitionTime = '2026-11-29T00:00:00Z';
    const accepted = { type: 'Accepted', status: 'True', reason: 'Accepted', message: 'all rules apply' };
    const status = {
      ...{ agents: 7, broken: 2 },
      rules: [{ id: 'models', enforcedAt: ['manifest', 'start', 'lanes'], broken: 2 }],
      conditions: [{ ...accepted, lastTransitionTime }],
    };
    expect(await crd.patchStatus('printed', status)).toMatchObject({ ok: true, body: { status } });
    const { columnDefinitions, rows } = await crd.table('printed');
    expect(columnDefinitions.map(({ name, priority }) => [name, priority])).toEqual(
      ['Name', 'Agents', 'Broken', 'Accepted', 'Age'].map((name) => [name, 0]),
    );
    expect(rows[0]?.cells.slice(0, 4)).toEqual(['printed', 7, 2, 'True']);
  });

  test('is described by kubectl explain and found by short name and category', async () => {
    expectOk(await crd.create(policyOf('known', { rules: [ruleOf(MODELS)] })));
    expect(await crd.kubectl('explain', 'agp.spec.rules.action')).toMatch(
      /ENUM: Deny Warn Audit .*a manifest that breaks the rule is rejected/,
    );
    for (const name of ['agp', 'platform'])
      expect(await crd.kubectl('get', name, '-o', 'name')).toContain('agentpolicy.platform.io/known');
    expect(await crd.kubectl('explain', 'agp', '--recursive')).toContain('maxTokensPerDay');
  });

  test('with the roles of the guide is written by the platform team, and read by every team', async () => {
    const rbac = '/apis/rbac.authorization.k8s.io/v1';
    const create = async (path: string, body: unknown) =>
      expectOk(await crd.client.send({ method: 'POST', path, body }));
    const [roles] = blocksUnder('docs/guide/organisation-rollout.md', 'Decide who may write the rules');
    for (const document of parseAllDocuments(roles!.body)) {
      const role = document.toJS() as { kind: string };
      await create(`${rbac}/${role.kind.toLowerCase()}s`, role);
    }
    const [apiGroup, kind] = ['rbac.authorization.k8s.io', 'ClusterRole'];
    // The parts of the role admin, which the controller manager would aggregate.
    for (const part of ['admin', 'edit', 'view'])
      await create(`${rbac}/namespaces/default/rolebindings`, {
        metadata: { name: part },
        roleRef: { apiGroup, kind, name: `system:aggregate-to-${part}` },
        subjects: [{ apiGroup, kind: 'Group', name: 'team' }],
      });
    const may = async (group: string, verb: string, plural: string) => {
      const of =
        plural === 'namespaces' ? { namespace: 'default', name: 'default' } : { group: 'platform.io' };
      const resourceAttributes = { verb, resource: plural, version: 'v1', ...of };
      const review = {
        spec: { user: 'someone', groups: [group, 'system:authenticated'], resourceAttributes },
      };
      const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
      return ((await create(path, review)) as { status: { allowed: boolean } }).status.allowed;
    };
    const verbs = ['get', 'update', 'delete'];
    const rights = (group: string, plural: string) =>
      Promise.all(verbs.map((verb) => may(group, verb, plural)));
    // The authorizer follows the bindings by watches.
    await until(() => may('team', 'get', 'namespaces'));
    await until(() => may('team', 'get', 'agentpolicies'));
    await until(() => may('agent-platform', 'delete', 'agentpolicies'));
    expect(await rights('agent-platform', 'agentpolicies')).toEqual([true, true, true]);
    expect(await rights('team', 'agentpolicies')).toEqual([true, false, false]);
    // The administrator of a namespace cannot change its labels.
    expect(await rights('team', 'namespaces')).toEqual([true, false, false]);
  });

  test('describes every field', async () => {
    const { spec } = expectOk(await crd.client.send<Definition>({ method: 'GET', path: crd.definition }));
    const { metadata: _, ...properties } = spec.versions[0].schema.openAPIV3Schema.properties;
    expect(Object.keys(properties)).toEqual(['apiVersion', 'kind', 'spec', 'status']);
    expect(undescribed({ description: 'The object.', properties }, '')).toEqual([]);
  });
});

type Properties = Record<string, JsonSchema>;

interface Definition {
  spec: { versions: [{ schema: { openAPIV3Schema: { properties: Properties } } }] };
}

/** Paths of members without a description. */
function undescribed(schema: JsonSchema, path: string): string[] {
  const {
    description,
    properties = {},
    items,
  } = schema as {
    description?: string;
    properties?: Properties;
    items?: JsonSchema;
  };
  return [
    ...(description ? [] : [path]),
    ...(items === undefined ? [] : undescribed(items, `${path}[]`)),
    ...Object.entries(properties).flatMap(([name, each]) => undescribed(each, `${path}.${name}`)),
  ];
}
