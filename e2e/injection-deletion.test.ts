// A pod that is deleted under traffic loses no request: its sidecar sends clients away while the agent still serves,
// outlives the agent, and ends with 0.
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { manifestConfigMap, manifestOf } from './agent-workload.ts';
import { startCluster, type Cluster } from './cluster/cluster.ts';
import { eventually, kubectlOf, TEST_MS, type Kubectl, type KubeObject } from './kubectl.ts';
import { installProduct, leave } from './product.ts';
import {
  lingeringDeployment,
  OPTED_IN,
  podTemplate,
  programContainer,
  programsConfigMap,
  type ContainerEnd,
  type PodObject,
} from './program-pods.ts';
import { startQuietClock } from '../testing/quiet-clock.ts';

jest.setTimeout(TEST_MS);

const NAMESPACE = 'deletion';
const AGENT = 'rolling';
/** Ends at SIGTERM, and has a preStop hook in place of patience. */
const SLEEPY = 'sleepy';
const WORKERS = 8;
/**
 * What an agent gives to those who send to it, so that they hear of its end before it ends: three seconds on a quiet machine,
 * where news takes half a second. Longer by as much as the machine is slow, up to a time that a pod's grace holds.
 */
const LINGER_SECONDS = 3;
const MOST_SECONDS = 20;
const AGENT_PROGRAM = `import('/programs/lingering-agent.ts');`;
/** The same without its patience. */
const ENDS_AT_ONCE = (code: number) =>
  `${AGENT_PROGRAM} process.once('SIGTERM', () => process.exit(${code}));`;
const HOLD = { metadata: { finalizers: ['e2e.test/hold'] } };
const LET_GO = { metadata: { finalizers: null } };

interface Traffic {
  answers: Record<string, number>;
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
let lingerSeconds: number;

beforeAll(async () => {
  const clock = startQuietClock();
  cluster = await startCluster();
  kubectl = kubectlOf(cluster, NAMESPACE);
  await installProduct(cluster);
  await clock.close();
  lingerSeconds = Math.min(MOST_SECONDS, Math.ceil(LINGER_SECONDS * clock.slowness()));
  process.stdout.write(`agents linger for ${lingerSeconds} s\n`);
  const env = [{ name: 'LINGER_MS', value: String(1_000 * lingerSeconds) }];
  await kubectl.run('create', 'namespace', NAMESPACE);
  await kubectl.apply([
    programsConfigMap(),
    ...lingeringDeployment(AGENT, cluster.imageRef('example-agents'), { replicas: 2, container: { env } }),
    ...lingeringDeployment(SLEEPY, cluster.imageRef('example-agents'), {
      replicas: 2,
      container: {
        args: ['-e', ENDS_AT_ONCE(0)],
        lifecycle: { preStop: { sleep: { seconds: lingerSeconds + 2 } } },
      },
    }),
  ]);
  for (const name of [AGENT, SLEEPY]) await kubectl.rolledOut(`deploy/${name}`);
});

afterAll(async () => {
  await leave(cluster, NAMESPACE);
});

/** `knows`: addresses by name, for what is tested is not the cluster's DNS. */
function clientPod(name: string, args: readonly string[], knows: Record<string, string> = {}): KubeObject {
  const hostAliases = Object.entries(knows).map(([host, ip]) => ({ ip, hostnames: [host] }));
  const { metadata, spec } = podTemplate(
    'client',
    [programContainer('client', cluster.imageRef('example-agents'), args)],
    { spec: { restartPolicy: 'Never', activeDeadlineSeconds: 1_200, hostAliases } },
  );
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, ...metadata }, spec };
}

/** The last JSON line of a pod that runs one of the clients. */
async function lastLine<T>(name: string): Promise<T> {
  const log = (await kubectl.run('logs', name)).trim().split('\n');
  return JSON.parse(log.at(-1) ?? '') as T;
}

async function begun<T>(name: string): Promise<T> {
  return (await eventually(`the beginning of ${name}`, () => lastLine<T>(name))).answer;
}

/** What a client says at its end, which it comes to by itself. */
async function resultOf<T>(name: string): Promise<T> {
  await kubectl.waitFor('jsonpath={.status.phase}=Succeeded', `pod/${name}`);
  const result = await lastLine<T>(name);
  await kubectl.run('delete', 'pod', name);
  return result;
}

/**
 * Runs `act` while two clients send without a pause, one that reuses its connections and one that does not. When it is over,
 * each of their workers ends what it has under way, and sends once more.
 */
async function underTraffic(
  agent: string,
  act: (busiest: string) => Promise<void>,
): Promise<Record<string, Traffic>> {
  const kinds = ['reuse', 'fresh'];
  const url = `http://${agent}`;
  const ip = await kubectl.run('get', 'service', agent, '-o', 'jsonpath={.spec.clusterIP}');
  const argsOf = (kind: string) => ['steady-client.ts', url, String(WORKERS), kind];
  await kubectl.apply(kinds.map((kind) => clientPod(kind, argsOf(kind), { [agent]: ip })));
  const [reuse] = await Promise.all(kinds.map((kind) => begun<Traffic>(kind)));
  // The pod that most of the kept connections go to.
  const [busiest] = Object.entries(reuse?.answers ?? {}).sort(([, a], [, b]) => b - a)[0] ?? [];
  await act(String(busiest));
  await Promise.all(kinds.map((kind) => kubectl.script(kind, 'client', `process.kill(1, 'SIGTERM')`)));
  const results = await Promise.all(kinds.map((kind) => resultOf<Traffic>(kind)));
  return Object.fromEntries(kinds.map((kind, n) => [kind, results[n]!]));
}

/** The deleted pod with the ends of all its containers; then it may go. */
async function endOf(name: string): Promise<PodObject> {
  const { answer } = await eventually(
    `the end of ${name}`,
    () => kubectl.get<PodObject>('pod', name),
    ({ status }) =>
      [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])].every(
        ({ state }) => state.terminated !== undefined,
      ),
  );
  await kubectl.run('patch', 'pod', name, '--type=merge', '-p', JSON.stringify(LET_GO));
  return answer;
}

/** The pod object stays after its end, until `endOf` lets it go. */
async function deletePod(name: string): Promise<void> {
  await kubectl.run('patch', 'pod', name, '--type=merge', '-p', JSON.stringify(HOLD));
  await kubectl.run('delete', 'pod', name, '--wait=false');
}

const endAt = (statuses: readonly ContainerEnd[] | undefined, name: string) =>
  Date.parse(statuses?.find((each) => each.name === name)?.state.terminated?.finishedAt ?? '');

/** The agent first, then the sidecar, each by itself and well. */
function expectGoodEnd({ status }: PodObject): void {
  const ends = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  expect(ends.map(({ name, state }) => ({ name, exitCode: state.terminated?.exitCode }))).toEqual([
    { name: 'platform-sidecar', exitCode: 0 },
    { name: 'agent', exitCode: 0 },
  ]);
  expect(endAt(status.initContainerStatuses, 'platform-sidecar')).toBeGreaterThanOrEqual(
    endAt(status.containerStatuses, 'agent'),
  );
}

function expectNothingLost(traffic: Traffic | undefined): void {
  expect(traffic).toMatchObject({ failed: 0, failures: [] });
  expect(Object.values(traffic?.answers ?? {}).reduce((sum, count) => sum + count, 0)).toBeGreaterThan(
    WORKERS * 2,
  );
}

describe('a pod that is deleted under traffic', () => {
  let traffic: Record<string, Traffic>;
  let streams: Streams;
  let ended: PodObject;

  beforeAll(async () => {
    traffic = await underTraffic(AGENT, async (busiest) => {
      const { status } = await kubectl.get<PodObject>('pod', busiest);
      await kubectl.apply([clientPod('streams', ['stream-client.ts', `${status.podIP}:4000`])]);
      await begun<Streams>('streams');
      await deletePod(busiest);
      ended = await endOf(busiest);
    });
    streams = await resultOf<Streams>('streams');
  });

  test.each(['reuse', 'fresh'])('loses no request of the client with %s connections', (kind) => {
    expectNothingLost(traffic[kind]);
    expect(traffic[kind]?.answers[ended.metadata.name]).toBeGreaterThan(0);
    expect(Object.keys(traffic[kind]?.answers ?? {}).length).toBeGreaterThan(1);
  });

  test('has kept connections reused until then: the client was not sent away before', () => {
    const { answers = {}, connections = Infinity } = traffic['reuse'] ?? {};
    const requests = Object.values(answers).reduce((sum, count) => sum + count, 0);
    expect(connections).toBeLessThanOrEqual(2 * WORKERS);
    expect(requests).toBeGreaterThan(4 * connections);
  });

  test('ends its agent first and its sidecar after it, both with 0', () => {
    expectGoodEnd(ended);
  });

  test('has no warning of its own about a hook', async () => {
    const events = await kubectl.run('get', 'events', '--field-selector', 'reason=FailedPreStopHook');
    expect(events.trim()).toBe('');
  });

  test('leaves a stream to its agent: what it sends until its end arrives, and the end is whole', () => {
    // Three seconds of an event every quarter, after SIGTERM.
    expect(streams).toMatchObject({ stream: 'whole', lastEvent: 'the end' });
    expect(streams.events).toBeGreaterThanOrEqual(8);
  });

  test('leaves a WebSocket to its agent: it ends with the close frame that the agent sends', () => {
    expect(streams.closeCode).toBe(1001);
    expect(streams.ticks).toBeGreaterThanOrEqual(8);
  });
});

describe('a rolling restart of two replicas under traffic', () => {
  test('loses no request, with connections reused and without', async () => {
    const before = (await kubectl.run('get', 'pods', '-l', `app=${AGENT}`, '-o', 'name')).trim().split('\n');
    const traffic = await underTraffic(AGENT, async () => {
      await kubectl.run('rollout', 'restart', `deploy/${AGENT}`);
      await kubectl.rolledOut(`deploy/${AGENT}`);
      // Those of before still serve then.
      await kubectl.waitFor('delete', ...before);
    });
    for (const kind of ['reuse', 'fresh']) {
      expectNothingLost(traffic[kind]);
      const isOld = (pod: string) => before.includes(`pod/${pod}`);
      const pods = Object.keys(traffic[kind]?.answers ?? {});
      expect(pods.some(isOld)).toBe(true);
      expect(pods.some((pod) => !isOld(pod))).toBe(true);
    }
  });
});

describe('an agent that ends at once', () => {
  test('and has a preStop hook that sleeps: no request is lost when its pod is deleted', async () => {
    const traffic = await underTraffic(SLEEPY, async (busiest) => {
      await deletePod(busiest);
      expectGoodEnd(await endOf(busiest));
    });
    for (const kind of ['reuse', 'fresh']) expectNothingLost(traffic[kind]);
  });

  test.each([
    { name: 'abrupt', how: 'ends', program: ENDS_AT_ONCE(3), graceSeconds: 30, exitCode: 3 },
    // The sidecar has the two seconds that the kubelet adds.
    { name: 'stubborn', how: 'has to be killed', program: AGENT_PROGRAM, graceSeconds: 2, exitCode: 137 },
  ])(
    'that $how in the middle of a stream: the client sees the cut, and the sidecar ends with 0 all the same',
    async ({ name, program, graceSeconds, exitCode }) => {
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
      await begun<Streams>(client);
      await deletePod(name);
      const ended = await endOf(name);
      const exitOf = (statuses: readonly ContainerEnd[] | undefined) =>
        statuses?.map((each) => each.state.terminated?.exitCode);
      expect(exitOf(ended.status.containerStatuses)).toEqual([exitCode]);
      expect(exitOf(ended.status.initContainerStatuses)).toEqual([0]);
      // 1006: the connection ended without a close frame.
      expect(await resultOf<Streams>(client)).toMatchObject({ stream: 'cut', closeCode: 1006 });
    },
  );
});
