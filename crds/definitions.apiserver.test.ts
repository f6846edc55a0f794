// The CustomResourceDefinitions in a real API server.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parse, parseAllDocuments } from 'yaml';
import type { AgentObservation } from '../core/observation/observation.ts';
import { parsePolicy } from '../core/organisation/parse-policy.ts';
import { AGENT_REF } from '../core/shapes/agent-ref.ts';
import { CHECK_NAMES } from '../core/shapes/agent-policy.ts';
import type { JsonSchema } from '../core/untrusted/json-schema.ts';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { expectOk } from '../kube/objects.ts';
import { AGENT_OBSERVATIONS, AGENT_POLICIES } from '../kube/resources.ts';
import type { KubeObject } from '../kube/types.ts';
import { ApiCluster } from '../testing/cluster/api-cluster.ts';
import { ServedCrd } from '../testing/cluster/served-crd.ts';
import { blocksUnder } from '../testing/documents/documented-commands.ts';
import { until } from '../testing/time/until.ts';

const sidecar = (name: string, spec: object = {}) => ({
  apiVersion: 'platform.io/v1',
  kind: 'AgentObservation',
  metadata: { name },
  spec: { source: 'sidecar', agentRef: { apiVersion: 'apps/v1', kind: 'Deployment', name }, ...spec },
});

const unlisted = (_: unknown, index: number) => ({
  name: `unlisted-${index}`,
  startedAt: '2026-03-01T09:00:00Z',
  seq: 1,
  lastHeartbeat: '2026-03-01T10:00:00Z',
  intervalSeconds: 30,
  tokensToday: 7,
  costTodayUsd: 0,
  day: '2026-03-01',
});

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

(whyNoControlPlane() ? describe.skip : describe)('in a real API server', () => {
  let cluster: ApiCluster;

  beforeAll(async () => {
    cluster = await ApiCluster.start();
    // Together, because kubectl caches the kinds of an API server.
    await cluster.define('agentobservations', 'agentpolicies');
  });
  afterAll(() => cluster?.close());

  describe('the AgentObservation', () => {
    let crd: ServedCrd<AgentObservation>;
    beforeAll(async () => {
      crd = await ServedCrd.open(cluster, AGENT_OBSERVATIONS, 'default');
    });

    const create = (body: unknown) => crd.create(body);
    const patchStatus = (name: string, status: object) => crd.patchStatus(name, status);

    test('is structural', async () => {
      expect((await crd.conditions()).sort()).toEqual(['Established=True', 'NamesAccepted=True']);
    });

    test('accepts the smallest object and sets the defaults', async () => {
      const { spec, status } = expectOk(await create(sidecar('small')));
      expect(status).toEqual({ phase: 'Pending' });
      // A default interval could not be distinguished from a configured interval.
      expect(spec).not.toHaveProperty('heartbeatSeconds');
    });

    test.each<[string, object, string]>([
      [
        'a sidecar without its workload',
        sidecar('x', { agentRef: undefined }),
        'agentRef is required for source sidecar',
      ],
      ['a remote agent with a workload', sidecar('x', { source: 'remote' }), 'not allowed for source remote'],
      ['an unknown source', sidecar('x', { source: 'moon' }), 'Unsupported value: "moon"'],
      [
        'a too short heartbeat interval',
        sidecar('x', { heartbeatSeconds: 9 }),
        'greater than or equal to 10',
      ],
      [
        'a too long heartbeat interval',
        sidecar('x', { heartbeatSeconds: 3601 }),
        'less than or equal to 3600',
      ],
      ['a name that is too long', sidecar('x'.repeat(64)), 'a DNS label of at most 63 characters'],
      ['a name that is not a DNS label', sidecar('x.y'), 'a DNS label of at most 63 characters'],
      ...[
        { name: 'chat/scale' },
        { name: '..' },
        { kind: 'Deploy/ment' },
        { apiVersion: 'apps/v1/x' },
        { apiVersion: '../v1' },
      ].map((change): [string, object, string] => [
        `the workload ${JSON.stringify(change)}`,
        sidecar('x', { agentRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x', ...change } }),
        `spec.agentRef.${Object.keys(change)[0]}`,
      ]),
      ['no spec', { ...sidecar('x'), spec: undefined }, 'spec: Required value'],
    ])('rejects %s', async (_, body, message) => {
      expect(await create(body)).toMatchObject({
        ok: false,
        status: 422,
        message: expect.stringContaining(message),
      });
    });

    test('keeps an older object whose workload cannot exist readable, and its status writable', async () => {
      const part = 'properties/spec/properties/agentRef/properties/name/pattern';
      const setPattern = async (value: string): Promise<void> => {
        const path = `/spec/versions/0/schema/openAPIV3Schema/${part}`;
        const contentType = 'application/json-patch+json';
        const body = [{ op: 'replace', path, value }];
        expectOk(await crd.client.send({ method: 'PATCH', path: crd.definition, contentType, body }));
      };
      const agentRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'chat/scale' };
      await setPattern('.');
      while (!(await create(sidecar('older', { agentRef }))).ok) await delay(50);
      await setPattern(AGENT_REF.name[1].source);
      for (let count = 0; (await create(sidecar(`next-${count}`, { agentRef }))).ok; count += 1)
        await delay(50);
      expect(await patchStatus('older', { phase: 'Healthy' })).toMatchObject({ ok: true });
      expect(expectOk(await crd.client.send({ method: 'GET', path: crd.path('older') }))).toMatchObject({
        spec: { agentRef },
        status: { phase: 'Healthy' },
      });
    });

    test('rejects a change of the source', async () => {
      await create(sidecar('fixed'));
      const response = await crd.client.send({
        method: 'PATCH',
        path: crd.path('fixed'),
        contentType: 'application/merge-patch+json',
        body: { spec: { source: 'remote', agentRef: null } },
      });
      expect(response).toMatchObject({
        status: 422,
        message: expect.stringContaining('source is immutable'),
      });
    });

    test.each<[string, object, string]>([
      ['51 issues', { issues: Array.from({ length: 51 }, issue) }, 'must have at most 50 items'],
      ['a score over 100', { score: 101 }, 'less than or equal to 100'],
      ['an unknown phase', { phase: 'Fine' }, 'Unsupported value: "Fine"'],
      ['drift with zero pods', { drift: [drift({ pods: 0 })] }, 'greater than or equal to 1'],
      ['drift with a duplicate reason', { drift: [drift(), drift()] }, 'Duplicate value'],
      [
        'two instances with the same name',
        { instances: [instance(null, 1), instance(null, 1)] },
        'Duplicate value',
      ],
    ])('rejects a status with %s', async (_, status, message) => {
      await create(sidecar('limits'));
      const response = await patchStatus('limits', status);
      expect(response).toMatchObject({ ok: false, status: 422, message: expect.stringContaining(message) });
    });

    test('accepts a status at its limits and prints it, including the wide columns', async () => {
      await create(sidecar('full'));
      const status = {
        phase: 'Degraded',
        grade: 'B',
        score: 84,
        tokens: 12_345_678_901,
        lastChecked: new Date(Date.now() - 14_000).toISOString(),
        model: { provider: 'openai', id: 'gpt-x' },
        violations: 2,
        policyMode: 'off',
        source: 'agent-sdk',
        instanceCount: 50,
        evidence: {
          ...{ percent: 61, shown: 5.5, declared: 9, reported: 7 },
          items: Array.from({ length: 100 }, item),
        },
        audit: { declared: 74, proved: 31, failed: ['MODEL-01'], suppressions: [suppression()] },
        worst: Array.from({ length: 5 }, worst),
        issues: Array.from({ length: 50 }, issue),
        instances: Array.from({ length: 50 }, instance),
        unlisted: Array.from({ length: 950 }, unlisted),
        unlistedCount: 950,
        checks: Array.from({ length: 100 }, check),
        conditions: [
          {
            ...{ type: 'Compliant', status: 'False', reason: 'GradeTooLow', message: 'the grade is below B' },
            lastTransitionTime: '2026-01-01T00:00:00Z',
          },
        ],
      };
      expect(await patchStatus('full', status)).toMatchObject({ ok: true, body: { status } });

      const { columnDefinitions, rows } = await crd.table('full');
      const shown = columnDefinitions.map((column, index) => [
        column.name,
        rows[0]?.cells[index],
        column.priority,
      ]);
      expect(shown).toEqual([
        ['Name', 'full', 0],
        ['Phase', 'Degraded', 0],
        ['Grade', 'B', 0],
        ['Score', 84, 0],
        ['Tokens', 12_345_678_901, 0],
        ['Checked', expect.stringMatching(/^1[4-9]s$/), 0],
        ['Stopped', null, 1],
        ['Allowed', null, 1],
        ['Compliant', 'False', 1],
        ['Model', 'gpt-x', 1],
        ['Violations', 2, 1],
        ['Mode', 'off', 1],
        ['Source', 'agent-sdk', 1],
        ['Evidence', 61, 1],
        ['Proved', 31, 1],
        ['Instances', 50, 1],
        ['Unlisted', 950, 1],
      ]);
    });

    test('prints the grade of an agent that no longer reports as old', async () => {
      await create(sidecar('old'));
      await patchStatus('old', { phase: 'Pending', grade: 'B', oldGrade: 'B (old)', score: 84 });
      const { rows } = await crd.table('old');
      expect(rows[0]?.cells.slice(0, 4)).toEqual(['old', 'Pending', 'B (old)', 84]);
    });

    test('is described by kubectl explain and found by short name and category', async () => {
      await create(sidecar('known'));
      expect(await crd.kubectl('explain', 'ao.spec.heartbeatSeconds')).toContain('Set by users');
      expect(await crd.kubectl('explain', 'ao.status.drift')).toMatch(
        /Live pods that the current .* reason <string> -required- enum: sidecar-missing/,
      );
      for (const name of ['ao', 'platform'])
        expect(await crd.kubectl('get', name, '-o', 'name')).toContain('agentobservation.platform.io/known');
    });

    test.each(['status.phase=Unknown', 'status.grade=F', 'spec.source=remote'])(
      'selects by the field %s',
      async (fieldSelector) => {
        await create({ ...sidecar('away'), spec: { source: 'remote' } });
        await patchStatus('away', { phase: 'Unknown', grade: 'F' });
        interface List {
          items: { metadata: { name: string } }[];
        }
        const response = await crd.client.send<List>({
          method: 'GET',
          path: crd.collection,
          query: { fieldSelector },
        });
        expect(expectOk(response).items.map((item) => item.metadata.name)).toEqual(['away']);
      },
    );
  });

  describe('the AgentPolicy', () => {
    let crd: ServedCrd<KubeObject>;
    beforeAll(async () => {
      crd = await ServedCrd.open(cluster, AGENT_POLICIES);
    });

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
      [
        'an exception without an end',
        withException({ expires: undefined }),
        'exceptions[0].expires: Required',
      ],
      [
        'an exception without a reason',
        withException({ reason: undefined }),
        'exceptions[0].reason: Required',
      ],
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
      const rules = Array.from({ length: 50 }, (_, index) =>
        ruleOf({ id: `r${index}`, models: { allowed } }),
      );
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
});

function issue() {
  return { severity: 'low', property: 'p', description: 'd', recommendation: 'r' };
}

function worst(_: unknown, index: number) {
  const at = '2026-03-01T12:00:00.000Z';
  const criticalIssues = Array.from({ length: 10 }, (_each, number) => ({ property: `p${number}`, at }));
  return { manifestHash: `m${index}`, score: 30, grade: 'F', at, criticalIssues };
}

function item() {
  return { kind: 'tool', name: 't', tier: 'none' };
}

function suppression() {
  return { rule: 'SEC-LLM-10', reason: 'a vault', state: 'active' };
}

function drift(change: object = {}) {
  return { reason: 'sidecar-missing', pods: 1, example: 'pod-1', ...change };
}

function check(_: unknown, index: number) {
  return { id: `env:V${index}`, category: 'env', status: 'pass', severity: 'error' };
}

function instance(_: unknown, index: number) {
  const at = '2026-11-21T00:00:00Z';
  return {
    name: `pod-${index}`,
    startedAt: at,
    seq: 1,
    phase: 'Healthy',
    score: 100,
    lastHeartbeat: at,
    intervalSeconds: 30,
    tokensToday: 0,
    costTodayUsd: 0.5,
    day: '2026-11-21',
    violations: 0,
    criticalIssues: 0,
    deniedInWindow: 0,
    evidence: { shown: 5.5, declared: 9, reported: 7, notShown: ['tool t'] },
    audit: { declared: 74, proved: 31 },
  };
}

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
