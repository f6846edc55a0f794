import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { cpuMs, residentMb } from '../bench/processes.ts';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { expectOk, getObject, listObjects } from '../kube/objects.ts';
import {
  AGENT_OBSERVATIONS,
  collectionPath,
  DEPLOYMENTS,
  PODS,
  REPLICA_SETS,
  type Resource,
} from '../kube/resources.ts';
import type { KubeObject } from '../kube/types.ts';
import { isSettled, makeAgents, report } from '../testing/fleet/fleet.ts';
import { IN_SOAK, withinLimit } from '../testing/time/real-time.ts';
import { OperatorRig, until, type OperatorProcess } from '../testing/cluster/operator-rig.ts';
import { cloneStored, type Stored } from '../testing/cluster/stored-clones.ts';

/** The limits are for 2,000 agents; a tenth already shows everything that grows faster than linearly. */
const AGENTS = IN_SOAK ? 2_000 : 200;
const SYNC_CPU_MS = 15_000;
const MAX_MB = 250;
const NAMESPACE = 'team';

(whyNoControlPlane() ? describe.skip : describe)(
  `an operator with ${AGENTS} agents in ${2.5 * AGENTS} pods`,
  () => {
    let rig: OperatorRig;
    let operator: OperatorProcess;

    beforeAll(async () => {
      rig = await OperatorRig.open([NAMESPACE]);
      await rig.addAccount('operator');
      // The product itself creates two agents; all others are copies of them.
      const seeds = [2, 3].map((pods) => ({ namespace: NAMESPACE, name: `seed-${pods}`, pods }));
      await makeAgents(rig, seeds);
      const first = await rig.startOperator('operator');
      await until('the observations', async () => (await rig.observations()).filter(isSettled).length === 2);
      for (const seed of seeds) await report(rig, seed);
      await rig.quiet();
      await first.stop();
      for (const { name } of seeds) {
        const names = Array.from({ length: AGENTS / 2 - 1 }, (_, index) => `${name}-copy-${index}`);
        await cloneStored(rig.control, await stored(name), { from: name, names });
      }
      await until('the copies', async () => (await count()) === AGENTS);
    }, 400_000);
    afterAll(() => rig?.close());

    async function count(): Promise<number> {
      const path = collectionPath(AGENT_OBSERVATIONS);
      const { metadata } = expectOk(
        await rig.client.send<{ metadata: { remainingItemCount?: number } }>({
          method: 'GET',
          path,
          query: { limit: 1 },
        }),
      );
      return 1 + (metadata.remainingItemCount ?? 0);
    }

    async function stored(agent: string): Promise<Stored[]> {
      const named: [Resource<KubeObject>, string][] = [
        [DEPLOYMENTS, agent],
        [REPLICA_SETS, `${agent}-1`],
        [AGENT_OBSERVATIONS, agent],
      ];
      const objects = await Promise.all(
        named.map(async ([resource, name]) => {
          const object = await getObject(rig.client, resource, { namespace: NAMESPACE, name });
          return object === null ? [] : [{ resource, object }];
        }),
      );
      const { items } = await listObjects(rig.client, PODS, { labelSelector: `platform.io/agent=${agent}` });
      return [...objects.flat(), ...items.map((object) => ({ resource: PODS, object }))];
    }

    test('reconciles every agent in time', async () => {
      const isInSync = withinLimit('every agent reconciled after a start');
      operator = await rig.startOperator('operator');
      await rig.inSync(operator);
      isInSync();
      expect(cpuMs(operator.pid)).toBeLessThan(SYNC_CPU_MS);
      expect(await operator.metric('platform_operator_agents', /Healthy/)).toBe(AGENTS);
      expect((await operator.readiness())?.status).toBe(200);
    }, 400_000);

    test(`uses less than ${MAX_MB} MB`, () => {
      expect(residentMb(operator.pid)).toBeLessThan(MAX_MB);
    });

    test('writes nothing while nothing changes', async () => {
      const before = rig.audit.writes().length;
      await sleep(5_000);
      expect(rig.audit.writes().slice(before)).toEqual([]);
      // Only the seeds were written.
      expect(rig.audit.writes().filter(({ name }) => name.includes('copy'))).toEqual([]);
    }, 120_000);
  },
);
