import type { DatabaseSync } from 'node:sqlite';
import { AUDIT_EVENT_TABLES } from '../sql/audit-event-table.ts';
import { AUDIT_HEAD_TABLE } from '../sql/audit-head-table.ts';
import { definitionsFor } from '../sql/dialect.ts';
import { HISTORY_TABLES } from '../sql/history-tables.ts';
import { STOP_TABLE } from '../sql/stop-table.ts';

/**
 * The schema, one entry per version. `PRAGMA user_version` holds the version of a file. Released entries are never edited;
 * every change is a new entry.
 */
const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE agents (
    namespace TEXT NOT NULL,
    name      TEXT NOT NULL,
    agent_id  TEXT NOT NULL UNIQUE,
    source    TEXT NOT NULL CHECK (source IN ('sidecar', 'remote')),
    runtime   TEXT NOT NULL,
    -- ObservationStatus as JSON; phase and grade are copies for the list's filters.
    status    TEXT NOT NULL,
    phase     TEXT NOT NULL,
    grade     TEXT,
    -- When the status changes by itself (stale instances, a new day); milliseconds, null: never.
    due_at    INTEGER,
    PRIMARY KEY (namespace, name)
  ) WITHOUT ROWID;
  CREATE INDEX agents_by_name ON agents (name, namespace);
  CREATE INDEX agents_by_due_at ON agents (due_at) WHERE due_at IS NOT NULL;

  -- The last reports of each instance.
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

  -- The last heartbeats of each agent, over all its instances.
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
  `,
  `
  -- When new names of instances were accepted, so that every process that shares the database counts the same ones.
  CREATE TABLE new_names (
    id          INTEGER PRIMARY KEY,
    namespace   TEXT NOT NULL,
    name        TEXT NOT NULL,
    -- Milliseconds.
    accepted_at INTEGER NOT NULL,
    FOREIGN KEY (namespace, name) REFERENCES agents ON DELETE CASCADE
  );
  CREATE INDEX new_names_by_agent ON new_names (namespace, name, accepted_at);

  -- JSON; null: the heartbeat had none.
  ALTER TABLE reports ADD COLUMN evidence TEXT;
  ALTER TABLE reports ADD COLUMN audit TEXT;
  ALTER TABLE reports ADD COLUMN egress TEXT;

  -- Milliseconds: the last write, and the last heartbeat.
  ALTER TABLE agents ADD COLUMN changed_at INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE agents ADD COLUMN heartbeat_at INTEGER;
  -- The number of writes after the first one.
  ALTER TABLE agents ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
  UPDATE agents SET heartbeat_at = (
    SELECT unixepoch(received_at) * 1000 FROM heartbeats
    WHERE heartbeats.namespace = agents.namespace AND heartbeats.name = agents.name ORDER BY id DESC LIMIT 1);
  -- With the revision, so that a query of versions does not read the table.
  CREATE INDEX agents_by_changed_at ON agents (changed_at, revision);
  CREATE INDEX agents_by_heartbeat_at ON agents (heartbeat_at) WHERE source = 'sidecar';

  -- Agents removed in the last hour.
  CREATE TABLE removals (
    namespace  TEXT NOT NULL,
    name       TEXT NOT NULL,
    -- Milliseconds.
    removed_at INTEGER NOT NULL,
    PRIMARY KEY (namespace, name)
  ) WITHOUT ROWID;
  CREATE INDEX removals_by_time ON removals (removed_at);

  -- The state of the agent after the heartbeat, and what the agent did since the heartbeat before. null: stored by an earlier
  -- version.
  ALTER TABLE heartbeats ADD COLUMN score REAL;
  ALTER TABLE heartbeats ADD COLUMN phase TEXT;
  ALTER TABLE heartbeats ADD COLUMN tokens REAL;
  ALTER TABLE heartbeats ADD COLUMN cost_usd REAL;
  ALTER TABLE heartbeats ADD COLUMN allow REAL;
  ALTER TABLE heartbeats ADD COLUMN deny REAL;
  ALTER TABLE heartbeats ADD COLUMN fail_open REAL;
  ALTER TABLE heartbeats ADD COLUMN not_evaluated REAL;
  ${definitionsFor('sqlite', HISTORY_TABLES)}
  `,
  definitionsFor('sqlite', STOP_TABLE),
  `
  -- Who made the request, as JSON; null: not known.
  ALTER TABLE admin_actions ADD COLUMN actor TEXT;
  `,
  definitionsFor('sqlite', AUDIT_EVENT_TABLES + AUDIT_HEAD_TABLE),
];

/** The schema version of this build. */
export const SCHEMA_VERSION = MIGRATIONS.length;

/** Migrates a database to this build's version in one transaction. Throws if a newer build wrote the database. */
export function migrate(database: DatabaseSync): void {
  const row = database.prepare('PRAGMA user_version').get();
  const version = Number(row?.['user_version']);
  if (version > SCHEMA_VERSION)
    throw new Error(
      `the database has schema version ${version}, but this build supports at most ${SCHEMA_VERSION}; use a newer build`,
    );
  if (version === SCHEMA_VERSION) return;
  const steps = MIGRATIONS.slice(version).join('\n;\n');
  database.exec(`BEGIN IMMEDIATE; ${steps}\n; PRAGMA user_version = ${SCHEMA_VERSION}; COMMIT;`);
}
