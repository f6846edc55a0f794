import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { silentLogger } from '../../runtime/logger.ts';
import { aHeartbeat } from '../../testing/fleet/heartbeat.ts';
import { ManualClock } from '../../testing/time/manual-clock.ts';
import { harnessOf, storeContract } from '../../testing/fleet/store-contract.ts';
import { dualWriteStore, isGoneFrom } from './dual-write-store.ts';
import { SqlStore } from './sql/sql-store.ts';
import { SqliteDatabase } from './sqlite/sqlite-database.ts';
import type { Arrival, Store } from './store.ts';

const START = '2026-03-01T10:00:00.000Z';
const at = (seconds: number): Date => new Date(Date.parse(START) + seconds * 1000);
const KEY = { namespace: 'team', name: 'shop' };

/** A second database replaces the cluster; both kinds of store fulfil the same contract. */
function openPair(directory: string): { store: Store; mirror: Store; clock: ManualClock } {
  const clock = new ManualClock(START);
  const mirror: Store = new SqlStore({
    database: new SqliteDatabase(join(directory, 'mirror')),
    clock: new ManualClock(START),
    rateLimitSeconds: 10,
  });
  const store = new SqlStore({
    database: new SqliteDatabase(join(directory, 'primary')),
    clock,
    rateLimitSeconds: 10,
    isGone: (key, time) => isGoneFrom(mirror, key, time),
  });
  return { store: dualWriteStore({ store, mirror, clock, logger: silentLogger }), mirror, clock };
}

storeContract('A dual-write store', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'agents-'));
  const make = async (): Promise<Store> => {
    const { store } = openPair(directory);
    await store.start();
    return store;
  };
  return harnessOf(make, { hasCluster: true, remove: () => rmSync(directory, { recursive: true }) });
});

describe('A dual-write store', () => {
  let directory: string;
  let store: Store;
  let mirror: Store;
  let clock: ManualClock;

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'agents-'));
    ({ store, mirror, clock } = openPair(directory));
    await store.start();
  });
  afterEach(async () => {
    await store.close();
    rmSync(directory, { recursive: true });
  });

  const arrival = (overrides: Partial<Arrival> = {}): Arrival => ({
    ...KEY,
    source: 'remote',
    instance: 'i-1',
    heartbeat: aHeartbeat(),
    at: at(0),
    ...overrides,
  });
  const proof = { ruleId: 'MEM-01', verifiedBy: 'qa', method: 'looked', verifiedAt: START };

  test('keeps the same data in both stores, except the keys', async () => {
    const outcome = await store.register({ ...KEY, runtime: 'docker', manifest: null }, at(0));
    if (outcome.kind !== 'created') throw new Error(outcome.kind);
    const { agentId } = outcome.record;
    const token = { hash: 'a', expiresAt: at(60).toISOString() };
    await store.addToken({ ...KEY, agentId, token, at: at(0) });
    await store.heartbeat(arrival());
    await store.putProof({ ...KEY, record: proof, at: at(1) });
    await store.heartbeat(arrival({ instance: 'i-2', at: at(2) }));
    const [own, mirrored] = [await store.find(KEY, at(3)), await mirror.find(KEY, at(3))];
    const { tokenHashes, ...status } = own!.status;
    expect(tokenHashes).toEqual([token]);
    expect(mirrored).toEqual({ ...own, status });
    await store.removeProof({ ...KEY, ruleId: 'MEM-01', at: at(4) });
    expect((await mirror.find(KEY, at(4)))?.status.proofs).toEqual([]);
    await store.remove(KEY);
    expect(await mirror.find(KEY, at(5))).toBeNull();
  });

  test('adds an agent to the mirror with its next heartbeat if it was registered before the mirror existed', async () => {
    await store.register({ ...KEY, runtime: 'bedrock', manifest: null }, at(0));
    const { agentId } = (await store.find(KEY, at(0)))!;
    await mirror.remove(KEY);
    await store.heartbeat(arrival());
    expect(await mirror.find(KEY, at(1))).toMatchObject({
      agentId,
      runtime: 'bedrock',
      status: { phase: 'Healthy', instanceCount: 1 },
    });
  });

  describe('with a workload', () => {
    const pod = { source: 'sidecar', instance: 'shop-1', uid: 'u-1' } as const;
    /** The sleep between two sweeps of the database. The time-outs of mirrored writes are other sleeps. */
    const betweenSweeps = async () => {
      for (;;) {
        const sleep = await clock.nextSleep();
        if (sleep.ms === 10_000) return sleep;
      }
    };
    /** The database does its periodic work at this time. */
    const sweepAt = async (seconds: number) => {
      const sleep = await betweenSweeps();
      clock.advance(at(seconds).getTime() - sleep.ms - clock.now().getTime());
      sleep.wake();
      await betweenSweeps();
    };

    test('keeps a silent workload while the cluster has it, and rejects its removal', async () => {
      await store.heartbeat(arrival(pod));
      await sweepAt(200);
      expect(await store.find(KEY, clock.now())).toMatchObject({ status: { phase: 'Unknown' } });
      expect(await store.remove(KEY)).toBe('workload');
      expect(await mirror.find(KEY, clock.now())).not.toBeNull();
    });

    test('removes a silent workload that the cluster no longer has', async () => {
      await store.heartbeat(arrival(pod));
      await mirror.remove(KEY);
      await sweepAt(200);
      expect(await store.find(KEY, clock.now())).toBeNull();
    });

    test('keeps a reporting workload that the cluster no longer has, and removes it on request', async () => {
      await store.heartbeat(arrival(pod));
      await mirror.remove(KEY);
      await sweepAt(100);
      expect(await store.find(KEY, clock.now())).not.toBeNull();
      expect(await store.remove(KEY)).toBe('removed');
    });

    test('keeps a silent workload while the cluster cannot be read', async () => {
      await store.heartbeat(arrival(pod));
      await mirror.close();
      await sweepAt(200);
      expect(await store.find(KEY, clock.now())).not.toBeNull();
      await expect(store.remove(KEY)).rejects.toMatchObject({ status: 503 });
    });
  });

  test('has the history and the changes of the database', async () => {
    const { position } = await store.changes(null, at(0));
    await store.register({ ...KEY, runtime: 'docker', manifest: null }, at(1));
    expect((await store.changes(position, at(2))).changed).toEqual([await store.find(KEY, at(2))]);
    expect(store.history).not.toBeNull();
  });

  /** A store whose mirror runs `act` for every change. */
  const withMirror = async (act: () => Promise<never>) => {
    const warnings: string[] = [];
    const ownClock = new ManualClock(START);
    const fake: Store = {
      ...mirror,
      start: () => Promise.resolve(),
      close: () => Promise.resolve(),
      register: act,
      heartbeat: act,
      putProof: act,
      removeProof: act,
      remove: act,
    };
    const database = new SqliteDatabase(join(directory, 'own'));
    const logger = { ...silentLogger, warn: (message: string) => void warnings.push(message) };
    const mirrored = dualWriteStore({
      store: new SqlStore({ database, clock: ownClock, rateLimitSeconds: 10 }),
      mirror: fake,
      clock: ownClock,
      logger,
    });
    await mirrored.start();
    return { mirrored, warnings, clock: ownClock };
  };

  test('returns normal results while the mirror fails, and warns once', async () => {
    const { mirrored, warnings } = await withMirror(() => Promise.reject(new Error('unavailable')));
    expect(await mirrored.register({ ...KEY, runtime: 'local', manifest: null }, at(0))).toMatchObject({
      kind: 'created',
    });
    expect(await mirrored.heartbeat(arrival())).toMatchObject({ kind: 'accepted' });
    expect(await mirrored.putProof({ ...KEY, record: proof, at: at(0) })).toBe('stored');
    expect(await mirrored.removeProof({ ...KEY, ruleId: 'MEM-01', at: at(0) })).toBe('removed');
    expect(await mirrored.remove(KEY)).toBe('removed');
    expect(warnings).toEqual(['failed to update AgentObservation, database unaffected']);
    expect(mirrored.unready()).toBeNull();
    await mirrored.close();
  });

  test('waits at most two seconds for a mirror that hangs', async () => {
    const { mirrored, clock: time } = await withMirror(() => new Promise<never>(() => undefined));
    // The first sleep belongs to the sweep of the database.
    expect((await time.nextSleep()).ms).toBe(10_000);
    const registering = mirrored.register({ ...KEY, runtime: 'local', manifest: null }, at(0));
    const sleep = await time.nextSleep();
    expect(sleep.ms).toBe(2_000);
    sleep.wake();
    expect(await registering).toMatchObject({ kind: 'created' });
    await mirrored.close();
  });
});
