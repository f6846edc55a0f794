import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { AgentObservation } from '../../core/observation/observation.ts';
import type { Phase } from '../../core/shapes/values.ts';
import { KubeClient } from '../../kube/client.ts';
import { EventRecorder } from '../../kube/events.ts';
import { AGENT_OBSERVATIONS } from '../../kube/resources.ts';
import { StatusWriter } from '../../kube/status-writer.ts';
import { silentLogger } from '../../runtime/logger.ts';
import { startFakeApiServer, type FakeApiServer } from '../../testing/cluster/fake-api-server.ts';
import { AgentController, type ControllerContext } from './controller.ts';

let server: FakeApiServer;
let client: KubeClient;
let nowMs = 0;

beforeEach(async () => {
  server = await startFakeApiServer();
  client = new KubeClient({ access: server.access, part: 'test' });
  nowMs = 0;
});
afterEach(async () => {
  await client.close();
  await server.close();
});

const clock = {
  now: () => new Date(Date.UTC(2026, 0, 1) + nowMs),
  monotonicMs: () => nowMs,
  sleep: () => Promise.resolve(),
};

/** A replica of the operator, reduced to Events about observations. */
function replica(change: Partial<ControllerContext> = {}) {
  const events = new EventRecorder({
    client,
    controller: 'platform.io/operator',
    instance: 'pod-1',
    clock,
    logger: silentLogger,
  });
  const controller = new AgentController({
    client,
    clock,
    logger: silentLogger,
    events,
    statusWriter: new StatusWriter({ client, resource: AGENT_OBSERVATIONS, fieldManager: 'test' }),
    installed: null,
    knownCas: null,
    minimum: { grade: 'F', evidence: 0 },
    stopAt: () => undefined,
    excludedNamespaces: [],
    observationAt: () => undefined,
    podsOf: () => [],
    servicesIn: () => [],
    failedMountOf: () => null,
    misfitOf: () => null,
    allPods: () => [],
    podAt: () => undefined,
    allObservations: () => [],
    isIncomplete: () => false,
    observe: {
      created: () => undefined,
      added: () => undefined,
      began: () => undefined,
      done: () => undefined,
    },
    ...change,
  });
  return { controller, events };
}

const observationOf = (phase: Phase, resourceVersion: string): AgentObservation => ({
  apiVersion: 'platform.io/v1',
  kind: 'AgentObservation',
  metadata: { name: 'x', namespace: 'n', uid: 'u', resourceVersion },
  spec: { source: 'remote' },
  status: { phase },
});
const change = {
  type: 'modified' as const,
  before: observationOf('Healthy', '7'),
  object: observationOf('Unknown', '8'),
};

const posts = () => server.requests.filter(({ method }) => method === 'POST');
const emitted = () => posts().length;
const stored = () =>
  new Set(posts().map(({ body }) => (body as { metadata: { name: string } }).metadata.name)).size;
const counted = () => server.requests.filter(({ method }) => method === 'PATCH').length;

async function lead(
  { controller, events }: ReturnType<typeof replica>,
  meanwhile?: () => void,
): Promise<void> {
  const stop = new AbortController();
  const run = controller.run(stop.signal);
  meanwhile?.();
  stop.abort();
  await run;
  await events.flush();
}

describe('an Event for a change that two replicas detect', () => {
  test('is emitted only by the leader', async () => {
    const [leader, standby] = [replica(), replica()];
    await lead(leader, () => {
      leader.controller.observationChanged(change);
      standby.controller.observationChanged(change);
    });
    expect([emitted(), stored()]).toEqual([1, 1]);
  });

  test('is stored once when the next leader emits it again', async () => {
    const [first, next] = [replica(), replica()];
    next.controller.observationChanged(change);
    await lead(first, () => first.controller.observationChanged(change));
    nowMs = 20_000;
    await lead(next);
    expect([emitted(), stored(), counted()]).toEqual([2, 1, 0]);
  });

  test('is counted once per occurrence when the next leader emits it again', async () => {
    const again = {
      ...change,
      before: observationOf('Healthy', '9'),
      object: observationOf('Unknown', '10'),
    };
    const [first, next] = [replica(), replica()];
    for (const each of [change, again]) next.controller.observationChanged(each);
    await lead(first, () => {
      for (const each of [change, again]) first.controller.observationChanged(each);
    });
    expect([stored(), counted()]).toEqual([1, 1]);
    nowMs = 20_000;
    await lead(next);
    expect([stored(), counted()]).toEqual([1, 1]);
  });

  test('is emitted by the next leader when the previous leader died before', async () => {
    const next = replica();
    next.controller.observationChanged(change);
    nowMs = 60_000;
    await lead(next);
    expect(emitted()).toBe(1);
    // Not emitted again if the replica loses and regains leadership.
    await lead(next);
    expect(emitted()).toBe(1);
  });

  test('is dropped after a minute', async () => {
    const next = replica();
    next.controller.observationChanged(change);
    nowMs = 60_001;
    await lead(next);
    expect(emitted()).toBe(0);
  });
});

test('does not reconcile an agent of a namespace whose objects are not all cached, and says so once', async () => {
  const namespaces: string[] = [];
  const incomplete = replica({
    allObservations: () => [
      change.object,
      { ...change.object, metadata: { ...change.object.metadata, name: 'y' } },
    ],
    observationAt: () => ({ ...change.object, spec: { ...change.object.spec, source: 'sidecar' } }),
    isIncomplete: (namespace) => namespaces.push(namespace) > 0,
    podsOf: () => {
      throw new Error('the cached pods of an incomplete namespace are read');
    },
  });
  await lead(incomplete);
  expect(new Set(namespaces)).toEqual(new Set(['n']));
  const notes = posts().map(({ body }) => body as { regarding: object; reason: string });
  expect(notes).toMatchObject([
    { reason: 'NotObserved', regarding: { kind: 'Namespace', name: 'n', namespace: 'n' } },
  ]);
});

test('says on the workload and in the log that a remote agent has its name', async () => {
  const pod = {
    metadata: { name: 'x', namespace: 'n', uid: 'p', annotations: { 'platform.io/inject': 'true' } },
  };
  const warnings: unknown[] = [];
  const hidden = replica({
    logger: { ...silentLogger, warn: (message, fields) => void warnings.push({ message, ...fields }) },
    allObservations: () => [change.object],
    observationAt: () => change.object,
    podsOf: () => [pod],
  });
  await lead(hidden);
  expect(warnings).toContainEqual({
    message: 'workload not observed, its agent name belongs to a remote agent',
    ...{ namespace: 'n', agent: 'x', kind: 'Pod', workload: 'x' },
  });
  expect(posts().map(({ body }) => body)).toContainEqual(
    expect.objectContaining({
      reason: 'NotObserved',
      regarding: expect.objectContaining({ kind: 'Pod' }) as object,
    }),
  );
});
