import { beforeAll, describe, expect } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { freePorts } from '../examples/demo/free-ports.ts';
import { AGENT_OBSERVATIONS, collectionPath } from '../kube/resources.ts';
import { apiServerOf } from '../testing/api-server-process.ts';
import type { Fault, ProxiedRequest } from '../testing/fault-proxy.ts';
import { isSettled, makeAgents } from '../testing/fleet.ts';
import { createLane } from '../testing/lane.ts';
import { OperatorRig, until, type OperatorProcess } from '../testing/operator-rig.ts';
import { openTroubledWay, type TroubledWay } from '../testing/troubled-way.ts';

const NAMESPACE = 'team';
const OUTAGE_MS = 30_000;
const RECOVERY_MS = 10_000;
/** How long an API server is slow, or refuses writes: shorter than what makes anybody unready. */
const SHORT_MS = 5_000;
const SLOW = { lateMs: 2_000 };
const AWAY = 'the API server is not heard: pods, unlabelledPods, observations, services';
const THROTTLED = { status: 429, retryAfter: 1 };

/** An operator and control planes, each on a way of its own to the one API server. */
interface Troubled {
  rig: OperatorRig;
  ways: { operator: TroubledWay; first: TroubledWay; second: TroubledWay };
  operator: OperatorProcess;
  /** Addresses. */
  controlPlanes: string[];
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
      return { ...(await started(rig, { operator: rig.control.url, others: [rig.control.url] })), rig };
    },
    ({ rig }) => rig.close(),
  );
  const troubled = createLane(openTroubled, async ({ rig, ways }) => {
    await rig.close();
    await Promise.all(Object.values(ways).map((way) => way.close()));
  });
  beforeAll(() => {
    killed.start();
    troubled.start();
  });

  killed.test(
    'was killed and started again',
    async ({ rig, ...parts }) => {
      const apiServer = await apiServerOf(rig.control);
      const began = performance.now();
      await apiServer.kill();
      await areUnready(parts);
      await sleep(Math.max(0, OUTAGE_MS - (performance.now() - began)));
      await apiServer.start();
      await until('the API server', async () => {
        const listed = rig.client.send({ method: 'GET', path: collectionPath(AGENT_OBSERVATIONS) });
        return (await listed.catch(() => null))?.ok === true;
      });
      await recover({ rig, ...parts }, makeAgents(rig, [agent('after-kill')]), ['after-kill']);
    },
    180_000,
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
      120_000,
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
      expect(refused).toBeGreaterThan(refusals.length);
      // It sees everything that there is.
      expect((await parts.operator.readiness())?.status).toBe(200);
      proxy.heal();
      await recover(parts, Promise.resolve(), ['refused']);
    },
    60_000,
  );

  troubled.test(
    'is slow',
    async ({ ways, ...parts }) => {
      Object.values(ways).forEach(({ proxy }) => proxy.fail(() => SLOW));
      const made = makeAgents(parts.rig, [agent('slow')]);
      await sleep(SHORT_MS);
      expect((await parts.operator.readiness())?.status).toBe(200);
      expect(await leads(parts.operator)).toBe(true);
      Object.values(ways).forEach((way) => way.heal());
      await recover(parts, made, ['slow']);
    },
    60_000,
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
    60_000,
  );
});

const agent = (name: string) => ({ namespace: NAMESPACE, name, pods: 1 });
const leads = async (operator: OperatorProcess) =>
  (await operator.metric('leader_election_master_status')) === 1;

async function openTroubled(): Promise<Troubled> {
  const rig = await OperatorRig.open([NAMESPACE]);
  const open = () => openTroubledWay(rig.control);
  const [operator, first, second] = await Promise.all([open(), open(), open()]);
  const parts = await started(rig, { operator: operator.url, others: [first.url, second.url] });
  return { rig, ways: { operator, first, second }, ...parts };
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
  ]).then((all) => all.slice(0, -1) as [OperatorProcess, ...string[]]);
  await observed(rig, ['first']);
  return { operator, controlPlanes };
}

async function startControlPlane(rig: OperatorRig, url: string): Promise<string> {
  const [port = 0] = await freePorts(1);
  const base = `http://127.0.0.1:${port}`;
  await rig.processes.start('control-plane', `${base}/readyz`, {
    PORT: String(port),
    STORE: 'kubernetes',
    KUBECONFIG: await rig.kubeconfigOf('control-plane', url),
  });
  return base;
}

const observed = (rig: OperatorRig, names: readonly string[]) =>
  until(`the observations of ${names.join(', ')}`, async () => {
    const found = (await rig.observations()).filter(isSettled).map(({ metadata }) => metadata.name);
    return names.every((name) => found.includes(name));
  });

const statusOf = async (url: string) => (await fetch(url, { signal: AbortSignal.timeout(2_000) })).status;

type Parts = Pick<Troubled, 'operator' | 'controlPlanes'>;

/** All say that they lag, and none is to be restarted for it. */
async function areUnready({ operator, controlPlanes }: Parts): Promise<void> {
  await until('the truth', async () => {
    const said = await operator.readiness();
    return said?.status === 503 && said.detail === AWAY;
  });
  for (const url of controlPlanes)
    await until("a control plane's truth", async () => (await statusOf(`${url}/readyz`)) === 503);
  await areLive({ operator, controlPlanes });
}

async function areLive({ operator, controlPlanes }: Parts): Promise<void> {
  expect(await operator.isLive()).toBe(true);
  for (const url of controlPlanes) expect(await statusOf(`${url}/livez`)).toBe(200);
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
    ...controlPlanes.map((url) =>
      until("a control plane's readiness", async () => (await statusOf(`${url}/readyz`)) === 200),
    ),
  ]);
  expect(performance.now() - began).toBeLessThan(RECOVERY_MS);
  await areLive({ operator, controlPlanes });
}
