import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { systemClock } from '../../../runtime/clock.ts';
import type { Logger } from '../../../runtime/logger.ts';
import { Secret } from '../../../runtime/secret.ts';
import {
  startPostgres,
  whyNoDebianServers,
  type PostgresServer,
} from '../../../testing/machine/debian-server.ts';
import { aHeartbeat } from '../../../testing/fleet/heartbeat.ts';
import { ManualClock } from '../../../testing/time/manual-clock.ts';
import {
  CONTRACT_RATE_LIMIT_SECONDS,
  harnessOf,
  storeContract,
} from '../../../testing/fleet/store-contract.ts';
import { startTcpRelay, type TcpRelay } from '../../../testing/http/tcp-relay.ts';
import { issueCa, issueLeaf } from '../../../webhook/certificates/issue.ts';
import { DEFAULT_RETENTION } from '../sql/retention.ts';
import type { SqlSession } from '../sql/sql-database.ts';
import { SqlStore, type SqlStoreOptions } from '../sql/sql-store.ts';
import type { Arrival, HeartbeatOutcome, Store } from '../store.ts';
import type { DatabaseAddress } from './database-url.ts';
import { SCHEMA_VERSION } from './migrations.ts';
import { PostgresDatabase, type PostgresOptions } from './postgres-database.ts';
import { until } from '../../../testing/time/until.ts';

const PASSWORD = 'password-of-a-test';
const START = '2026-03-01T10:00:00.000Z';
const at = (seconds: number): Date => new Date(Date.parse(START) + seconds * 1000);
const KEY = { namespace: 'team', name: 'shop' };
const TIMEOUTS = { connectMs: 20_000, statementMs: 20_000, responseMs: 30_000 };

let server: PostgresServer;
let names = 0;
/** Closed after each test, the last one first. */
const opened: { close(): Promise<void> }[] = [];
let log: { message: string; fields: unknown }[] = [];

const logger: Logger = {
  debug: () => undefined,
  info: (message, fields) => void log.push({ message, fields }),
  warn: (message, fields) => void log.push({ message, fields }),
  error: (message, fields) => void log.push({ message, fields }),
};

const clientOf = (database: string) =>
  new pg.Client({
    ...{ host: '127.0.0.1', port: server.port, user: 'postgres', password: PASSWORD, database, ssl: false },
  });

/** Runs a statement as the owner of the server. */
async function sql(text: string, database = 'postgres'): Promise<Record<string, unknown>[]> {
  const client = clientOf(database);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}

async function newDatabase(options = ''): Promise<string> {
  const name = `agents_${(names += 1)}`;
  await sql(`CREATE DATABASE ${name} ${options}`);
  return name;
}

type DatabaseOptions = Partial<Omit<PostgresOptions, 'address'>> & { address?: Partial<DatabaseAddress> };

/** A connection with the plain server, not opened yet. */
function databaseOf(database: string, { address, ...options }: DatabaseOptions = {}): PostgresDatabase {
  const made = new PostgresDatabase({
    ...{ caFile: null, poolSize: 4, clock: systemClock, logger, timeouts: TIMEOUTS },
    ...options,
    address: {
      ...{ host: '127.0.0.1', port: server.port, user: 'postgres', password: new Secret(PASSWORD), database },
      tls: 'disable',
      hasChannelBinding: false,
      ...address,
    },
  });
  opened.push(made);
  return made;
}

async function openDatabase(database: string, options: DatabaseOptions = {}): Promise<PostgresDatabase> {
  const made = databaseOf(database, options);
  await made.open();
  return made;
}

async function openStore(
  database: string,
  {
    clock = new ManualClock(START),
    ...options
  }: Partial<SqlStoreOptions> & { connection?: DatabaseOptions } = {},
): Promise<Store> {
  const { connection, ...rest } = options;
  const store = new SqlStore({
    ...{ database: databaseOf(database, connection), clock, rateLimitSeconds: 10 },
    ...rest,
  });
  opened.push(store);
  await store.start();
  return store;
}

const arrival = (overrides: Partial<Arrival> = {}): Arrival => ({
  ...KEY,
  source: 'remote',
  instance: 'i-1',
  heartbeat: aHeartbeat(),
  at: at(0),
  ...overrides,
});

const register = (store: Store) => store.register({ ...KEY, runtime: 'docker', manifest: null }, at(0));
const insert = (session: SqlSession, name: string) =>
  session.run('INSERT INTO removals (namespace, name, removed_at) VALUES ($1, $2, $3)', 'team', name, 1);
const nothing = () => Promise.resolve();
const UNAVAILABLE = { status: 503, headers: { 'retry-after': '2' } };

(whyNoDebianServers() ? describe.skip : describe)('on a real PostgreSQL server', () => {
  beforeAll(async () => {
    server = await startPostgres({ password: PASSWORD });
  }, 120_000);
  afterEach(async () => {
    for (const each of opened.splice(0).reverse()) await each.close();
    log = [];
  });
  afterAll(async () => server?.close());

  storeContract('The PostgreSQL store', async () => {
    const database = await newDatabase();
    const make = async (): Promise<Store> => {
      const store = await openStore(database, { rateLimitSeconds: CONTRACT_RATE_LIMIT_SECONDS });
      // Not for one test, but until the end of the contract.
      opened.splice(0);
      return store;
    };
    return harnessOf(make);
  });

  describe('Two replicas that share a database', () => {
    let database: string;
    let replicas: [Store, Store];

    async function openReplicas(): Promise<void> {
      database = await newDatabase();
      replicas = [await openStore(database), await openStore(database)];
    }

    /** Runs `act` for each index at the same time, alternating between the replicas. */
    const alternating = <T>(count: number, act: (store: Store, index: number) => Promise<T>): Promise<T[]> =>
      Promise.all(Array.from({ length: count }, (_, index) => act(replicas[index % 2 === 0 ? 0 : 1], index)));
    const kindsOf = (outcomes: readonly HeartbeatOutcome[]) => outcomes.map(({ kind }) => kind).sort();
    const heartbeats = async () =>
      (await sql('SELECT count(*)::int AS n FROM heartbeats', database))[0]?.['n'];

    test('accept only one of two simultaneous heartbeats of an instance', async () => {
      await openReplicas();
      await register(replicas[0]);
      for (let round = 0; round < 20; round += 1) {
        const outcomes = await alternating(2, (store, index) =>
          store.heartbeat(
            arrival({ heartbeat: aHeartbeat({ seq: 2 * round + index + 1 }), at: at(10 * round) }),
          ),
        );
        const [first, second] = kindsOf(outcomes);
        expect(first).toBe('accepted');
        expect(['limited', 'repeat']).toContain(second);
      }
      expect(await heartbeats()).toBe(20);
    });

    test('lose no heartbeat of simultaneous instances', async () => {
      await openReplicas();
      await register(replicas[0]);
      const heartbeat = aHeartbeat({ totals: { tokensToday: 5 } });
      const outcomes = await alternating(40, (store, index) =>
        store.heartbeat(arrival({ instance: `i-${index}`, heartbeat })),
      );
      expect(new Set(kindsOf(outcomes))).toEqual(new Set(['accepted']));
      for (const store of replicas)
        expect((await store.find(KEY, at(0)))?.status).toMatchObject({ instanceCount: 40, tokens: 200 });
      expect(await heartbeats()).toBe(40);
    });

    test('count new names together', async () => {
      await openReplicas();
      await register(replicas[0]);
      const outcomes = await alternating(70, (store, index) =>
        store.heartbeat(arrival({ instance: `i-${index}` })),
      );
      expect(kindsOf(outcomes).filter((kind) => kind === 'accepted')).toHaveLength(60);
    });

    test('lose no key that is added at the same time', async () => {
      await openReplicas();
      const outcome = await register(replicas[0]);
      if (outcome.kind !== 'created') throw new Error(outcome.kind);
      const grant = (index: number) => ({
        ...{ ...KEY, agentId: outcome.record.agentId, at: at(0) },
        token: { hash: `t-${index}`, expiresAt: at(60).toISOString() },
      });
      await alternating(30, (store, index) => store.addToken(grant(index)));
      const held = await alternating(30, (store, index) => store.hasToken(grant(index)));
      expect(held).toEqual(held.map(() => true));
    });

    test('register an agent once', async () => {
      await openReplicas();
      const outcomes = await alternating(20, (store) => register(store));
      expect(outcomes.filter(({ kind }) => kind === 'created')).toHaveLength(1);
      const ids = outcomes.map((outcome) => (outcome.kind === 'taken' ? null : outcome.record.agentId));
      expect(new Set(ids).size).toBe(1);
    });

    test('create a workload once, with the heartbeats of all its pods', async () => {
      await openReplicas();
      const outcomes = await alternating(20, (store, index) =>
        store.heartbeat(arrival({ source: 'sidecar', instance: `pod-${index}`, uid: `u-${index}` })),
      );
      expect(new Set(kindsOf(outcomes))).toEqual(new Set(['accepted']));
      expect((await replicas[1].find(KEY, at(0)))?.status).toMatchObject({ instanceCount: 20 });
    });

    test('mark silent agents without blocking each other', async () => {
      await openReplicas();
      await alternating(150, (store, index) =>
        store.heartbeat(arrival({ source: 'sidecar', name: `agent-${index}`, uid: 'u' })),
      );
      const pages = await alternating(4, (store) =>
        store.list({ limit: 1, after: null, namespaces: null, phase: 'Unknown' }, at(200)),
      );
      expect(pages.map(({ total }) => total)).toEqual([150, 150, 150, 150]);
    });

    test('migrate the schema once if five start at the same time', async () => {
      const empty = await newDatabase();
      const all = Array.from({ length: 5 }, () => databaseOf(empty));
      await Promise.all(all.map((each) => each.open()));
      expect(all.map((each) => each.unready())).toEqual([null, null, null, null, null]);
      const versions = Array.from({ length: SCHEMA_VERSION }, (_, index) => ({ version: index + 1 }));
      expect(await sql('SELECT version FROM schema_version ORDER BY version', empty)).toEqual(versions);
    });
  });

  describe('A missing schema', () => {
    const outages = () => log.filter(({ message }) => message === 'database unavailable, retrying');

    /** Each makes the tables of an open store disappear, as a failover to another server or a restore does. */
    const LOSSES: [string, string][] = [
      ['an empty database', 'DROP SCHEMA public CASCADE; CREATE SCHEMA public'],
      ['no schema', 'DROP SCHEMA public CASCADE'],
    ];

    test.each(LOSSES)('is a 503 until the tables are there again: %s', async (kind, statements) => {
      const name = await newDatabase();
      const store = await openStore(name);
      await register(store);
      await store.heartbeat(arrival());
      await sql(statements, name);
      // All connections fail at once, but this is one outage.
      const lost = [1, 2, 3].map((seq) =>
        store.heartbeat(arrival({ heartbeat: aHeartbeat({ seq: 10 + seq }), at: at(20) })),
      );
      for (const each of await Promise.allSettled(lost))
        expect(each).toMatchObject({
          status: 'rejected',
          reason: UNAVAILABLE,
        });
      expect(outages()).toHaveLength(1);
      if (kind === 'no schema') {
        expect(store.unready()).toBe('tables of the database are missing');
        await until(() => outages().length > 1, 'the failed migration');
        await sql('CREATE SCHEMA public', name);
      }
      await until(() => store.unready() === null, 'the migration');
      await register(store);
      const heartbeat = aHeartbeat({ seq: 20 });
      expect(await store.heartbeat(arrival({ heartbeat, at: at(40) }))).toMatchObject({ kind: 'accepted' });
      expect(await sql('SELECT max(version) AS version FROM schema_version', name)).toEqual([
        { version: SCHEMA_VERSION },
      ]);
    });

    test('in part is reported until the backup is complete', async () => {
      const name = await newDatabase();
      const store = await openStore(name);
      await register(store);
      await sql('ALTER TABLE heartbeats RENAME TO not_restored', name);
      await expect(store.heartbeat(arrival())).rejects.toMatchObject(UNAVAILABLE);
      await until(
        () => store.unready() === 'the schema of the database is incomplete',
        'the result of the migration',
      );
      expect(outages().at(-1)?.fields).toMatchObject({
        error: expect.stringContaining('heartbeats'),
      });
      await sql('ALTER TABLE not_restored RENAME TO heartbeats', name);
      await until(() => store.unready() === null, 'the database');
      expect(await store.heartbeat(arrival())).toMatchObject({
        kind: 'accepted',
      });
    });

    test('or lost grants are a 503, not an internal error', async () => {
      const name = await newDatabase();
      const database = await openDatabase(name);
      const failing = database.transaction((session) =>
        session.all('SET ROLE pg_monitor').then(() => session.all('SELECT * FROM agents')),
      );
      await expect(failing).rejects.toMatchObject({
        ...UNAVAILABLE,
        cause: { code: '42501' },
      });
    });
  });

  describe('A transaction', () => {
    const failWith = (code: string) => `
      CREATE OR REPLACE FUNCTION fail() RETURNS integer LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'made by the test' USING ERRCODE = '${code}'; END $$`;
    const removals = async (database: string) =>
      (await sql('SELECT name FROM removals ORDER BY name', database)).map((row) => row['name']);

    test.each(['40001', '40P01', '23505'])('that fails with %s runs again', async (code) => {
      const name = await newDatabase();
      const database = await openDatabase(name);
      await sql(failWith(code), name);
      let runs = 0;
      await database.transaction(async (session) => {
        runs += 1;
        await insert(session, `run-${runs}`);
        if (runs < 3) await session.all('SELECT fail()');
      });
      expect(await removals(name)).toEqual(['run-3']);
      runs = 0;
      const always = database.transaction(async (session) => {
        runs += 1;
        await session.all('SELECT fail()');
      });
      await expect(always).rejects.toMatchObject(UNAVAILABLE);
      expect(runs).toBe(5);
      expect(database.unready()).toBeNull();
    });

    test.each(['53100', '57014'])('that fails with %s is a 503 at once', async (code) => {
      const name = await newDatabase();
      const database = await openDatabase(name);
      await sql(failWith(code), name);
      let runs = 0;
      const failing = database.transaction(async (session) => {
        runs += 1;
        await session.all('SELECT fail()');
      });
      await expect(failing).rejects.toMatchObject({ ...UNAVAILABLE, cause: { code } });
      expect(runs).toBe(1);
    });

    test('that fails by a bug rejects with its error, and nothing is stored', async () => {
      const name = await newDatabase();
      const database = await openDatabase(name, { poolSize: 1 });
      const statement = database.transaction(async (session) => {
        await Promise.all([insert(session, 'a'), session.all('SELECT 1 / 0'), insert(session, 'b')]);
      });
      await expect(statement).rejects.toMatchObject({ code: '22012' });
      const bug = new Error('a bug');
      const work = database.transaction(async (session) => {
        await insert(session, 'a');
        throw bug;
      });
      await expect(work).rejects.toBe(bug);
      expect(await removals(name)).toEqual([]);
      // The only connection is usable again.
      await database.transaction((session) => insert(session, 'c'));
      expect(await removals(name)).toEqual(['c']);
    });

    test('whose work ignores the error of a statement is not stored', async () => {
      const name = await newDatabase();
      const database = await openDatabase(name);
      const ignoring = database.transaction(async (session) => {
        await insert(session, 'a');
        await session.all('SELECT 1 / 0').catch(() => null);
      });
      await expect(ignoring).rejects.toMatchObject({ code: '22012' });
      expect(await removals(name)).toEqual([]);
    });

    test('runs again if its connection breaks before the commit', async () => {
      const name = await newDatabase();
      const relay = await startTcpRelay({ host: '127.0.0.1', port: server.port });
      opened.push(relay);
      const database = await openDatabase(name, { address: { port: relay.port } });
      let runs = 0;
      await database.transaction(async (session) => {
        runs += 1;
        await insert(session, `run-${runs}`);
        if (runs === 1) relay.cut();
        await session.all('SELECT 1');
      });
      expect(await removals(name)).toEqual(['run-2']);
    });

    test('is a 503 and does not run again if its connection breaks in the commit', async () => {
      const name = await newDatabase();
      const database = await openDatabase(name);
      await sql(
        `CREATE FUNCTION end_connection() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;
        CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON removals DEFERRABLE INITIALLY DEFERRED
          FOR EACH ROW EXECUTE FUNCTION end_connection()`,
        name,
      );
      let runs = 0;
      const lost = database.transaction(async (session) => {
        runs += 1;
        await insert(session, 'a');
      });
      await expect(lost).rejects.toMatchObject(UNAVAILABLE);
      expect(runs).toBe(1);
      await sql('DROP TRIGGER at_commit ON removals', name);
      await database.transaction((session) => insert(session, 'b'));
      expect(await removals(name)).toContain('b');
    });

    test('works after the server has ended all idle connections', async () => {
      const name = await newDatabase();
      const database = await openDatabase(name);
      await Promise.all(Array.from({ length: 4 }, () => database.transaction(nothing)));
      await sql(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`);
      await database.transaction((session) => insert(session, 'a'));
      expect(await removals(name)).toEqual(['a']);
    });

    test('that only reads has no BEGIN, runs again on another connection, and rejects with the error of its work', async () => {
      const name = await newDatabase();
      const database = await openDatabase(name);
      const backend = async (session: SqlSession) => {
        const [row] = await session.all('SELECT pg_backend_pid() AS pid, now()::text AS started');
        return row;
      };
      const [first, next] = await database.read(async (session) => [
        await backend(session),
        await backend(session),
      ]);
      expect(next?.['pid']).toBe(first?.['pid']);
      expect(next?.['started']).not.toBe(first?.['started']);
      await sql(`SELECT pg_terminate_backend(${String(first?.['pid'])})`);
      const second = await database.read(backend);
      expect(second?.['pid']).not.toBe(first?.['pid']);
      const bug = new Error('a bug');
      await expect(database.read(() => Promise.reject(bug))).rejects.toBe(bug);
      expect((await database.read(backend))?.['pid']).toBe(second?.['pid']);
    });

    test('gets numbers as numbers, and stores U+0000 as U+FFFD', async () => {
      const database = await openDatabase(await newDatabase());
      const rows = await database.transaction(async (session) => {
        await insert(session, 'a\u0000b');
        const text = 'SELECT name, count(*) AS n, sum(removed_at) AS total FROM removals GROUP BY name';
        return await session.all(text);
      });
      expect(rows).toEqual([{ name: 'a\uFFFDb', n: 1, total: 1 }]);
    });

    test('is rejected while all connections are in use; the number that waits is limited', async () => {
      const name = await newDatabase();
      const timeouts = { ...TIMEOUTS, connectMs: 300 };
      const [short, long] = [
        await openDatabase(name, { poolSize: 1, timeouts }),
        await openDatabase(name, { poolSize: 1 }),
      ];
      for (const database of [short, long]) {
        const { promise: isHeld, resolve: hold } = Promise.withResolvers<void>();
        const { promise: isOver, resolve: end } = Promise.withResolvers<void>();
        const held = database.transaction(() => {
          hold();
          return isOver;
        });
        await isHeld;
        const count = database === short ? 1 : 60;
        const waiting = Array.from({ length: count }, () => database.transaction(nothing));
        const settled = Promise.allSettled(waiting);
        const rejected = { ...UNAVAILABLE, cause: { message: expect.stringContaining('DATABASE_POOL') } };
        await expect(waiting.at(-1)).rejects.toMatchObject(rejected);
        expect(database.unready()).toBeNull();
        end();
        await held;
        const outcomes = (await settled).filter(({ status }) => status === 'fulfilled');
        expect(outcomes).toHaveLength(database === short ? 0 : 50);
        await database.transaction(nothing);
      }
    });

    test('is a 503 if it waits too long for a lock', async () => {
      const name = await newDatabase();
      const store = await openStore(name, {
        connection: { timeouts: { ...TIMEOUTS, statementMs: 1_000 } },
      });
      await register(store);
      const other = clientOf(name);
      await other.connect();
      await other.query('BEGIN');
      await other.query('SELECT 1 FROM agents FOR UPDATE');
      await expect(store.heartbeat(arrival())).rejects.toMatchObject(UNAVAILABLE);
      expect(store.unready()).toBeNull();
      await other.query('ROLLBACK');
      await other.end();
      expect(await store.heartbeat(arrival())).toMatchObject({ kind: 'accepted' });
    });

    test('commits to disk even if the server is configured not to', async () => {
      const name = await newDatabase();
      await sql(`ALTER DATABASE ${name} SET synchronous_commit = off`);
      const database = await openDatabase(name);
      const rows = await database.transaction((session) => session.all('SHOW synchronous_commit'));
      expect(rows).toEqual([{ synchronous_commit: 'on' }]);
    });
  });

  describe('The server', () => {
    const isReady = (store: { unready(): string | null }) =>
      until(() => store.unready() === null, 'readiness');
    const messages = () => log.map(({ message }) => message);

    test.each(['SIGINT', 'SIGKILL'] as const)(
      'loses no acknowledged heartbeat if it ends with %s and starts again',
      async (signal) => {
        const name = await newDatabase();
        const retention = { ...DEFAULT_RETENTION, heartbeats: 100_000 };
        const store = await openStore(name, { rateLimitSeconds: 0, retention });
        await register(store);
        const acknowledged: number[] = [];
        const rejected: unknown[] = [];
        let seq = 0;
        const send = async (): Promise<void> => {
          seq += 1;
          const sent = seq;
          await store
            .heartbeat(arrival({ heartbeat: aHeartbeat({ seq: sent }), at: at(sent / 1000) }))
            .then(() => acknowledged.push(sent))
            .catch((error: unknown) => rejected.push(error));
        };
        for (let count = 0; count < 20; count += 1) await send();
        let isRestarted = false;
        const restart = server
          .stop(signal)
          .then(() => server.start())
          .finally(() => (isRestarted = true));
        while (!isRestarted) {
          await send();
          await delay(1);
        }
        await restart;
        await isReady(store);
        await send();
        expect(acknowledged.at(-1)).toBe(seq);
        expect(rejected.length).toBeGreaterThan(0);
        for (const error of rejected) expect(error).toMatchObject(UNAVAILABLE);
        const rows = await sql("SELECT (body::json ->> 'seq')::int AS seq FROM heartbeats", name);
        const stored = new Set(rows.map((row) => row['seq']));
        expect(acknowledged.filter((each) => !stored.has(each))).toEqual([]);
        expect(messages()).toEqual(
          expect.arrayContaining(['database unavailable, retrying', 'database available']),
        );
      },
    );

    test('may start after the control plane', async () => {
      const name = await newDatabase();
      await server.stop();
      const store = await openStore(name);
      expect(store.unready()).toBe('the database is not reachable');
      await expect(register(store)).rejects.toMatchObject(UNAVAILABLE);
      await server.start();
      await isReady(store);
      expect(await register(store)).toMatchObject({ kind: 'created' });
    });

    test('that rejects the password makes the store unready, and no password is logged', async () => {
      const name = await newDatabase();
      const password = new Secret('another-password');
      const store = await openStore(name, { connection: { address: { password } } });
      expect(store.unready()).toBe('the database rejected the credentials');
      await expect(register(store)).rejects.toMatchObject(UNAVAILABLE);
      expect(log).toEqual([
        {
          message: 'database unavailable, retrying',
          fields: {
            reason: 'the database rejected the credentials',
            error: '28P01: password authentication failed for user "postgres"',
            fix: expect.stringContaining('DATABASE_URL'),
            ...{ host: '127.0.0.1', port: server.port, database: name },
          },
        },
      ]);
      expect(JSON.stringify(log)).not.toContain('another-password');
    });

    test('without the database makes the store unready until the database exists', async () => {
      const name = 'created_later';
      const store = await openStore(name);
      expect(store.unready()).toBe('the database does not exist');
      await sql(`CREATE DATABASE ${name}`);
      await isReady(store);
      expect(await register(store)).toMatchObject({ kind: 'created' });
      expect(messages()).toEqual(['database unavailable, retrying', 'database available']);
    });

    test('that is read-only at the start makes the store unready until it accepts changes', async () => {
      const name = await newDatabase();
      await sql(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
      const store = await openStore(name);
      expect(store.unready()).toBe('the database is read-only');
      await sql(`ALTER DATABASE ${name} RESET default_transaction_read_only`);
      await isReady(store);
      expect(await register(store)).toMatchObject({ kind: 'created' });
    });

    test('that becomes read-only, as in a failover, is left until it accepts changes', async () => {
      const store = await openStore(await newDatabase(), { rateLimitSeconds: 0 });
      await register(store);
      let seq = 0;
      const send = () =>
        store.heartbeat(arrival({ heartbeat: aHeartbeat({ seq: (seq += 1) }), at: at(seq) }));
      await sql('ALTER SYSTEM SET default_transaction_read_only = on');
      try {
        await sql('SELECT pg_reload_conf()');
        await until(
          () =>
            send()
              .then(() => false)
              .catch(() => true),
          'the rejection',
        );
        await until(() => store.unready() === 'the database is read-only', 'the reason');
        await expect(send()).rejects.toMatchObject(UNAVAILABLE);
      } finally {
        await sql('ALTER SYSTEM RESET default_transaction_read_only');
        await sql('SELECT pg_reload_conf()');
      }
      await isReady(store);
      expect(await send()).toMatchObject({ kind: 'accepted' });
    });

    test('that does not respond makes the store unready, and requests end', async () => {
      const relay: TcpRelay = await startTcpRelay({ host: '127.0.0.1', port: server.port });
      opened.push(relay);
      const timeouts = { ...TIMEOUTS, connectMs: 500, responseMs: 500 };
      const store = await openStore(await newDatabase(), {
        connection: { timeouts, address: { port: relay.port } },
      });
      await register(store);
      relay.hang();
      await expect(store.heartbeat(arrival())).rejects.toMatchObject(UNAVAILABLE);
      await until(() => store.unready() === 'the database is not reachable', 'the reason');
      relay.heal();
      await isReady(store);
      expect(await store.heartbeat(arrival())).toMatchObject({ kind: 'accepted' });
    });

    test('that is too slow to accept a connection keeps the connections that work', async () => {
      const timeouts = { ...TIMEOUTS, connectMs: 300 };
      const database = await openDatabase(await newDatabase(), { timeouts });
      const pidOf = async (session: SqlSession) =>
        (await session.all('SELECT pg_backend_pid() AS pid'))[0]?.['pid'];
      const first = await database.transaction(pidOf);
      // The server waits before each login, in seconds.
      await sql('ALTER SYSTEM SET pre_auth_delay = 2');
      await sql('SELECT pg_reload_conf()');
      try {
        const started = Promise.withResolvers<void>();
        const held = Promise.withResolvers<void>();
        const holding = database.transaction(() => {
          started.resolve();
          return held.promise;
        });
        await started.promise;
        await expect(database.transaction(nothing)).rejects.toMatchObject(UNAVAILABLE);
        expect(database.unready()).toBeNull();
        held.resolve();
        await holding;
        expect(await database.transaction(pidOf)).toBe(first);
      } finally {
        await sql('ALTER SYSTEM RESET pre_auth_delay');
        await sql('SELECT pg_reload_conf()');
      }
    });

    test('with the schema of a newer build fails the start, and a running store works on', async () => {
      const name = await newDatabase();
      const store = await openStore(name);
      await sql(`INSERT INTO schema_version (version) VALUES (${SCHEMA_VERSION + 1})`, name);
      await expect(databaseOf(name).open()).rejects.toThrow(
        `the database of DATABASE_URL has schema version ${SCHEMA_VERSION + 1}, but this build supports at most ${SCHEMA_VERSION}; use a newer build`,
      );
      expect(await register(store)).toMatchObject({ kind: 'created' });
    });

    test('with an encoding that cannot store every text makes the store unready', async () => {
      const name = await newDatabase("ENCODING 'SQL_ASCII' TEMPLATE template0");
      const store = await openStore(name);
      expect(store.unready()).toBe('the encoding of the database is not UTF8');
    });

    test('needs no right to create tables once the schema exists', async () => {
      const name = await newDatabase();
      await sql(`CREATE ROLE app LOGIN PASSWORD '${PASSWORD}'`);
      const connection = { address: { user: 'app' } };
      const early = await openStore(name, { connection });
      expect(early.unready()).toBe('the schema of the database cannot be created');
      await openStore(name);
      await sql('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO app', name);
      await isReady(early);
      await register(early);
      expect(await early.heartbeat(arrival())).toMatchObject({ kind: 'accepted' });
      expect(await early.remove(KEY)).toBe('removed');
    });

    test('without TLS is not used if TLS is required', async () => {
      const address = { tls: 'verify-full' } as const;
      const store = await openStore(await newDatabase(), { connection: { address } });
      expect(store.unready()).toBe('TLS with the database failed');
      expect(log[0]?.fields).toMatchObject({ fix: expect.stringContaining('sslmode') });
    });
  });

  describe('A server that requires TLS', () => {
    let secured: PostgresServer;
    let directory: string;
    const fileOf = (name: string) => join(directory, name);

    beforeAll(async () => {
      directory = mkdtempSync(join(tmpdir(), 'postgres-tls-'));
      const validity = { now: new Date(), days: 1 };
      const [ca, other] = [await issueCa(validity), await issueCa(validity)];
      const { cert, key } = await issueLeaf(ca, ['127.0.0.1'], validity);
      writeFileSync(fileOf('ca.pem'), ca.cert);
      writeFileSync(fileOf('other.pem'), other.cert);
      writeFileSync(fileOf('empty.pem'), '');
      secured = await startPostgres({ password: PASSWORD, tls: { cert, key, isRequired: true } });
    }, 120_000);
    afterAll(async () => {
      await secured?.close();
      rmSync(directory, { recursive: true });
    });

    const FAILED = 'TLS with the database failed';
    test.each([
      ['verify-full', 'ca.pem', '127.0.0.1', null],
      ['verify-full', 'other.pem', '127.0.0.1', FAILED],
      ['verify-full', null, '127.0.0.1', FAILED],
      ['verify-full', 'ca.pem', 'localhost', FAILED],
      ['verify-ca', 'ca.pem', 'localhost', null],
      ['verify-ca', 'other.pem', '127.0.0.1', FAILED],
      ['require', null, '127.0.0.1', null],
      ['require', 'ca.pem', 'localhost', null],
      ['require', 'other.pem', '127.0.0.1', FAILED],
      ['disable', null, '127.0.0.1', 'the database rejected the credentials'],
    ] as const)('with sslmode=%s, the CA %s and the host %s: %s', async (tls, ca, host, reason) => {
      const database = await openDatabase('postgres', {
        caFile: ca === null ? null : fileOf(ca),
        address: { tls, host, port: secured.port, hasChannelBinding: true },
      });
      expect(database.unready()).toBe(reason);
    });

    test.each(['empty.pem', 'missing.pem'])(
      'fails the start with an error that names DATABASE_CA_FILE for the file %s',
      async (name) => {
        const opening = databaseOf('postgres', { caFile: fileOf(name) }).open();
        await expect(opening).rejects.toThrow(
          `DATABASE_CA_FILE ${fileOf(name)} is not a PEM file with certificates`,
        );
      },
    );
  });
});
