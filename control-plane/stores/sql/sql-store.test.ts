import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { silentLogger } from '../../../runtime/logger.ts';
import { aHeartbeat } from '../../../testing/fleet/heartbeat.ts';
import { ManualClock } from '../../../testing/time/manual-clock.ts';
import { SqlStore, type SqlStoreOptions } from './sql-store.ts';
import { SqliteDatabase } from '../sqlite/sqlite-database.ts';
import type { AgentKey, Arrival, FleetChanges, Store } from '../store.ts';
import { DEFAULT_RETENTION } from './retention.ts';

const START = Date.parse('2026-03-01T10:00:00.000Z');
const at = (seconds: number): Date => new Date(START + seconds * 1000);
const DAY = 86_400;

const SHOP = { namespace: 'team', name: 'shop' };
const REMOTE = { namespace: 'team', name: 'remote' };

let directory: string;
let clock: ManualClock;
let store: Store;
let sleep: Awaited<ReturnType<ManualClock['nextSleep']>>;
let log: string[];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'agents-'));
  clock = new ManualClock(at(0).toISOString());
  log = [];
});
afterEach(async () => {
  await store.close();
  rmSync(directory, { recursive: true });
});

async function open(options: Partial<SqlStoreOptions> = {}): Promise<void> {
  const logger = {
    ...silentLogger,
    info: (message: string) => void log.push(message),
    warn: (message: string) => void log.push(message),
  };
  store = new SqlStore({
    database: new SqliteDatabase(directory),
    clock,
    rateLimitSeconds: 0,
    logger,
    ...options,
  });
  await store.start();
  sleep = await clock.nextSleep();
}

/** The store does its periodic work at this time. Resolves when the work is done. */
async function workAt(seconds: number): Promise<void> {
  clock.advance(at(seconds).getTime() - sleep.ms - clock.now().getTime());
  sleep.wake();
  sleep = await clock.nextSleep();
}

const beat = (key: AgentKey, seconds: number, overrides: Partial<Arrival> = {}) =>
  store.heartbeat({
    ...key,
    source: 'sidecar',
    instance: 'shop-1',
    uid: 'u-1',
    heartbeat: aHeartbeat({ seq: seconds }),
    at: at(seconds),
    ...overrides,
  });

async function isThere(key: AgentKey): Promise<boolean> {
  return (await store.find(key, clock.now())) !== null;
}

/** Number of rows with the key in each table that has keys. */
function rowsOf({ namespace, name }: AgentKey): Record<string, unknown> {
  const database = new DatabaseSync(join(directory, 'control-plane.sqlite'), { readOnly: true });
  const tables = ['agents', 'reports', 'heartbeats', 'new_names', 'rollups', 'changes', 'removals'];
  const counts = tables.map((table) => {
    const text = `SELECT count(*) AS n FROM ${table} WHERE namespace = ? AND name = ?`;
    return [table, database.prepare(text).get(namespace, name)?.['n']];
  });
  database.close();
  return Object.fromEntries(counts) as Record<string, unknown>;
}

describe('A workload without heartbeats', () => {
  test('is removed after 30 days with all its data; a registered agent stays', async () => {
    await open();
    await beat(SHOP, 1);
    await store.register({ ...REMOTE, runtime: 'docker', manifest: null }, at(0));
    await beat(REMOTE, 1, { source: 'remote' });
    await workAt(30 * DAY);
    expect([await isThere(SHOP), await isThere(REMOTE)]).toEqual([true, true]);
    await workAt(30 * DAY + 61);
    expect([await isThere(SHOP), await isThere(REMOTE)]).toEqual([false, true]);
    expect(rowsOf(SHOP)).toEqual({
      ...{ agents: 0, reports: 0, heartbeats: 0, new_names: 0, rollups: 0, changes: 0, removals: 1 },
    });
    expect(rowsOf(REMOTE)).toMatchObject({ agents: 1, heartbeats: 1 });
    expect(log).toEqual(['workload without heartbeats removed']);
  });

  test('stays if it reported again, is kept for the configured time, and forever with 0 days', async () => {
    await open({ retention: { ...DEFAULT_RETENTION, removeAfterDays: 2 } });
    await beat(SHOP, 1);
    await beat(SHOP, DAY);
    await workAt(2 * DAY + 2);
    expect(await isThere(SHOP)).toBe(true);
    await workAt(3 * DAY);
    expect(await isThere(SHOP)).toBe(false);
    await store.close();
    await open({ retention: { ...DEFAULT_RETENTION, removeAfterDays: 0 } });
    await beat(SHOP, 4 * DAY);
    await workAt(4000 * DAY);
    expect(await isThere(SHOP)).toBe(true);
  });

  test('is removed when it is silent and the cluster no longer has it', async () => {
    const gone = new Set<string>();
    await open({ isGone: ({ name }) => Promise.resolve(gone.has(name)) });
    const [other, slow] = [
      { ...SHOP, name: 'other' },
      { ...SHOP, name: 'slow' },
    ];
    await beat(SHOP, 1);
    await beat(other, 1);
    await beat(slow, 1, { heartbeat: aHeartbeat({ intervalSeconds: 3600 }) });
    gone.add('shop').add('slow');
    await workAt(100);
    expect([await isThere(SHOP), await isThere(other), await isThere(slow)]).toEqual([true, true, true]);
    await workAt(200);
    expect([await isThere(SHOP), await isThere(other), await isThere(slow)]).toEqual([false, true, true]);
    await workAt(3 * 3600 + 60);
    expect([await isThere(other), await isThere(slow)]).toEqual([true, false]);
  });

  test('stays while the cluster cannot be read, which is logged once', async () => {
    let isReadable = false;
    await open({
      isGone: () => (isReadable ? Promise.resolve(true) : Promise.reject(new Error('no response'))),
    });
    await beat(SHOP, 1);
    await workAt(200);
    await workAt(300);
    expect(await isThere(SHOP)).toBe(true);
    isReadable = true;
    await workAt(400);
    expect(await isThere(SHOP)).toBe(false);
    expect(log).toEqual([
      'failed to update silent agents or to remove old data, retrying',
      'workload without heartbeats removed',
    ]);
  });
});

test('keeps the configured number of heartbeats, also after the number was lowered', async () => {
  await open({ retention: { ...DEFAULT_RETENTION, heartbeats: 5 } });
  for (let seconds = 1; seconds <= 8; seconds += 1) await beat(SHOP, seconds);
  expect(rowsOf(SHOP)).toMatchObject({ heartbeats: 5 });
  await store.close();
  await open({ retention: { ...DEFAULT_RETENTION, heartbeats: 2 } });
  await beat(SHOP, 9);
  expect(rowsOf(SHOP)).toMatchObject({ heartbeats: 2 });
});

test('marks more silent agents than one batch in one read', async () => {
  await open();
  const names = Array.from({ length: 250 }, (_, index) => `agent-${index}`);
  await Promise.all(names.map((name) => beat({ ...SHOP, name }, 1)));
  const { total } = await store.list({ limit: 1, after: null, namespaces: null, phase: 'Unknown' }, at(122));
  expect(total).toBe(250);
});

describe('Changes', () => {
  test('go ten seconds back before their position, because the clocks of replicas differ', async () => {
    await open();
    await beat(SHOP, 1);
    await beat({ ...SHOP, name: 'later' }, 5);
    const names = async (position: number) =>
      (await store.changes(String(at(position).getTime()), at(20))).changed.map(({ name }) => name);
    expect(await names(11)).toEqual(['later', 'shop']);
    expect(await names(12)).toEqual(['later']);
    expect(await names(16)).toEqual([]);
    expect((await store.changes('0', at(20))).position).toMatch(new RegExp(`^${at(20).getTime()}\\.`));
  });

  test('do not contain again what the call with the previous position returned', async () => {
    await open();
    await beat(SHOP, 1);
    const names = ({ changed }: FleetChanges) => changed.map(({ name }) => name);
    const first = await store.changes(null, at(2));
    await beat({ ...SHOP, name: 'later' }, 3);
    const second = await store.changes(first.position, at(3));
    expect(names(second)).toEqual(['later']);
    // In the same millisecond as before.
    await beat({ ...SHOP, name: 'later' }, 3, { heartbeat: aHeartbeat({ seq: 4 }) });
    const third = await store.changes(second.position, at(4));
    expect(names(third)).toEqual(['later']);
    expect(names(await store.changes(third.position, at(5)))).toEqual([]);
    // Another caller, or another process, gets everything since its position.
    expect(names(await store.changes(first.position, at(5)))).toEqual(['later', 'shop']);
  });

  test('contain any number of agents', async () => {
    await open();
    const { position } = await store.changes(null, at(0));
    const names = Array.from({ length: 250 }, (_, index) => `agent-${index}`);
    await Promise.all(names.map((name) => beat({ ...SHOP, name }, 1)));
    const { changed } = await store.changes(position, at(1));
    expect(changed.map(({ name }) => name).sort()).toEqual(names.sort());
  });

  test('contain agents whose phase changed by time alone', async () => {
    await open();
    await beat(SHOP, 1);
    const { position } = await store.changes(null, at(60));
    const { changed } = await store.changes(position, at(125));
    expect(changed).toMatchObject([{ name: 'shop', status: { phase: 'Unknown' } }]);
  });

  test('contain removed agents for an hour', async () => {
    await open();
    await beat(SHOP, 1);
    await store.remove(SHOP);
    const removed = async () => (await store.changes('0', clock.now())).removed;
    await workAt(3600);
    expect(await removed()).toEqual([SHOP]);
    await workAt(3700);
    expect(await removed()).toEqual([]);
  });
});
