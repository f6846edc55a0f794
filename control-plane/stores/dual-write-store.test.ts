import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { silentLogger } from '../../runtime/logger.ts';
import { aHeartbeat } from '../../testing/heartbeat.ts';
import { ManualClock } from '../../testing/manual-clock.ts';
import { storeContract } from '../../testing/store-contract.ts';
import { DualWriteStore } from './dual-write-store.ts';
import { SqliteStore } from './sqlite/sqlite-store.ts';
import type { Arrival, Store } from './store.ts';

const START = '2026-03-01T10:00:00.000Z';
const at = (seconds: number): Date => new Date(Date.parse(START) + seconds * 1000);
const KEY = { namespace: 'team', name: 'shop' };

/** A second database replaces the cluster; both kinds of store fulfil the same contract. */
function openPair(directory: string): { store: Store; mirror: Store } {
  const database = (name: string) => ({
    directory: join(directory, name),
    clock: new ManualClock(START),
    rateLimitSeconds: 10,
  });
  const mirror = new SqliteStore(database('mirror'));
  return { store: new DualWriteStore({ ...database('primary'), mirror, logger: silentLogger }), mirror };
}

storeContract('A dual-write store', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'agents-'));
  const make = async (): Promise<Store> => {
    const { store } = openPair(directory);
    await store.start();
    return store;
  };
  let current = await make();
  let namespaces = 0;
  return {
    get store() {
      return current;
    },
    async restart() {
      await current.close();
      current = await make();
    },
    namespace: () => Promise.resolve(`ns-${(namespaces += 1)}`),
    async workload(key) {
      const then = '2026-02-01T00:00:00.000Z';
      const heartbeat = aHeartbeat({ startedAt: then });
      const first = { ...key, source: 'sidecar' as const, instance: 'first', uid: 'u', heartbeat };
      await current.heartbeat({ ...first, at: new Date(then) });
    },
    async close() {
      await current.close();
      rmSync(directory, { recursive: true });
    },
  };
});

describe('A dual-write store', () => {
  let directory: string;
  let store: Store;
  let mirror: Store;

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'agents-'));
    ({ store, mirror } = openPair(directory));
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

  /** A store whose mirror runs `act` for every change. */
  const withMirror = async (act: () => Promise<never>) => {
    const warnings: string[] = [];
    const clock = new ManualClock(START);
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
    const database = { directory: join(directory, 'own'), clock, rateLimitSeconds: 10 };
    const logger = { ...silentLogger, warn: (message: string) => void warnings.push(message) };
    const mirrored = new DualWriteStore({ ...database, mirror: fake, logger });
    await mirrored.start();
    return { mirrored, warnings, clock };
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
    const { mirrored, clock } = await withMirror(() => new Promise<never>(() => undefined));
    // The first sleep belongs to the sweep of the database.
    expect((await clock.nextSleep()).ms).toBe(10_000);
    const registering = mirrored.register({ ...KEY, runtime: 'local', manifest: null }, at(0));
    const sleep = await clock.nextSleep();
    expect(sleep.ms).toBe(2_000);
    sleep.wake();
    expect(await registering).toMatchObject({ kind: 'created' });
    await mirrored.close();
  });
});
