import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync, chmodSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Heartbeat } from '../../../core/shapes/heartbeat.ts';
import { mergeHeartbeat } from '../../../core/observation/merge-heartbeat.ts';
import type { ObservationStatus } from '../../../core/shapes/observation.ts';
import { EGRESS, EGRESS_SUMMARY } from '../../../testing/fleet/egress-report.ts';
import { aHeartbeat } from '../../../testing/fleet/heartbeat.ts';
import { ManualClock } from '../../../testing/time/manual-clock.ts';
import {
  CONTRACT_RATE_LIMIT_SECONDS,
  harnessOf,
  storeContract,
} from '../../../testing/fleet/store-contract.ts';
import type { AgentKey, Arrival, Store } from '../store.ts';
import { SCHEMA_VERSION } from './migrations.ts';
import { SqlStore } from '../sql/sql-store.ts';
import { SqliteDatabase } from './sqlite-database.ts';

const START = '2026-03-01T10:00:00.000Z';
const at = (seconds: number): Date => new Date(Date.parse(START) + seconds * 1000);

let directory: string;
let store: Store;
let clock: ManualClock;

async function open(rateLimitSeconds = CONTRACT_RATE_LIMIT_SECONDS): Promise<Store> {
  const opened: Store = new SqlStore({ database: new SqliteDatabase(directory), clock, rateLimitSeconds });
  await opened.start();
  return opened;
}

const rawDatabase = () => new DatabaseSync(join(directory, 'control-plane.sqlite'), { readOnly: true });

storeContract('The SQLite store', async () => {
  const own = mkdtempSync(join(tmpdir(), 'agents-'));
  const make = async (): Promise<Store> => {
    const ownClock = new ManualClock(START);
    const opened: Store = new SqlStore({
      database: new SqliteDatabase(own),
      clock: ownClock,
      rateLimitSeconds: 10,
    });
    await opened.start();
    return opened;
  };
  return harnessOf(make, { remove: () => rmSync(own, { recursive: true }) });
});

describe('The SQLite store', () => {
  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'agents-'));
    clock = new ManualClock(START);
    store = await open();
  });
  afterEach(async () => {
    await store.close();
    rmSync(directory, { recursive: true });
  });

  const key = { namespace: 'team', name: 'shop' };
  const arrival = (overrides: Partial<Arrival> = {}): Arrival => ({
    ...key,
    source: 'sidecar',
    instance: 'shop-1',
    uid: 'u-1',
    heartbeat: aHeartbeat(),
    at: at(0),
    ...overrides,
  });

  test("creates a workload with its pod's first heartbeat", async () => {
    expect(await store.find(key, at(0))).toBeNull();
    expect(await store.heartbeat(arrival())).toMatchObject({
      kind: 'accepted',
      record: { ...key, source: 'sidecar', runtime: 'k8s', heartbeatSeconds: null },
    });
  });

  test('returns Unknown for an agent after its stale limit, and Healthy after its next heartbeat', async () => {
    await store.heartbeat(arrival({ heartbeat: aHeartbeat({ intervalSeconds: 60 }) }));
    const phases = async (seconds: number) => [
      (await store.find(key, at(seconds)))?.status.phase,
      (await store.findByName('shop', at(seconds)))[0]?.status.phase,
      (await store.list({ limit: 1, after: null, namespaces: null, phase: 'Unknown' }, at(seconds))).total,
    ];
    expect(await phases(180)).toEqual(['Healthy', 'Healthy', 0]);
    expect(await phases(180.001)).toEqual(['Unknown', 'Unknown', 1]);
    await store.heartbeat(arrival({ at: at(200), heartbeat: aHeartbeat({ seq: 2 }) }));
    expect(await phases(201)).toEqual(['Healthy', 'Healthy', 0]);
  });

  test('returns Unknown for a registered agent that never reported, after the stale time since its registration', async () => {
    await store.register({ ...key, runtime: 'docker', manifest: null }, at(10));
    const state = async (seconds: number) => {
      const status = (await store.find(key, at(seconds)))?.status;
      return [status?.phase, status?.conditions?.find(({ type }) => type === 'Reporting')?.reason];
    };
    expect(await state(130)).toEqual(['Pending', 'AwaitingFirstHeartbeat']);
    // Another registration does not start the time again.
    await store.register({ ...key, runtime: 'docker', manifest: null }, at(100));
    expect(await state(130.001)).toEqual(['Unknown', 'NeverReported']);
    await store.heartbeat(arrival({ source: 'remote', at: at(200) }));
    expect(await state(201)).toEqual(['Healthy', 'HeartbeatReceived']);
  });

  test('marks stale agents with its own timer, without a read', async () => {
    await store.heartbeat(arrival());
    const sleep = await clock.nextSleep();
    expect(sleep.ms).toBe(10_000);
    clock.advance(120_000);
    sleep.wake();
    await clock.nextSleep();
    const database = rawDatabase();
    expect(database.prepare('SELECT phase, due_at FROM agents').get()).toEqual({
      phase: 'Unknown',
      due_at: null,
    });
    database.close();
  });

  test('counts only tokens of the current UTC day', async () => {
    await store.heartbeat(arrival({ heartbeat: aHeartbeat({ totals: { tokensToday: 42 } }) }));
    const tokens = async (when: string) => (await store.find(key, new Date(when)))?.status.tokens;
    expect(await tokens('2026-03-01T23:59:59.999Z')).toBe(42);
    expect(await tokens('2026-03-02T00:00:00.000Z')).toBe(0);
  });

  test('returns the last report of the worst instance if no instance is live', async () => {
    await store.heartbeat(arrival());
    expect(await store.report(key, null, at(4000))).toMatchObject({ instance: 'shop-1' });
  });

  test('ignores a stale instance while another instance is live', async () => {
    const bad = aHeartbeat({ gap: { score: 10, grade: 'F', source: 'agent-sdk', issues: [] } });
    await store.heartbeat(arrival({ instance: 'shop-2', heartbeat: bad }));
    await store.heartbeat(arrival({ at: at(100) }));
    expect(await store.report(key, null, at(101))).toMatchObject({ instance: 'shop-2' });
    expect(await store.report(key, null, at(150))).toMatchObject({ instance: 'shop-1' });
  });

  test('keeps the full report of every listed instance', async () => {
    const bad = aHeartbeat({ gap: { score: 10, grade: 'F', source: 'agent-sdk', issues: [] } });
    await store.heartbeat(arrival({ instance: 'shop-2', heartbeat: bad }));
    await store.heartbeat(arrival());
    expect(await store.report(key, 'shop-1', at(1))).toMatchObject({
      gap: { issues: [] },
      health: { checks: [] },
    });
  });

  test('keeps the last hundred heartbeats of each agent', async () => {
    await store.close();
    store = await open(0);
    await store.heartbeat(arrival({ name: 'other' }));
    for (let seq = 1; seq <= 105; seq += 1)
      await store.heartbeat(arrival({ at: at(seq), heartbeat: aHeartbeat({ seq }) }));
    const database = rawDatabase();
    const rows = database
      .prepare("SELECT name, count(*) AS n, min(body ->> 'seq') AS first FROM heartbeats GROUP BY name")
      .all();
    database.close();
    expect(rows).toEqual([
      { name: 'other', n: 1, first: 1 },
      { name: 'shop', n: 100, first: 6 },
    ]);
  });

  test('keeps the lists of an egress report once, and not in each heartbeat', async () => {
    await store.heartbeat(arrival({ heartbeat: aHeartbeat({ egress: EGRESS }) }));
    const database = rawDatabase();
    const [body, report] = [
      database.prepare("SELECT body ->> '$.egress' AS text FROM heartbeats").get(),
      database.prepare('SELECT egress AS text FROM reports').get(),
    ].map((row) => JSON.parse(row?.['text'] as string) as unknown);
    database.close();
    expect([body, report]).toEqual([EGRESS_SUMMARY, EGRESS]);
  });

  test('deletes the reports of instances that are no longer listed', async () => {
    for (let index = 0; index < 60; index += 1)
      await store.heartbeat(arrival({ instance: `i-${index}`, uid: `u-${index}` }));
    const database = rawDatabase();
    const counted = database.prepare('SELECT count(*) AS n FROM reports').get();
    database.close();
    expect(counted).toEqual({ n: 50 });
    expect(await store.report(key, 'i-59', at(1))).toBeNull();
  });

  test('has committed every accepted heartbeat when its process is killed', async () => {
    await store.heartbeat(arrival());
    // A second connection reads only committed data; the first connection is not closed before.
    const second = await open();
    expect(await second.find(key, at(1))).toEqual(await store.find(key, at(1)));
    await second.close();
  });

  test('is readable only by its owner', async () => {
    rmSync(directory, { recursive: true });
    const other = await open();
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    await other.close();
  });

  test('returns 503 while it is not open', async () => {
    await store.close();
    expect(store.unready()).toBe('the database is not open');
    await expect(store.find(key, at(0))).rejects.toMatchObject({
      status: 503,
      headers: { 'retry-after': '2' },
    });
  });
});

describe('Many new instances', () => {
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'agents-'));
    clock = new ManualClock(START);
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  const key = { namespace: 'remote', name: 'shop' };
  const arrival = (instance: string, atMs: number): Arrival => ({
    ...key,
    source: 'remote',
    instance,
    heartbeat: aHeartbeat(),
    at: new Date(Date.parse(START) + atMs),
  });

  test('share one limit in all processes that use the database', async () => {
    const [a, b] = [await open(), await open()];
    await a.register({ ...key, runtime: 'docker', manifest: null }, at(0));
    const kinds: string[] = [];
    for (let index = 0; index < 70; index += 1)
      kinds.push((await (index % 2 === 0 ? a : b).heartbeat(arrival(`i-${index}`, 0))).kind);
    expect(kinds.filter((kind) => kind === 'accepted')).toHaveLength(60);
    await a.close();
    await b.close();
  });
});

describe('The database file', () => {
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'agents-'));
    clock = new ManualClock(START);
  });
  afterEach(() => {
    chmodSync(directory, 0o700);
    rmSync(directory, { recursive: true });
  });

  const file = () => join(directory, 'control-plane.sqlite');

  /** Writes a database of the released schema version 1 with one workload. */
  function writePrevious({ namespace, name, agentId, status, heartbeat }: PreviousAgent): void {
    const database = new DatabaseSync(file());
    database.exec(`PRAGMA journal_mode = WAL; ${PREVIOUS_SCHEMA} PRAGMA user_version = 1;`);
    const received = at(0).toISOString();
    const { gap, health } = heartbeat;
    const [json, agent] = [JSON.stringify(status), [namespace, name, agentId, 'sidecar', 'k8s']];
    database
      .prepare('INSERT INTO agents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)')
      .run(...agent, json, status.phase, status.grade ?? null, at(120).getTime());
    database
      .prepare(
        'INSERT INTO reports (namespace, name, instance, received_at, gap, health) VALUES (?, ?, ?, ?, ?, ?)',
      )
      .run(namespace, name, 'shop-1', received, JSON.stringify(gap), JSON.stringify(health));
    database
      .prepare('INSERT INTO heartbeats (namespace, name, instance, received_at, body) VALUES (?, ?, ?, ?, ?)')
      .run(namespace, name, 'shop-1', received, JSON.stringify(heartbeat));
    database.close();
  }

  test('is created with the schema version, in WAL mode', async () => {
    const opened = await open();
    const database = new DatabaseSync(file(), { readOnly: true });
    expect(database.prepare('PRAGMA user_version').get()).toEqual({ user_version: SCHEMA_VERSION });
    expect(database.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' });
    database.close();
    await opened.close();
    expect(readdirSync(directory)).toEqual(['control-plane.sqlite']);
  });

  test('of the previous version keeps its agents, keys, reports and heartbeats', async () => {
    const key = { namespace: 'team', name: 'shop' };
    const heartbeat = aHeartbeat({ seq: 1 });
    const sender = { instance: 'shop-1', uid: 'u-1' };
    const tokenHashes = [{ hash: 'h', expiresAt: at(3_600).toISOString() }];
    const status = { ...mergeHeartbeat(undefined, heartbeat, sender, at(0)), tokenHashes };
    writePrevious({ ...key, agentId: 'agt_1', status, heartbeat });

    const opened = await open();
    expect(await opened.find(key, at(1))).toEqual({
      ...{ ...key, agentId: 'agt_1', source: 'sidecar', runtime: 'k8s', heartbeatSeconds: null },
      status: JSON.parse(JSON.stringify(status)),
    });
    expect(await opened.hasToken({ ...key, agentId: 'agt_1', token: tokenHashes[0]!, at: at(1) })).toBe(true);
    expect(await opened.report(key, null, at(1))).toMatchObject({ instance: 'shop-1', gap: { score: 100 } });
    const database = new DatabaseSync(file(), { readOnly: true });
    expect(database.prepare('SELECT heartbeat_at FROM agents').get()).toEqual({
      heartbeat_at: at(0).getTime(),
    });
    database.close();

    const next = {
      ...key,
      ...sender,
      source: 'sidecar',
      heartbeat: aHeartbeat({ seq: 2 }),
      at: at(20),
    } as const;
    expect(await opened.heartbeat(next)).toMatchObject({ kind: 'accepted' });
    // The heartbeats of the previous version have no values for the history.
    const query = { ...key, step: 'heartbeat', from: at(0), to: at(60) } as const;
    const history = await opened.history?.agent(query);
    expect(history?.points).toMatchObject([{ at: at(20).toISOString(), score: 100 }]);
    await opened.close();
  });

  test('of a newer build is rejected and left unchanged', async () => {
    const database = new DatabaseSync(file());
    database.exec(`PRAGMA user_version = ${SCHEMA_VERSION + 1}`);
    database.close();
    await expect(open()).rejects.toMatchObject({
      message: `cannot open the database ${file()} (DATA_DIR)`,
      cause: {
        message: `the database has schema version ${SCHEMA_VERSION + 1}, but this build supports at most ${SCHEMA_VERSION}; use a newer build`,
      },
    });
    const after = new DatabaseSync(file(), { readOnly: true });
    expect(after.prepare('SELECT count(*) AS n FROM sqlite_schema').get()).toEqual({ n: 0 });
    after.close();
  });

  test('that is not a database fails the start with an error that names DATA_DIR', async () => {
    writeFileSync(file(), 'this is not a database, despite its name'.repeat(100));
    await expect(open()).rejects.toMatchObject({
      message: `cannot open the database ${file()} (DATA_DIR)`,
      cause: { message: 'file is not a database' },
    });
  });

  test('below a path that is not a directory fails the start with an error that names DATA_DIR', async () => {
    writeFileSync(join(directory, 'file'), '');
    directory = join(directory, 'file');
    const opening = open();
    await expect(opening).rejects.toMatchObject({ message: expect.stringContaining('(DATA_DIR)') });
    directory = join(directory, '..');
  });
});

interface PreviousAgent extends AgentKey {
  agentId: string;
  status: ObservationStatus;
  heartbeat: Heartbeat;
}

/** What schema version 1 (release 0.1.0) created. */
const PREVIOUS_SCHEMA = `
  CREATE TABLE agents (
    namespace TEXT NOT NULL,
    name      TEXT NOT NULL,
    agent_id  TEXT NOT NULL UNIQUE,
    source    TEXT NOT NULL CHECK (source IN ('sidecar', 'remote')),
    runtime   TEXT NOT NULL,
    status    TEXT NOT NULL,
    phase     TEXT NOT NULL,
    grade     TEXT,
    due_at    INTEGER,
    PRIMARY KEY (namespace, name)
  ) WITHOUT ROWID;
  CREATE INDEX agents_by_name ON agents (name, namespace);
  CREATE INDEX agents_by_due_at ON agents (due_at) WHERE due_at IS NOT NULL;

  CREATE TABLE reports (
    namespace   TEXT NOT NULL,
    name        TEXT NOT NULL,
    instance    TEXT NOT NULL,
    received_at TEXT NOT NULL,
    gap         TEXT NOT NULL,
    health      TEXT NOT NULL,
    usage       TEXT,
    PRIMARY KEY (namespace, name, instance),
    FOREIGN KEY (namespace, name) REFERENCES agents ON DELETE CASCADE
  ) WITHOUT ROWID;

  CREATE TABLE heartbeats (
    id          INTEGER PRIMARY KEY,
    namespace   TEXT NOT NULL,
    name        TEXT NOT NULL,
    instance    TEXT NOT NULL,
    received_at TEXT NOT NULL,
    body        TEXT NOT NULL,
    FOREIGN KEY (namespace, name) REFERENCES agents ON DELETE CASCADE
  );
  CREATE INDEX heartbeats_by_agent ON heartbeats (namespace, name, id);
`;
