// The documented part of CEL gives the same results as in the API server.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { CEL_ERRORS, CEL_MISSING, CEL_PARTS, EXAMPLE } from '../testing/documents/cel-examples.ts';
import { startControlPlane, whyNoControlPlane, type ControlPlane } from '../e2e/cluster/control.ts';
import { KubeClient } from '../kube/client.ts';
import { loadClusterAccess } from '../kube/cluster-access.ts';
import { expectOk } from '../kube/objects.ts';
import { until } from '../testing/time/until.ts';
import { ManifestWorker } from './manifest-worker.ts';

/** The results are compared, not the time. */
const worker = new ManifestWorker({ expressionMs: 60_000 });
afterAll(() => worker.close());

const here = (expression: string) => worker.evaluate(expression, { manifest: EXAMPLE });
const ALL = CEL_PARTS.flatMap(({ part, examples }) => examples.map((each) => [part, each] as const));
const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
const COLLECTION = '/apis/example.com/v1/namespaces/default/examples';

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
  /** The reply of the API server to a dry run of an object for which the policy applies. */
  async function replyTo(validation: object): Promise<string> {
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
    let message = '';
    // The API server applies a new policy a moment later.
    await until(async () => {
      const response = await client.send({
        method: 'POST',
        path: `${COLLECTION}?dryRun=All`,
        body: {
          ...{ apiVersion: 'example.com/v1', kind: 'Example' },
          metadata: { name: 'example', labels: { policy: name } },
          spec: EXAMPLE,
        },
      });
      if (!response.ok) message = response.message;
      return !response.ok;
    });
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
});
