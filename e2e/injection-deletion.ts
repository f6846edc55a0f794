// Deleting a pod under traffic must not lose requests: the sidecar closes client connections while the agent still serves,
// exits after the agent, and returns 0. Part of injection.test.ts, whose tests run while these scenarios wait.
import { beforeAll, describe, expect, test } from '@jest/globals';
import { manifestConfigMap, manifestOf } from './agent-workload.ts';
import { IN_SOAK } from '../testing/time/real-time.ts';
import type { Cluster } from './cluster/cluster.ts';
import { eventually, kubectlOf, type Kubectl, type KubeObject } from './kubectl.ts';
import {
  lingeringDeployment,
  OPTED_IN,
  podTemplate,
  programContainer,
  programsConfigMap,
  type ContainerEnd,
  type PodObject,
  type ServiceObject,
} from './program-pods.ts';

export const DELETION_NAMESPACE = 'deletion';
const AGENT = 'deleted';
const ROLLING = 'rolling';
/** Exits at SIGTERM without delay, and has a preStop hook instead. */
const SLEEPY = 'sleepy';
const WORKERS = 8;
/** How long an agent serves after its last request, so that clients are notified before its end: twenty times the usual delay. */
const LINGER_SECONDS = 10;
/** The same without that knowledge. A busy kubelet may also run the sidecar's hook some seconds after the agent's hook. */
const HOOK_SECONDS = 45;
const AGENT_PROGRAM = `import('/programs/lingering-agent.ts');`;
/** The same without the delay. */
const EXITS_IMMEDIATELY = (code: number) =>
  `${AGENT_PROGRAM} process.once('SIGTERM', () => process.exit(${code}));`;
/** Long enough for a busy kubelet, which subtracts its own delays from the time of the sidecar. */
const LONG_GRACE = { terminationGracePeriodSeconds: 90 };
const HOLD = { metadata: { finalizers: ['e2e.test/hold'] } };
const RELEASE = { metadata: { finalizers: null } };

interface Traffic {
  responses: Record<string, number>;
  failed: number;
  failures: string[];
  connections: number;
}
interface Streams {
  events: number;
  lastEvent: string;
  stream: 'open' | 'whole' | 'cut';
  ticks: number;
  closeCode: number;
}

let cluster: Cluster;
let kubectl: Kubectl;

/** `hosts`: addresses by name, because the cluster's DNS is not under test. */
function clientPod(name: string, args: readonly string[], hosts: Record<string, string> = {}): KubeObject {
  const hostAliases = Object.entries(hosts).map(([host, ip]) => ({ ip, hostnames: [host] }));
  const { metadata, spec } = podTemplate(
    'client',
    [programContainer('client', cluster.imageRef('example-agents'), args)],
    { spec: { restartPolicy: 'Never', activeDeadlineSeconds: 1_200, hostAliases } },
  );
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, ...metadata }, spec };
}

/** The last JSON line of a pod that runs one of the clients. */
async function lastLine<T>(name: string): Promise<T> {
  const log = (await kubectl.logs(name)).trim().split('\n');
  return JSON.parse(log.at(-1) ?? '') as T;
}

async function firstResult<T>(name: string): Promise<T> {
  return (await eventually(`the first output of ${name}`, () => lastLine<T>(name))).result;
}

/** The last output of a client after it has ended. */
async function resultOf<T>(name: string): Promise<T> {
  await kubectl.waitFor('jsonpath={.status.phase}=Succeeded', `pod/${name}`);
  const result = await lastLine<T>(name);
  await kubectl.run('delete', 'pod', name);
  return result;
}

/**
 * Runs `act` while two clients send continuously, one with reused and one with new connections. Afterwards each worker
 * finishes its current request and sends one more. `reuse, before` is the result of the first client before `act`. Both run in
 * one pod.
 */
async function underTraffic(
  agent: string,
  act: (busiest: string) => Promise<void>,
): Promise<Record<string, Traffic>> {
  const url = `http://${agent}`;
  const { spec } = await kubectl.get<ServiceObject>('service', agent);
  const name = `traffic-to-${agent}`;
  const args = ['steady-client.ts', url, String(WORKERS), 'reuse,fresh'];
  await kubectl.apply([clientPod(name, args, { [agent]: spec.clusterIP })]);
  const { reuse } = await firstResult<Record<string, Traffic>>(name);
  // The pod with the most reused connections.
  const [busiest] = Object.entries(reuse?.responses ?? {}).sort(([, a], [, b]) => b - a)[0] ?? [];
  await act(String(busiest));
  await kubectl.script(name, 'client', `process.kill(1, 'SIGTERM')`);
  return { ...(await resultOf<Record<string, Traffic>>(name)), 'reuse, before': reuse! };
}

/** The final state of a deleted pod. */
interface EndedPod extends PodObject {
  /** Why and when the containers ended, and the last log lines of the sidecar; null if the sidecar exited normally. */
  failure: string[] | null;
}

/** The containers of a pod, sidecars first. */
const containersOf = ({ status }: PodObject): ContainerEnd[] => [
  ...(status.initContainerStatuses ?? []),
  ...(status.containerStatuses ?? []),
];

async function failureOf(pod: PodObject): Promise<string[] | null> {
  const { metadata, status } = pod;
  if (status.initContainerStatuses?.every(({ state }) => state.terminated?.exitCode === 0) === true)
    return null;
  const log = await kubectl
    .run('logs', metadata.name, '-c', 'platform-sidecar', '--tail=20', '--timestamps')
    .catch(String);
  return [
    `deletion until ${metadata.deletionTimestamp}`,
    ...containersOf(pod).map((each) => JSON.stringify(each)),
    ...log.trim().split('\n'),
  ];
}

/** Waits until all containers of the deleted pod have ended, then releases the pod object and returns it. */
async function endOf(name: string): Promise<EndedPod> {
  const { result } = await eventually(
    `the end of ${name}`,
    () => kubectl.get<PodObject>('pod', name),
    (pod) => containersOf(pod).every(({ state }) => state.terminated !== undefined),
  );
  const failure = await failureOf(result);
  await kubectl.run('patch', 'pod', name, '--type=merge', '-p', JSON.stringify(RELEASE));
  return { ...result, failure };
}

/** Deletes the pod; the pod object stays until `endOf` releases it. */
async function deletePod(name: string): Promise<void> {
  await kubectl.run('patch', 'pod', name, '--type=merge', '-p', JSON.stringify(HOLD));
  await kubectl.run('delete', 'pod', name, '--wait=false');
}

const endAt = (statuses: readonly ContainerEnd[] | undefined, name: string) =>
  Date.parse(statuses?.find((each) => each.name === name)?.state.terminated?.finishedAt ?? '');

/** Expects that the agent ends before the sidecar, both with exit code 0. */
function expectOrderedExit(ended: EndedPod): void {
  const { status, failure } = ended;
  expect(failure).toBeNull();
  expect(
    containersOf(ended).map(({ name, state }) => ({ name, exitCode: state.terminated?.exitCode })),
  ).toEqual([
    { name: 'platform-sidecar', exitCode: 0 },
    { name: 'agent', exitCode: 0 },
  ]);
  expect(endAt(status.initContainerStatuses, 'platform-sidecar')).toBeGreaterThanOrEqual(
    endAt(status.containerStatuses, 'agent'),
  );
}

function expectNothingLost(traffic: Traffic | undefined): void {
  expect(traffic).toMatchObject({ failed: 0, failures: [] });
  expect(Object.values(traffic?.responses ?? {}).reduce((sum, count) => sum + count, 0)).toBeGreaterThan(
    WORKERS * 2,
  );
}

/** Results of a stream and a WebSocket to a deleted pod, and the final state of the pod. */
interface CutStreams {
  streams: Streams;
  ended: EndedPod;
}

const CUT = [
  { name: 'abrupt', how: 'exits', program: EXITS_IMMEDIATELY(3), graceSeconds: 30, exitCode: 3 },
  // The sidecar has the two extra seconds of the kubelet.
  { name: 'stubborn', how: 'has to be killed', program: AGENT_PROGRAM, graceSeconds: 2, exitCode: 137 },
];

async function deletedUnderTraffic(): Promise<CutStreams & { traffic: Record<string, Traffic> }> {
  const ends = Promise.withResolvers<EndedPod>();
  const traffic = await underTraffic(AGENT, async (busiest) => {
    const { status } = await kubectl.get<PodObject>('pod', busiest);
    await kubectl.apply([clientPod('streams', ['stream-client.ts', `${status.podIP}:4000`])]);
    await firstResult<Streams>('streams');
    await deletePod(busiest);
    ends.resolve(await endOf(busiest));
  });
  return { traffic, ended: await ends.promise, streams: await resultOf<Streams>('streams') };
}

async function restartedUnderTraffic(): Promise<{ before: string[]; traffic: Record<string, Traffic> }> {
  const before = (await kubectl.run('get', 'pods', '-l', `app=${ROLLING}`, '-o', 'name')).trim().split('\n');
  const traffic = await underTraffic(ROLLING, async () => {
    await kubectl.run('rollout', 'restart', `deploy/${ROLLING}`);
    await kubectl.rolledOut(`deploy/${ROLLING}`);
    // The previous pods still serve at this time.
    await kubectl.waitFor('delete', ...before);
  });
  return { before, traffic };
}

async function sleepyUnderTraffic(): Promise<{ ended: EndedPod; traffic: Record<string, Traffic> }> {
  const ends = Promise.withResolvers<EndedPod>();
  const traffic = await underTraffic(SLEEPY, async (busiest) => {
    await deletePod(busiest);
    ends.resolve(await endOf(busiest));
  });
  return { traffic, ended: await ends.promise };
}

async function cutInAStream({ name, program, graceSeconds }: (typeof CUT)[number]): Promise<CutStreams> {
  const container = {
    ...programContainer('agent', cluster.imageRef('example-agents'), ['-e', program]),
    ports: [{ name: 'http', containerPort: 8000 }],
    readinessProbe: { httpGet: { path: '/health', port: 'http' }, periodSeconds: 1, timeoutSeconds: 20 },
  };
  const { metadata, spec } = podTemplate(name, [container], {
    annotations: OPTED_IN,
    spec: { restartPolicy: 'Never', terminationGracePeriodSeconds: graceSeconds },
  });
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name, ...metadata }, spec };
  const client = `streams-of-${name}`;
  await kubectl.apply([manifestConfigMap(name, manifestOf(name)), pod]);
  await kubectl.waitFor('condition=Ready', `pod/${name}`);
  const { status } = await kubectl.get<PodObject>('pod', name);
  await kubectl.apply([clientPod(client, ['stream-client.ts', `${status.podIP}:4000`])]);
  await firstResult<Streams>(client);
  await deletePod(name);
  const ended = await endOf(name);
  return { ended, streams: await resultOf<Streams>(client) };
}

let runs: {
  deleted: ReturnType<typeof deletedUnderTraffic>;
  restarted: ReturnType<typeof restartedUnderTraffic>;
  sleepy: ReturnType<typeof sleepyUnderTraffic>;
  cut: Promise<CutStreams>[];
};

/** Starts every scenario in an installation of the product. The scenarios share no pods and mostly wait. */
export async function startDeletions(inCluster: Cluster): Promise<void> {
  cluster = inCluster;
  kubectl = kubectlOf(cluster, DELETION_NAMESPACE);
  const env = [{ name: 'LINGER_MS', value: String(1_000 * LINGER_SECONDS) }];
  await kubectl.run('create', 'namespace', DELETION_NAMESPACE);
  await kubectl.apply([
    programsConfigMap(),
    ...[AGENT, ROLLING].flatMap((name) =>
      lingeringDeployment(name, cluster.imageRef('example-agents'), {
        replicas: 2,
        spec: LONG_GRACE,
        container: { env },
      }),
    ),
    ...lingeringDeployment(SLEEPY, cluster.imageRef('example-agents'), {
      replicas: 2,
      spec: LONG_GRACE,
      container: {
        args: ['-e', EXITS_IMMEDIATELY(0)],
        lifecycle: { preStop: { sleep: { seconds: HOOK_SECONDS } } },
      },
    }),
  ]);
  const isUp = (name: string) => kubectl.rolledOut(`deploy/${name}`);
  runs = {
    deleted: isUp(AGENT).then(deletedUnderTraffic),
    restarted: isUp(ROLLING).then(restartedUnderTraffic),
    sleepy: isUp(SLEEPY).then(sleepyUnderTraffic),
    cut: CUT.map(cutInAStream),
  };
  // Failures are reported by the tests that await the result.
  for (const run of Object.values(runs).flat()) run.catch(() => undefined);
}

/** The tests for the scenarios of `startDeletions`. */
export function describeDeletions(): void {
  describe('a pod that is deleted under traffic', () => {
    let traffic: Record<string, Traffic>;
    let streams: Streams;
    let ended: EndedPod;

    beforeAll(async () => {
      ({ traffic, streams, ended } = await runs.deleted);
    });

    test.each(['reuse', 'fresh'])('loses no request of the client with %s connections', (kind) => {
      expectNothingLost(traffic[kind]);
      expect(traffic[kind]?.responses[ended.metadata.name]).toBeGreaterThan(0);
      expect(Object.keys(traffic[kind]?.responses ?? {}).length).toBeGreaterThan(1);
    });

    test('keeps client connections open until the deletion', () => {
      const { responses = {}, connections } = traffic['reuse, before'] ?? {};
      expect(connections).toBe(WORKERS);
      expect(Object.values(responses).reduce((sum, count) => sum + count, 0)).toBeGreaterThan(4 * WORKERS);
    });

    test('ends the agent before the sidecar, both with exit code 0', () => {
      expectOrderedExit(ended);
    });

    test('has no warning about a failed preStop hook', async () => {
      const events = await kubectl.run('get', 'events', '--field-selector', 'reason=FailedPreStopHook');
      expect(events.trim()).toBe('');
    });

    test('delivers a stream of the agent completely', () => {
      // Three seconds with four events each after SIGTERM.
      expect(streams).toMatchObject({ stream: 'whole', lastEvent: 'the end' });
      expect(streams.events).toBeGreaterThanOrEqual(8);
    });

    test('delivers the close frame of the agent to a WebSocket client', () => {
      expect(streams.closeCode).toBe(1001);
      expect(streams.ticks).toBeGreaterThanOrEqual(8);
    });
  });

  describe('a rolling restart of two replicas under traffic', () => {
    test.each(['reuse', 'fresh'])('loses no request of the client with %s connections', async (kind) => {
      const { traffic, before } = await runs.restarted;
      expectNothingLost(traffic[kind]);
      const isOld = (pod: string) => before.includes(`pod/${pod}`);
      const pods = Object.keys(traffic[kind]?.responses ?? {});
      expect(pods.some(isOld)).toBe(true);
      expect(pods.some((pod) => !isOld(pod))).toBe(true);
    });
  });

  describe('an agent that exits immediately', () => {
    test('with a preStop sleep: deleting its pod loses no request', async () => {
      const { traffic, ended } = await runs.sleepy;
      expectOrderedExit(ended);
      for (const kind of ['reuse', 'fresh']) expectNothingLost(traffic[kind]);
    });

    test.each(CUT)(
      'that $how during a stream: the client sees a truncated stream, and the sidecar exits normally',
      async ({ name, exitCode }) => {
        const run = await runs.cut[CUT.findIndex((each) => each.name === name)];
        const exitOf = (statuses: readonly ContainerEnd[] | undefined) =>
          statuses?.map((each) => each.state.terminated?.exitCode);
        expect(exitOf(run?.ended.status.containerStatuses)).toEqual([exitCode]);
        // The kubelet kills a sidecar that needs more than two seconds, which can happen on a busy machine.
        const mayBeKilled = name === 'stubborn' && !IN_SOAK;
        expect(mayBeKilled ? [[0], [137]] : [[0]]).toContainEqual(
          exitOf(run?.ended.status.initContainerStatuses),
        );
        // 1006: the connection ended without a close frame.
        expect(run?.streams).toMatchObject({ stream: 'cut', closeCode: 1006 });
      },
    );
  });
}
