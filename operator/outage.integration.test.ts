import { beforeAll, describe, expect } from '@jest/globals';
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
import { failoverContract } from '../testing/failover-contract.ts';
import type { Fault, ProxiedRequest } from '../testing/fault-proxy.ts';
import { isSettled, makeAgents, removeAgent } from '../testing/fleet.ts';
import { createLane } from '../testing/lane.ts';
import { OperatorRig, until, type OperatorProcess } from '../testing/operator-rig.ts';
import type { RunningPart } from '../testing/process-rig.ts';
import { busyTimes } from '../testing/stopwatch.ts';
import { openTroubledWay, type TroubledWay } from '../testing/troubled-way.ts';

const NAMESPACE = 'team';
const OUTAGE_MS = 30_000;
/** For a machine with nothing else to do. */
const RECOVERY_MS = 10_000;
/** How long a part may take to answer whether it is ready. */
const ANSWER_MS = 20_000;
const TEST_MS = 300_000;
/** How long an API server is slow, or refuses writes: shorter than what makes anybody unready. */
const SHORT_MS = 5_000;
const ADMIN_KEY = 'admin';
/** Twice that is a renewal of the Lease, to which the product gives five seconds: the rest is for a busy machine. */
const SLOW = { lateMs: 1_000 };
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

/** What goes wrong at the same time; `hang`: the network swallows everything. */
const ROUNDS: [string, Record<keyof Troubled['ways'], Choice | 'hang'>][] = [
  [
    'throttles, expires, fails and is silent, by what is asked for',
    {
      operator: (request) => (EACH_ITS_OWN[request.resource] ?? (() => ({ status: 503 })))(request),
      first: () => THROTTLED,
      second: 'hang',
    },
  ],
  [
    'was not to be reached, without anybody having been told, and then only by new connections',
    { operator: 'hang', first: watches('silent'), second: watches({ status: 410 }, { status: 500 }) },
  ],
];

(whyNoControlPlane() ? describe.skip : describe)('an operator and control planes whose API server', () => {
  const killed = createLane(
    async () => {
      const rig = await OperatorRig.open([NAMESPACE]);
      const { url } = rig.control;
      return orClosed(rig, async () => ({ ...(await started(rig, { operator: url, others: [url] })), rig }));
    },
    ({ rig }) => rig.close(),
  );
  const troubled = createLane(openTroubled, async ({ rig, ways }) => {
    await rig.close();
    await Promise.all(Object.values(ways).map((way) => way.close()));
  });
  killed.test(
    'was killed and started again',
    async ({ rig, ...parts }) => {
      const apiServer = await apiServerOf(rig.control);
      const began = performance.now();
      await apiServer.kill();
      await areUnready(parts);
      await sleep(Math.max(0, OUTAGE_MS - (performance.now() - began)));
      await startAgain(rig, apiServer);
      await recover({ rig, ...parts }, makeAgents(rig, [agent('after-kill')]), ['after-kill']);
    },
    TEST_MS,
  );

  killed.test(
    'has compacted away what they saw last, while they were suspended',
    async ({ rig, operator, controlPlanes }) => {
      await rig.quiet();
      const before = await listObjects(rig.client, AGENT_OBSERVATIONS);
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
      const names = ['after-kill', 'elsewhere', 'unseen'];
      await recover({ rig, operator, controlPlanes }, areAll({ rig, operator, controlPlanes }, names), [
        'unseen',
      ]);
      // No watch went on: the list that a 410 asks for comes in the place of each, to each in its own time.
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
    },
    TEST_MS,
  );

  for (const [index, [name, faults]] of ROUNDS.entries())
    troubled.test(
      name,
      async ({ ways, ...parts }) => {
        for (const way of ['operator', 'first', 'second'] as const) {
          const fault = faults[way];
          if (fault === 'hang') ways[way].network.hang();
          else ways[way].proxy.fail(fault);
        }
        const made = makeAgents(parts.rig, [agent(`round-${index}`)]);
        await areUnready(parts);
        Object.values(ways).forEach((way) => way.heal());
        await recover(parts, made, [`round-${index}`]);
      },
      TEST_MS,
    );

  troubled.test(
    'refuses writes and ends every watch as too old',
    async ({ ways, ...parts }) => {
      const { proxy } = ways.operator;
      const refusals = [THROTTLED, { status: 500 }, { status: 503 }];
      let refused = 0;
      proxy.fail(({ isWatch, method, isNamed }) => {
        if (isWatch || (method === 'GET' && !isNamed)) return null;
        return refusals[refused++ % refusals.length] ?? null;
      });
      proxy.expire();
      await makeAgents(parts.rig, [agent('refused')]);
      await sleep(SHORT_MS);
      await until('more tries than refusals differ', () => refused > refusals.length);
      // It sees everything that there is.
      expect((await parts.operator.readiness())?.status).toBe(200);
      proxy.heal();
      await recover(parts, Promise.resolve(), ['refused']);
    },
    TEST_MS,
  );

  troubled.test(
    'is slow',
    async ({ ways, ...parts }) => {
      Object.values(ways).forEach(({ proxy }) => proxy.fail(() => SLOW));
      const made = makeAgents(parts.rig, [agent('slow')]);
      await sleep(SHORT_MS);
      const seen = [(await parts.operator.readiness())?.status, await leads(parts.operator)];
      // Whatever was seen: the next test is not about this.
      Object.values(ways).forEach((way) => way.heal());
      expect(seen).toEqual([200, true]);
      await recover(parts, made, ['slow']);
    },
    TEST_MS,
  );

  troubled.test(
    'cut every connection again and again',
    async ({ ways, ...parts }) => {
      const names = Array.from({ length: 5 }, (_, round) => `cut-${round}`);
      for (const name of names) {
        Object.values(ways).forEach(({ network }) => network.cut());
        await makeAgents(parts.rig, [agent(name)]);
      }
      await recover(parts, Promise.resolve(), names);
      expect(await leads(parts.operator)).toBe(true);
    },
    TEST_MS,
  );

  const failover = failoverContract();
  beforeAll(() => {
    for (const lane of [killed, troubled, failover]) lane.start();
  });
});

const agent = (name: string) => ({ namespace: NAMESPACE, name, pods: 1 });
const elsewhere = {
  apiVersion: 'platform.io/v1',
  kind: 'AgentObservation',
  metadata: { name: 'elsewhere' },
  spec: { source: 'remote' },
};
const leads = async (operator: OperatorProcess) =>
  (await operator.metric('leader_election_master_status')) === 1;

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
  const began = performance.now();
  await Promise.all([
    made.then(() => observed(rig, names)),
    until('readiness', async () => (await operator.readiness())?.status === 200),
    ...controlPlanes.map(({ url }) =>
      until("a control plane's readiness", async () => (await statusOf(`${url}/readyz`)) === 200),
    ),
  ]);
  expect(performance.now() - began).toBeLessThan(RECOVERY_MS * busyTimes());
  await areLive({ operator, controlPlanes });
}
