import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import type { Fault, ProxiedRequest } from '../testing/http/fault-proxy.ts';
import { makeAgents } from '../testing/fleet/fleet.ts';
import { until } from '../testing/cluster/operator-rig.ts';
import { agent, OutageRig } from '../testing/cluster/outage-rig.ts';
import { IN_SOAK } from '../testing/time/real-time.ts';

const THROTTLED = { status: 429, retryAfter: 1 };

type Choice = (request: ProxiedRequest) => Fault | null;
const watches =
  (fault: Fault, others: Fault | null = null): Choice =>
  ({ isWatch }) =>
    isWatch ? fault : others;

/** A different fault for each informer, by resource. */
const FAULT_BY_RESOURCE: Record<string, Choice> = {
  pods: ({ query }) => (query.get('labelSelector')?.startsWith('!') ? { status: 500 } : THROTTLED),
  agentobservations: watches({ status: 410 }),
  services: watches('silent'),
};

/** Faults at the same time; `hang`: the network drops all data. */
const ROUNDS: [string, Record<keyof OutageRig['ways'], Choice | 'hang'>][] = [
  [
    'is unreachable without a reset, then reachable on new connections only, and has silent, expired and failing watches',
    { operator: 'hang', first: watches('silent'), second: watches({ status: 410 }, { status: 500 }) },
  ],
];
if (IN_SOAK)
  ROUNDS.push([
    'throttles, expires, fails and is silent, depending on the request',
    {
      operator: (request) => (FAULT_BY_RESOURCE[request.resource] ?? (() => ({ status: 503 })))(request),
      first: () => THROTTLED,
      second: 'hang',
    },
  ]);

(whyNoControlPlane() ? describe.skip : describe)('an operator and control planes whose API server', () => {
  let outage: OutageRig;

  beforeAll(async () => {
    outage = await OutageRig.open();
  });
  afterAll(() => outage?.close());

  test.each(ROUNDS)('%s', async (name, faults) => {
    const { ways, rig } = outage;
    for (const way of ['operator', 'first', 'second'] as const) {
      const fault = faults[way];
      if (fault === 'hang') ways[way].network.hang();
      else ways[way].proxy.fail(fault);
    }
    const newAgent = `round-${ROUNDS.findIndex(([each]) => each === name)}`;
    const created = makeAgents(rig, [agent(newAgent)]);
    await outage.areUnready().finally(() => outage.heal());
    await outage.recover(created, [newAgent]);
  });

  test('rejects writes and ends every watch as too old', async () => {
    const { rig, ways } = outage;
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
      await until('more attempts than kinds of rejections', () => rejected > rejections.length);
      // Reads still succeed: an expired watch leads to a new list.
      await until('readiness', () => outage.isReady());
    } finally {
      // The following tests use the same route.
      proxy.heal();
    }
    await outage.recover(Promise.resolve(), ['rejected']);
  });

  test('cuts every connection repeatedly', async () => {
    const { rig, ways } = outage;
    const names = Array.from({ length: 5 }, (_, round) => `cut-${round}`);
    for (const name of names) {
      Object.values(ways).forEach(({ network }) => network.cut());
      await makeAgents(rig, [agent(name)]);
    }
    await outage.recover(Promise.resolve(), names);
    expect(await outage.isLeading()).toBe(true);
  });
});
