import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import type { AgentObservation } from '../core/observation/observation.ts';
import { freePorts } from '../examples/demo/free-ports.ts';
import { KubeError } from '../kube/client.ts';
import { jsonLines } from '../kube/json-lines.ts';
import { sameJson } from '../kube/merge-patch.ts';
import { listObjects } from '../kube/objects.ts';
import { AGENT_OBSERVATIONS, collectionPath } from '../kube/resources.ts';
import type { AuditEntry } from '../testing/api-audit.ts';
import { apiServerOf, type ApiServerProcess } from '../testing/api-server-process.ts';
import { compactEtcd } from '../testing/compact-etcd.ts';
import type { Fault, ProxiedRequest } from '../testing/fault-proxy.ts';
import { isSettled, makeAgents, removeAgent } from '../testing/fleet.ts';
import { OperatorRig, until, type OperatorProcess } from '../testing/operator-rig.ts';
import type { RunningPart } from '../testing/process-rig.ts';
import { IN_SOAK, withinLimit } from '../testing/real-time.ts';
import { openTroubledWay, type TroubledWay } from '../testing/troubled-way.ts';

const NAMESPACE = 'team';
/** How long a part may take to answer whether it is ready. */
const ANSWER_MS = 20_000;
/** How long an API server is slow, or rejects writes: shorter than what makes a process unready. */
const SHORT_MS = 5_000;
const ADMIN_KEY = 'admin-key-of-a-test';
const AWAY = 'the API server is not heard: pods, unlabelledPods, observations, services';
/** What each informer of an operator and a control plane asks for before it watches. */
const LISTS = [
  'control-plane agentobservations',
  'operator agentobservations',
  'operator pods !platform.io/agent',
  'operator pods platform.io/agent',
  'operator services',
];
const THROTTLED = { status: 429, retryAfter: 1 };

/** An operator and control planes, each on a way of its own to the one API server. */
interface Troubled {
  rig: OperatorRig;
  ways: { operator: TroubledWay; first: TroubledWay; second: TroubledWay };
  operator: OperatorProcess;
  controlPlanes: ControlPlaneProcess[];
}

interface ControlPlaneProcess extends RunningPart {
  url: string;
}

type Choice = (request: ProxiedRequest) => Fault | null;
const watches =
  (fault: Fault, others: Fault | null = null): Choice =>
  ({ isWatch }) =>
    isWatch ? fault : others;

/** Every informer has a trouble of its own, and so has everything else. */
const EACH_ITS_OWN: Record<string, Choice> = {
  pods: ({ query }) => (query.get('labelSelector')?.startsWith('!') ? { status: 500 } : THROTTLED),
  agentobservations: watches({ status: 410 }),
  services: watches('silent'),
};

/**
 * What an operator is when each response takes this long. A renewal of the Lease may take 5 s and caches are fresh for 15 s;
 * at 5 s per response a watch takes about as long from one sign of life to the next, so readiness alternates (null).
 */
const SLOW: { seconds: number; isReady: boolean | null; leads: boolean }[] = [
  { seconds: 2, isReady: true, leads: true },
  { seconds: 5, isReady: null, leads: false },
  { seconds: 10, isReady: false, leads: false },
].slice(0, IN_SOAK ? 3 : 1);

/** What goes wrong at the same time; `hang`: the network swallows everything. */
const ROUNDS: [string, Record<keyof Troubled['ways'], Choice | 'hang'>][] = [
  [
    'was unreachable without a reset, and then reachable by new connections only, is silent, expires and fails',
    { operator: 'hang', first: watches('silent'), second: watches({ status: 410 }, { status: 500 }) },
  ],
];
if (IN_SOAK)
  ROUNDS.push([
    'throttles, expires, fails and is silent, by what is requested',
    {
      operator: (request) => (EACH_ITS_OWN[request.resource] ?? (() => ({ status: 503 })))(request),
      first: () => THROTTLED,
      second: 'hang',
    },
  ]);

(whyNoControlPlane() ? describe.skip : describe)('an operator and control planes whose API server', () => {
  let troubled: Troubled;

  beforeAll(async () => {
    troubled = await openTroubled();
  });
  afterAll(async () => {
    await troubled?.rig.close();
    await Promise.all(Object.values(troubled?.ways ?? {}).map((way) => way.close()));
  });

  test('was killed and started again', async () => {
    const { rig } = troubled;
    const apiServer = await apiServerOf(rig.control);
    await apiServer.kill();
    // Caches expire after 15 s; the next test waits for that in any case.
    if (IN_SOAK) await areUnready(troubled);
    await startAgain(rig, apiServer);
    await recover(troubled, makeAgents(rig, [agent('after-kill')]), ['after-kill']);
  });

  test.each(ROUNDS)('%s', async (name, faults) => {
    const { ways, rig } = troubled;
    for (const way of ['operator', 'first', 'second'] as const) {
      const fault = faults[way];
      if (fault === 'hang') ways[way].network.hang();
      else ways[way].proxy.fail(fault);
    }
    const newcomer = `round-${ROUNDS.findIndex(([each]) => each === name)}`;
    const made = makeAgents(rig, [agent(newcomer)]);
    await areUnready(troubled).finally(() => heal(troubled));
    await recover(troubled, made, [newcomer]);
  });

  test.each(SLOW)('takes $seconds s for each response', async ({ seconds, isReady, leads }) => {
    const { ways, rig, operator } = troubled;
    const name = `slow-${seconds}`;
    Object.values(ways).forEach(({ proxy }) => proxy.fail(() => ({ lateMs: 1_000 * seconds })));
    const made = makeAgents(rig, [agent(name)]);
    // Long enough for every watch and every cache to expire where it does.
    await sleep(Math.max(SHORT_MS, 6_000 * seconds));
    const seen = { isReady: (await operator.readiness())?.status === 200, leads: await isLeading(operator) };
    heal(troubled);
    expect(seen).toEqual({ isReady: isReady ?? seen.isReady, leads });
    await recover(troubled, made, [name]);
  });

  test('rejects writes and ends every watch as too old', async () => {
    const { rig, ways, operator } = troubled;
    const { proxy } = ways.operator;
    const rejections = [THROTTLED, { status: 500 }, { status: 503 }];
    let rejected = 0;
    proxy.fail(({ isWatch, method, isNamed }) => {
      if (isWatch || (method === 'GET' && !isNamed)) return null;
      return rejections[rejected++ % rejections.length] ?? null;
    });
    proxy.expire();
    try {
      await makeAgents(rig, [agent('rejected')]);
      await until('more tries than rejections differ', () => rejected > rejections.length);
      // It reads everything that there is, again from the list that an expired watch asks for.
      await until('readiness', async () => (await operator.readiness())?.status === 200);
    } finally {
      // The tests after this one use the same way.
      proxy.heal();
    }
    await recover(troubled, Promise.resolve(), ['rejected']);
  });

  test('cut every connection again and again', async () => {
    const { rig, ways, operator } = troubled;
    const names = Array.from({ length: 5 }, (_, round) => `cut-${round}`);
    for (const name of names) {
      Object.values(ways).forEach(({ network }) => network.cut());
      await makeAgents(rig, [agent(name)]);
    }
    await recover(troubled, Promise.resolve(), names);
    expect(await isLeading(operator)).toBe(true);
  });

  test('has compacted away what they saw last, while they were suspended', async () => {
    const { rig, operator, controlPlanes } = troubled;
    await rig.quiet();
    const before = await listObjects(rig.client, AGENT_OBSERVATIONS);
    const others = before.items.map(({ metadata }) => metadata.name).filter((name) => name !== 'first');
    const names = [...others, 'elsewhere', 'unseen'].sort();
    const apiServer = await apiServerOf(rig.control);
    const signalAll = (signal: NodeJS.Signals) =>
      [operator, ...controlPlanes].forEach((each) => each.kill(signal));
    signalAll('SIGSTOP');
    await apiServer.kill();
    // Its cache is a memory of its own.
    await startAgain(rig, apiServer, ['--watch-cache=false']);
    await removeAgent(rig, agent('first'));
    await makeAgents(rig, [agent('unseen')]);
    await rig.post(collectionPath(AGENT_OBSERVATIONS, NAMESPACE), elsewhere);
    expect(await answerToWatch(rig, before.resourceVersion)).toMatchObject({ type: 'ADDED' });
    await compactEtcd(rig.control);
    expect(await answerToWatch(rig, before.resourceVersion)).toMatchObject({
      ...{ type: 'ERROR', object: { code: 410, reason: 'Expired' } },
    });
    const logged = rig.audit.all().length;
    signalAll('SIGCONT');
    await recover(troubled, areAll(troubled, names), ['unseen']);
    // No watch went on: the list that a 410 asks for replaces each, at a time of its own.
    const lists = () => {
      const since = rig.audit.all().slice(logged);
      return [...new Set(since.filter(({ verb }) => verb === 'list').map(listed))].sort();
    };
    await until('a list of every informer', () => lists().length >= LISTS.length);
    expect(lists()).toEqual(LISTS);
    await rig.quiet();
    // An object that did not change costs no write.
    const after = await rig.observations();
    const named = (all: AgentObservation[]) => all.find(({ metadata }) => metadata.name === 'after-kill');
    expect(named(after)).toEqual(named(before.items));
  });
});

const agent = (name: string) => ({ namespace: NAMESPACE, name, pods: 1 });
const elsewhere = {
  apiVersion: 'platform.io/v1',
  kind: 'AgentObservation',
  metadata: { name: 'elsewhere' },
  spec: { source: 'remote' },
};
const isLeading = async (operator: OperatorProcess) =>
  (await operator.metric('leader_election_master_status')) === 1;
const heal = ({ ways }: Troubled): void => Object.values(ways).forEach((way) => way.heal());

async function openTroubled(): Promise<Troubled> {
  const rig = await OperatorRig.open([NAMESPACE]);
  return orClosed(rig, async () => {
    const open = () => openTroubledWay(rig.control);
    const [operator, first, second] = await Promise.all([open(), open(), open()]);
    const parts = await started(rig, { operator: operator.url, others: [first.url, second.url] });
    return { rig, ways: { operator, first, second }, ...parts };
  });
}

/** What cannot be opened whole leaves nothing behind. */
async function orClosed<T>(rig: OperatorRig, open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    await rig.close();
    throw error;
  }
}

/** An operator that leads and has work behind it, and control planes, by the addresses at which they find the API server. */
async function started(
  rig: OperatorRig,
  urls: { operator: string; others: string[] },
): Promise<Pick<Troubled, 'operator' | 'controlPlanes'>> {
  for (const name of ['operator', 'control-plane']) await rig.addAccount(name);
  const [operator, ...controlPlanes] = await Promise.all([
    rig.startOperator('operator', urls.operator),
    ...urls.others.map((url) => startControlPlane(rig, url)),
    makeAgents(rig, [agent('first')]),
  ]).then((all) => all.slice(0, -1) as [OperatorProcess, ...ControlPlaneProcess[]]);
  await observed(rig, ['first']).catch((error: unknown) => {
    throw new Error(`${String(error)}; the operator says\n${operator.output()}`);
  });
  return { operator, controlPlanes };
}

async function startControlPlane(rig: OperatorRig, apiServer: string): Promise<ControlPlaneProcess> {
  const [port = 0] = await freePorts(1);
  const url = `http://127.0.0.1:${port}`;
  const started = await rig.processes.start('control-plane', `${url}/readyz`, {
    PORT: String(port),
    STORE: 'kubernetes',
    PLATFORM_ADMIN_KEY: ADMIN_KEY,
    KUBECONFIG: await rig.kubeconfigOf('control-plane', apiServer),
  });
  return { ...started, url };
}

async function startAgain(rig: OperatorRig, apiServer: ApiServerProcess, flags?: string[]): Promise<void> {
  await apiServer.start(flags);
  await until('the API server', async () => {
    const answer = rig.client.send({ method: 'GET', path: collectionPath(AGENT_OBSERVATIONS) });
    return (await answer.catch(() => null))?.ok === true;
  });
}

const observed = (rig: OperatorRig, names: readonly string[]) =>
  until(`the observations of ${names.join(', ')}`, async () => {
    const found = (await rig.observations()).filter(isSettled).map(({ metadata }) => metadata.name);
    return names.every((name) => found.includes(name));
  });

/** Who listed what. */
function listed({ user, objectRef, requestURI }: AuditEntry): string {
  const selector = new URL(requestURI, 'https://api').searchParams.get('labelSelector');
  return [user.username.split(':').at(-1), objectRef?.resource, selector ?? ''].join(' ').trim();
}

/** The first thing that a watch of the observations from that version on is told. */
async function answerToWatch(rig: OperatorRig, resourceVersion: string): Promise<unknown> {
  const stream = await rig.client.stream({
    method: 'GET',
    path: collectionPath(AGENT_OBSERVATIONS),
    query: { watch: true, resourceVersion, timeoutSeconds: 1 },
  });
  if (!stream.ok) throw new KubeError(stream);
  for await (const event of jsonLines(stream.chunks)) return event;
  return null;
}

/** Each observation and each control plane says that these agents are there, and no other. */
async function areAll({ rig, controlPlanes }: Parts & { rig: OperatorRig }, names: readonly string[]) {
  await until(`${names.join(', ')} and no other`, async () => {
    const lists = [rig.observations().then((all) => all.map(({ metadata }) => metadata.name))];
    for (const { url } of controlPlanes) lists.push(agentsOf(url));
    return (await Promise.all(lists)).every((list) => sameJson([...list].sort(), names));
  });
}

async function agentsOf(url: string): Promise<string[]> {
  const headers = { 'x-admin-key': ADMIN_KEY };
  const answer = await fetch(`${url}/api/v1/agents`, { headers, signal: AbortSignal.timeout(2_000) });
  return answer.ok ? ((await answer.json()) as { agentName: string }[]).map((each) => each.agentName) : [];
}

const statusOf = (url: string): Promise<number> =>
  fetch(url, { signal: AbortSignal.timeout(ANSWER_MS) }).then(
    ({ status }) => status,
    () => 0,
  );

type Parts = Pick<Troubled, 'operator' | 'controlPlanes'>;

/** All say that they lag, and none is to be restarted for it. */
async function areUnready({ operator, controlPlanes }: Parts): Promise<void> {
  await until('the truth', async () => {
    const said = await operator.readiness();
    return said?.status === 503 && said.detail === AWAY;
  });
  for (const { url } of controlPlanes)
    await until("a control plane's truth", async () => (await statusOf(`${url}/readyz`)) === 503);
  await areLive({ operator, controlPlanes });
}

async function areLive({ operator, controlPlanes }: Parts): Promise<void> {
  expect(await operator.isLive()).toBe(true);
  for (const { url } of controlPlanes) expect(await statusOf(`${url}/livez`)).toBe(200);
}

/** From now on all is well: what was made is seen in time, by the processes that were there before. */
async function recover(
  { rig, operator, controlPlanes }: Parts & { rig: OperatorRig },
  made: Promise<void>,
  names: readonly string[],
): Promise<void> {
  const took = withinLimit('recovery from an outage');
  await Promise.all([
    made.then(() => observed(rig, names)),
    until('readiness', async () => (await operator.readiness())?.status === 200),
    ...controlPlanes.map(({ url }) =>
      until("a control plane's readiness", async () => (await statusOf(`${url}/readyz`)) === 200),
    ),
  ]);
  took();
  await areLive({ operator, controlPlanes });
}
