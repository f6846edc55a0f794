// The documented part of CEL, and the plain rules, give the same results as in the API server.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { parseManifest } from '../core/manifest/parse-manifest.ts';
import { judge } from '../core/organisation/judge.ts';
import { parsePolicy } from '../core/organisation/parse-policy.ts';
import { CEL_ERRORS, CEL_MISSING, CEL_PARTS, EXAMPLE } from '../testing/documents/cel-examples.ts';
import { startControlPlane, whyNoControlPlane, type ControlPlane } from '../e2e/cluster/control.ts';
import { KubeClient } from '../kube/client.ts';
import { loadClusterAccess } from '../kube/cluster-access.ts';
import { expectOk } from '../kube/objects.ts';
import { POLICY, ruledManifest } from '../testing/manifests/ruled-manifests.ts';
import fc from '../testing/random/properties.ts';
import { SEED } from '../testing/random/seed.ts';
import { until } from '../testing/time/until.ts';
import { ManifestWorker } from './manifest-worker.ts';

/** The results are compared, not the time. */
const worker = new ManifestWorker({ expressionMs: 60_000 });
afterAll(() => worker.close());

const here = (expression: string) => worker.evaluate(expression, { manifest: EXAMPLE });
const ALL = CEL_PARTS.flatMap(({ part, examples }) => examples.map((each) => [part, each] as const));
const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
const COLLECTION = '/apis/example.com/v1/namespaces/default/examples';

/** The rules of `POLICY`, written a second time. */
const PLAIN_RULES: Readonly<Record<string, string>> = {
  models: `['openai/gpt-4o', 'anthropic/'].exists(p, (manifest.spec.model.provider + '/' + manifest.spec.model.id).startsWith(p))`,
  // A pattern such as she* stands for names that a forbidden pattern may match.
  tools: `manifest.spec.tools.map(t, t.name).all(t, !t.startsWith('shell') && !t.startsWith('delete_all_')) &&
    manifest.spec.egress.tools.map(t, t.replace('*', '')).all(t, ['shell', 'delete_all_'].all(p, !p.startsWith(t) && !t.startsWith(p)))`,
  hosts: `manifest.spec.egress.hosts.all(h, h.endsWith('.example.com'))`,
  guardrails: `has(manifest.spec.guardrails.input) && manifest.spec.guardrails.input.exists(g, g.type == 'pii-detector')`,
  budget: `has(manifest.spec.model.costControls) && manifest.spec.model.costControls.maxMonthlyUSD <= 500`,
  confirm: `size(manifest.spec.tools) == 0 && size(manifest.spec.egress.tools) == 0`,
};

test.each(CEL_MISSING)('%s is an error, because the function is not available', async (expression) => {
  expect(await here(expression)).toEqual({ error: expect.any(String) });
});

(whyNoControlPlane() ? describe.skip : describe)('in a real API server', () => {
  let control: ControlPlane;
  let client: KubeClient;

  beforeAll(async () => {
    control = await startControlPlane();
    client = new KubeClient({ access: loadClusterAccess(control.kubeconfig), part: 'test' });
    const openAPIV3Schema = {
      type: 'object',
      properties: { spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
    };
    const names = { kind: 'Example', listKind: 'ExampleList', plural: 'examples', singular: 'example' };
    await post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'examples.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names,
        versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
      },
    });
    await until(async () => (await client.send({ method: 'GET', path: COLLECTION })).ok);
  });
  afterAll(async () => {
    await client.close();
    await control.close();
  });

  const post = async (path: string, body: object): Promise<void> => {
    expectOk(await client.send({ method: 'POST', path, body }));
  };

  let policies = 0;
  /** A policy for objects with its name as a label. */
  async function createPolicy(validation: object): Promise<string> {
    const name = `policy-${(policies += 1)}`;
    const selected = { matchLabels: { policy: name } };
    await post(`${ADMISSION}/validatingadmissionpolicies`, {
      metadata: { name },
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: {
          objectSelector: selected,
          resourceRules: [
            {
              apiGroups: ['example.com'],
              apiVersions: ['v1'],
              operations: ['CREATE'],
              resources: ['examples'],
            },
          ],
        },
        variables: [{ name: 'manifest', expression: 'object.spec' }],
        validations: [validation],
      },
    });
    await post(`${ADMISSION}/validatingadmissionpolicybindings`, {
      metadata: { name },
      spec: { policyName: name, validationActions: ['Deny'] },
    });
    return name;
  }

  /** Why a policy rejects a dry run of an object; empty: it does not. */
  async function rejectionBy(policy: string, spec: object): Promise<string> {
    const response = await client.send({
      method: 'POST',
      path: `${COLLECTION}?dryRun=All`,
      body: {
        ...{ apiVersion: 'example.com/v1', kind: 'Example', spec },
        metadata: { name: 'example', labels: { policy } },
      },
    });
    return response.ok ? '' : response.message;
  }

  async function replyTo(validation: object): Promise<string> {
    const name = await createPolicy(validation);
    let message = '';
    // The API server applies a new policy a moment later.
    await until(async () => (message = await rejectionBy(name, EXAMPLE)) !== '');
    return message;
  }
  const there = (expression: string): string => expression.replaceAll(/\bmanifest\b/g, 'variables.manifest');

  test('every documented expression is true, here and there', async () => {
    const message = await replyTo({
      expression: 'false',
      messageExpression: ALL.map(([, expression]) => `string(${there(expression)})`).join(" + ',' + "),
    });
    const results = /denied request: ([a-z,]*)/.exec(message)?.[1]?.split(',') ?? [message];
    expect(results).toEqual(ALL.map(() => 'true'));
    for (const [part, expression] of ALL)
      expect([part, expression, await here(expression)]).toEqual([part, expression, true]);
  });

  test.each(CEL_ERRORS)('%s is an error, here and there', async (expression) => {
    expect(await here(expression)).toEqual({ error: expect.any(String) });
    expect(await replyTo({ expression: there(expression) })).toMatch(/resulted in error|no such overload/);
  });

  test('300 manifests break the same plain rules as expressions of an admission policy say', async () => {
    const results = Object.values(PLAIN_RULES).map((expression) => `string(${there(expression)})`);
    const policy = await createPolicy({ expression: 'false', messageExpression: results.join(" + ',' + ") });
    const resultsFor = async (manifest: object) =>
      /denied request: ([a-z,]*)/.exec(await rejectionBy(policy, manifest))?.[1]?.split(',');
    const [first = {}, ...others] = fc.sample(ruledManifest, { numRuns: 300, seed: SEED });
    await until(async () => (await resultsFor(first)) !== undefined);
    const rules = parsePolicy(parse(POLICY));
    if (!rules.ok) throw new Error(JSON.stringify(rules.errors));
    const counts = new Map<string, number>();
    for (const document of [first, ...others]) {
      const parsed = parseManifest(stringify(document));
      if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
      const subject = { namespace: 'shop', labels: {}, names: ['shop'], observation: null, at: new Date(0) };
      const { findings } = judge([rules.value], { ...subject, manifest: parsed.manifest });
      const broken = new Set(findings.map(({ rule }) => rule));
      expect([document, await resultsFor(document)]).toEqual([
        document,
        Object.keys(PLAIN_RULES).map((id) => String(!broken.has(id))),
      ]);
      for (const id of broken) counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    // Every rule is broken by some and kept by others.
    for (const id of Object.keys(PLAIN_RULES)) {
      expect(counts.get(id)).toBeGreaterThan(20);
      expect(counts.get(id)).toBeLessThan(300);
    }
  });
});
