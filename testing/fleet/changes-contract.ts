import { describe, expect, test } from '@jest/globals';
import type { AgentKey, AgentRecord, FleetChanges } from '../../control-plane/stores/store.ts';
import { aHeartbeat } from './heartbeat.ts';
import type { StoreHarness } from './store-contract.ts';

const T0 = Date.parse('2026-03-01T10:00:00.000Z');
const at = (seconds: number): Date => new Date(T0 + seconds * 1000);

/**
 * The contract of `Store.changes`, a part of the contract of every store. A call may return agents that an earlier call
 * returned too, so the tests check only what a result must contain.
 */
export function changesContract(harness: () => StoreHarness): void {
  describe('changes', () => {
    let names = 0;
    const aKey = async (): Promise<AgentKey> => ({
      namespace: await harness().namespace(),
      name: `changing-${(names += 1)}`,
    });
    const positionOf = async (seconds: number) => (await harness().store.changes(null, at(seconds))).position;
    const since = (position: string, seconds: number) => harness().store.changes(position, at(seconds));
    const register = async (key: AgentKey, seconds = 0): Promise<string> => {
      const registration = { ...key, runtime: 'docker' as const, manifest: null };
      const outcome = await harness().store.register(registration, at(seconds));
      if (outcome.kind === 'taken') throw new Error('the name is taken');
      return outcome.record.agentId;
    };
    const beat = (key: AgentKey, seq: number, seconds: number) =>
      harness().store.heartbeat({
        ...key,
        source: 'remote',
        instance: 'i-1',
        heartbeat: aHeartbeat({ seq, intervalSeconds: 3_600 }),
        at: at(seconds),
      });
    const foundIn = ({ changed }: FleetChanges, { namespace, name }: AgentKey): AgentRecord | undefined =>
      changed.find((agent) => agent.namespace === namespace && agent.name === name);

    test('without a position are only the current position', async () => {
      await register(await aKey());
      const changes = await harness().store.changes(null, at(0));
      expect(changes).toEqual({ position: expect.any(String), changed: [], removed: [] });
    });

    test('contain new agents, heartbeats and proofs, each with the current state of the agent', async () => {
      const key = await aKey();
      const start = await positionOf(0);
      const agentId = await register(key);
      const registered = await since(start, 1);
      expect(foundIn(registered, key)?.status.phase).toBe('Pending');
      await beat(key, 1, 2);
      const reported = await since(registered.position, 3);
      expect(foundIn(reported, key)).toMatchObject({
        agentId,
        source: 'remote',
        status: { phase: 'Healthy', score: 100, lastChecked: at(2).toISOString() },
      });
      const record = {
        ...{ ruleId: 'EVAL-01', origin: 'control-plane' as const, verifiedBy: 'ci' },
        ...{ method: 'run 17', verifiedAt: at(4).toISOString() },
      };
      await harness().store.putProof({ ...key, record, at: at(4) });
      const proved = await since(reported.position, 5);
      expect(foundIn(proved, key)?.status.proofs).toEqual([record]);
    });

    test('are all returned after an earlier position, and none is lost between two calls', async () => {
      const [first, second] = [await aKey(), await aKey()];
      const start = await positionOf(0);
      await register(first);
      const middle = await since(start, 1);
      await register(second, 2);
      const end = await since(middle.position, 3);
      expect(foundIn(middle, first)).toBeDefined();
      expect(foundIn(end, second)).toBeDefined();
      const all = await since(start, 3);
      expect([foundIn(all, first), foundIn(all, second)]).toEqual([expect.anything(), expect.anything()]);
    });

    test('contain the key of a removed agent, and not after it was registered again', async () => {
      const key = await aKey();
      const firstId = await register(key);
      const start = await positionOf(1);
      expect(await harness().store.remove(key)).toBe('removed');
      const removed = await since(start, 2);
      expect(removed.removed).toContainEqual(key);
      expect(foundIn(removed, key)).toBeUndefined();
      const secondId = await register(key, 3);
      expect(secondId).not.toBe(firstId);
      const added = await since(removed.position, 4);
      expect(foundIn(added, key)?.agentId).toBe(secondId);
      expect(added.removed).not.toContainEqual(key);
    });

    test('after a restart contain at least what changed since the position', async () => {
      const key = await aKey();
      const start = await positionOf(0);
      await register(key, 1);
      await harness().restart();
      const changes = await since(start, 2);
      expect(foundIn(changes, key)).toBeDefined();
    });
  });
}
