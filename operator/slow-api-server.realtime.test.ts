import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { makeAgents } from '../testing/fleet/fleet.ts';
import { agent, OutageRig } from '../testing/cluster/outage-rig.ts';
import { IN_SOAK } from '../testing/time/real-time.ts';

/**
 * The state of an operator when each response takes this long. A renewal of the Lease may take 5 s and caches are fresh for
 * 15 s. At 5 s per response the time between two watch events is about the same, so readiness alternates (null).
 */
const SLOW: { seconds: number; isReady: boolean | null; leads: boolean }[] = [
  { seconds: 2, isReady: true, leads: true },
  { seconds: 5, isReady: null, leads: false },
  { seconds: 10, isReady: false, leads: false },
].slice(0, IN_SOAK ? 3 : 1);

(whyNoControlPlane() ? describe.skip : describe)('an operator and control planes whose API server', () => {
  let outage: OutageRig;

  beforeAll(async () => {
    outage = await OutageRig.open();
  });
  afterAll(() => outage?.close());

  test.each(SLOW)('takes $seconds s for each response', async ({ seconds, isReady, leads }) => {
    const name = `slow-${seconds}`;
    for (const { proxy } of Object.values(outage.ways)) proxy.fail(() => ({ lateMs: 1_000 * seconds }));
    const created = makeAgents(outage.rig, [agent(name)]);
    // Long enough for every watch and every cache that can expire.
    await sleep(6_000 * seconds);
    const state = { isReady: await outage.isReady(), leads: await outage.isLeading() };
    outage.heal();
    expect(state).toEqual({ isReady: isReady ?? state.isReady, leads });
    await outage.recover(created, [name]);
  });
});
