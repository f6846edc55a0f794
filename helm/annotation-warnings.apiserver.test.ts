// The chart's warnings of annotations without effect, at a real API server: as a client of `kubectl apply` gets them.
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { startControlPlane, whyNoControlPlane, type ControlPlane } from '../e2e/cluster/control.ts';
import { run, type RunResult } from '../e2e/cluster/run.ts';
import { ANNOTATION_MISTAKES, workloadOfKind } from '../testing/cluster/annotation-mistakes.ts';
import { APPLY, clusterBinary } from '../testing/machine/cluster-binary.ts';
import { objectsOf, template } from '../testing/cluster/rendered-chart.ts';

// Much longer than the tests need.
jest.setTimeout(300_000);

const POLICY = 'agent-compliance-annotation-warnings';
const PREFIX = `Warning: Validation failed for ValidatingAdmissionPolicy '${POLICY}' with binding '${POLICY}': `;
const TYPO = { inner: { 'platform.io/injekt': 'true' } };
const WARNING = `${PREFIX}Deployment chat: the annotation platform.io/injekt is unknown and has no effect; did you mean platform.io/inject?\n`;

(whyNoControlPlane() ? describe.skip : describe)('the warnings of annotations', () => {
  let control: ControlPlane;

  const kubectl = (args: readonly string[], input: unknown = ''): Promise<RunResult> =>
    run([clusterBinary('kubectl'), '--kubeconfig', control.kubeconfig, ...args], {
      input: JSON.stringify(input),
    });
  /** Applies an object as a dry run; `stderr` is the warnings. */
  const apply = (object: object, ...args: string[]) =>
    kubectl(['apply', '--dry-run=server', '-f', '-', ...args], object);

  beforeAll(async () => {
    control = await startControlPlane();
    for (const name of ['team', 'legacy']) {
      await kubectl(['create', 'namespace', name]);
      // The controller that creates it does not run here.
      await kubectl(['create', 'serviceaccount', 'default', '-n', name]);
    }
    const only = ['--show-only', 'templates/annotation-warnings.yaml'];
    const items = objectsOf(await template(...only, '--set', 'webhook.excludedNamespaces={legacy}'));
    const { code, stderr } = await kubectl([...APPLY, '-f', '-'], { apiVersion: 'v1', kind: 'List', items });
    if (code !== 0) throw new Error(stderr);
    // A new policy takes about a second to become effective.
    for (const end = performance.now() + 120_000; ;) {
      const result = await apply(workloadOfKind('Deployment', TYPO));
      if (result.stderr !== '') break;
      if (performance.now() > end) throw new Error('the policy is not active');
      await delay(200);
    }
  });
  afterAll(() => control.close());

  test.each(ANNOTATION_MISTAKES)('%s', async (_what, { kind = 'Deployment', ...where }, found) => {
    const { code, stderr } = await apply(workloadOfKind(kind, where));
    expect([code, stderr]).toEqual([0, expect.any(String)]);
    const lines = stderr.split('\n').filter((line) => line !== '');
    // One line each for unknown annotations, annotations in a wrong place, and labels. It names the first.
    const kinds = Map.groupBy(found, ([what, key, meant]) => `${what} ${key === meant}`);
    const expected = [...kinds.values()].map(([first]) => {
      const [what, key, meant, place] = first ?? [];
      const about = `${PREFIX}${kind} chat: the ${what} ${key} `;
      if (meant === null)
        return expect.stringContaining(
          `${about}is unknown and has no effect; known are platform.io/inject, `,
        );
      if (meant !== key) return `${about}is unknown and has no effect; did you mean ${meant}?`;
      return what === 'label'
        ? `${about}has no effect; set it as an annotation, in ${place}`
        : `${about}has no effect here; set it in ${place}`;
    });
    expect(lines).toEqual(expected);
  });

  test('an update, which is stored', async () => {
    const create = await kubectl(['apply', '-f', '-'], workloadOfKind('Deployment', {}, 'updated'));
    expect(create).toMatchObject({ code: 0, stderr: '' });
    const update = await kubectl(['apply', '-f', '-'], workloadOfKind('Deployment', TYPO, 'updated'));
    expect(update).toMatchObject({ code: 0, stderr: WARNING.replace('chat', 'updated') });
    const annotations = ['-o', 'jsonpath={.spec.template.metadata.annotations}'];
    const stored = await kubectl(['get', 'deployment', 'updated', '-n', 'team', ...annotations]);
    expect(stored.stdout).toBe('{"platform.io/injekt":"true"}');
  });

  test('names that are similar, if several are', async () => {
    const { stderr } = await apply(
      workloadOfKind('Deployment', { inner: { 'platform.io/egres-lanes': 'openai' } }),
    );
    expect(stderr).toContain('did you mean platform.io/egress-lanes or platform.io/egress-mode or ');
  });

  test('none in an excluded namespace', async () => {
    const deployment = {
      ...workloadOfKind('Deployment', TYPO),
      metadata: { name: 'chat', namespace: 'legacy' },
    };
    expect(await apply(deployment)).toMatchObject({ code: 0, stderr: '' });
  });

  test('none for an object of a controller, whose owner has the warning', async () => {
    const owner = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'chat', uid: 'u', controller: true };
    const owned = {
      ...workloadOfKind('ReplicaSet', TYPO),
      metadata: { name: 'chat-1', namespace: 'team', ownerReferences: [owner] },
    };
    expect(await apply(owned)).toMatchObject({ code: 0, stderr: '' });
  });

  test('none for a pod that opts in, for which the injector warns', async () => {
    const inner = { 'platform.io/inject': 'true', 'platform.io/agent-prot': '80' };
    expect(await apply(workloadOfKind('Pod', { inner }))).toMatchObject({ code: 0, stderr: '' });
    expect((await apply(workloadOfKind('Job', { inner }))).stderr).toContain('platform.io/agent-port');
  });

  test('a pod without a name yet', async () => {
    const pod = workloadOfKind('Pod', TYPO) as { metadata: object };
    const metadata = { ...pod.metadata, name: undefined, generateName: 'chat-' };
    const { code, stderr } = await kubectl(['create', '--dry-run=server', '-f', '-'], { ...pod, metadata });
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('Pod chat-') });
  });

  test('the largest annotations of an object do not reject it', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 12_000 }, (_, index) => [`platform.io/${index}`, '']),
    );
    const { code, stderr } = await kubectl(
      ['create', '--dry-run=server', '-f', '-'],
      workloadOfKind('Deployment', { inner: many }),
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/^$|^Warning: /) });
  });
});
