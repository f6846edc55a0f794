import type pg from 'pg';
import { AUDIT_EVENT_TABLES } from '../sql/audit-event-table.ts';
import { AUDIT_HEAD_TABLE } from '../sql/audit-head-table.ts';
import { definitionsFor } from '../sql/dialect.ts';
import { HISTORY_TABLES } from '../sql/history-tables.ts';
import { STOP_TABLE } from '../sql/stop-table.ts';
import { NEWER_SCHEMA, UnusableServer } from './unusable-server.ts';

/**
 * The schema, one entry per version; the table `schema_version` has a row for each one that was applied. Released entries are
 * never edited; every change is a new entry. Replicas of the previous version still run while an entry is applied, so it may only
 * add tables, indexes, and columns with a default.
 */
const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE agents (
    namespace    TEXT_KEY NOT NULL,
    name         TEXT_KEY NOT NULL,
    agent_id     TEXT NOT NULL UNIQUE,
    source       TEXT NOT NULL CHECK (source IN ('sidecar', 'remote')),
    runtime      TEXT NOT NULL,
    -- ObservationStatus as JSON; phase and grade are copies for the list's filters.
    status       TEXT NOT NULL,
    phase        TEXT NOT NULL,
    grade        TEXT,
    -- When the status changes by itself (stale instances, a new day); milliseconds, null: never.
    due_at       BIGINT,
    -- Milliseconds: the last write, and the last heartbeat.
    changed_at   BIGINT NOT NULL,
    heartbeat_at BIGINT,
    -- The number of writes after the first one.
    revision     BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (namespace, name)
  );
  CREATE INDEX agents_by_name ON agents (name, namespace);
  CREATE INDEX agents_by_due_at ON agents (due_at) WHERE due_at IS NOT NULL;
  CREATE INDEX agents_by_changed_at ON agents (changed_at);
  CREATE INDEX agents_by_heartbeat_at ON agents (heartbeat_at) WHERE source = 'sidecar';

  -- Agents removed in the last hour.
  CREATE TABLE removals (
    namespace  TEXT_KEY NOT NULL,
    name       TEXT_KEY NOT NULL,
    -- Milliseconds.
    removed_at BIGINT NOT NULL,
    PRIMARY KEY (namespace, name)
  );
  CREATE INDEX removals_by_time ON removals (removed_at);

  -- The last report of each listed instance.
  CREATE TABLE reports (
    namespace   TEXT_KEY NOT NULL,
    name        TEXT_KEY NOT NULL,
    instance    TEXT_KEY NOT NULL,
    received_at TEXT NOT NULL,
    gap         TEXT NOT NULL,
    health      TEXT NOT NULL,
    -- JSON; null: the heartbeat had none.
    usage       TEXT,
    evidence    TEXT,
    audit       TEXT,
    egress      TEXT,
    PRIMARY KEY (namespace, name, instance),
    FOREIGN KEY (namespace, name) REFERENCES agents ON DELETE CASCADE
  );

  -- The last heartbeats of each agent, over all its instances.
  CREATE TABLE heartbeats (
    id            SERIAL_KEY,
    namespace     TEXT_KEY NOT NULL,
    name          TEXT_KEY NOT NULL,
    instance      TEXT NOT NULL,
    received_at   TEXT NOT NULL,
    body          TEXT NOT NULL,
    -- The state of the agent after the heartbeat, and what the agent did since the heartbeat before.
    score         DOUBLE PRECISION,
    phase         TEXT,
    tokens        DOUBLE PRECISION,
    cost_usd      DOUBLE PRECISION,
    allow         DOUBLE PRECISION,
    deny          DOUBLE PRECISION,
    fail_open     DOUBLE PRECISION,
    not_evaluated DOUBLE PRECISION,
    FOREIGN KEY (namespace, name) REFERENCES agents ON DELETE CASCADE
  );
  CREATE INDEX heartbeats_by_agent ON heartbeats (namespace, name, id);

  -- When new names of instances were accepted, so that all replicas count the same ones.
  CREATE TABLE new_names (
    id          SERIAL_KEY,
    namespace   TEXT_KEY NOT NULL,
    name        TEXT_KEY NOT NULL,
    -- Milliseconds.
    accepted_at BIGINT NOT NULL,
    FOREIGN KEY (namespace, name) REFERENCES agents ON DELETE CASCADE
  );
  CREATE INDEX new_names_by_agent ON new_names (namespace, name, id);

  ${HISTORY_TABLES}
  `,
  STOP_TABLE,
  `
  -- Who made the request, as JSON; null: not known.
  ALTER TABLE admin_actions ADD COLUMN actor TEXT;
  `,
  AUDIT_EVENT_TABLES + AUDIT_HEAD_TABLE,
];

/** The schema version of this build. */
export const SCHEMA_VERSION = MIGRATIONS.length;

/** A constant of this product. Processes that start together migrate one after the other. */
const ADVISORY_LOCK = 7_025_306_187;

/** The longest wait for another process that migrates, in milliseconds. Then the caller tries again. */
const LOCK_MS = 10_000;
/** The server ends a migration whose process is suspended, because it holds the lock. */
const IDLE_MS = 60_000;

const TABLES = MIGRATIONS.flatMap((text) =>
  [...text.matchAll(/CREATE TABLE (\w+)/g)].map(([, name]) => name),
);

/**
 * Migrates the schema to this build's version in one transaction. Rejects if a newer build wrote the database, or if tables of
 * its version are missing.
 */
export async function migrate(client: pg.ClientBase): Promise<void> {
  await client.query('BEGIN');
  await client.query(`SET LOCAL lock_timeout = ${LOCK_MS}`);
  await client.query(`SET LOCAL idle_in_transaction_session_timeout = ${IDLE_MS}`);
  // A migration may take long.
  await client.query('SET LOCAL statement_timeout = 0');
  await client.query(`SELECT pg_advisory_xact_lock(${ADVISORY_LOCK})`);
  const version = await versionOf(client);
  if (version > SCHEMA_VERSION)
    throw new UnusableServer(
      `the database of DATABASE_URL has schema version ${version}, but this build supports at most ${SCHEMA_VERSION}; use a newer build`,
      NEWER_SCHEMA,
    );
  for (const [index, text] of MIGRATIONS.entries()) {
    if (index < version) continue;
    await client.query(definitionsFor('postgres', text));
    await client.query('INSERT INTO schema_version (version) VALUES ($1)', [index + 1]);
  }
  const { rows } = await client.query<{ name: string }>(
    'SELECT name FROM unnest($1::text[]) AS name WHERE to_regclass(name) IS NULL',
    [TABLES],
  );
  // For example after a partial restore.
  const missing = rows.map(({ name }) => name).join(', ');
  if (missing !== '')
    throw new UnusableServer(`the schema of the database of DATABASE_URL has no table ${missing}`, {
      reason: 'the schema of the database is incomplete',
      fix: 'restore a complete backup, or use an empty database',
    });
  await client.query('COMMIT');
}

/** 0: an empty database. The table is created only if it is missing, so that an account without CREATE can use the schema. */
async function versionOf(client: pg.ClientBase): Promise<number> {
  const found = await client.query<{ isThere: boolean }>(
    `SELECT to_regclass('schema_version') IS NOT NULL AS "isThere"`,
  );
  if (found.rows[0]?.isThere !== true)
    await client.query(
      'CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at TIMESTAMPTZ NOT NULL DEFAULT now())',
    );
  const { rows } = await client.query<{ version: number }>(
    'SELECT COALESCE(max(version), 0) AS version FROM schema_version',
  );
  return rows[0]?.version ?? 0;
}
