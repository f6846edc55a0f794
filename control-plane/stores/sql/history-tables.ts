import { changesBetween } from '../../../core/fleet/changes-between.ts';
import type { HistoryPoint } from '../../../core/shapes/history.ts';
import { DAY_MS, startOf, STEP_MS, type RollupStep } from '../../../core/fleet/steps.ts';
import type { ObservationStatus } from '../../../core/shapes/observation.ts';
import type { HistoryStore } from '../history.ts';
import type { AgentKey } from '../store.ts';
import { addAction, listActions } from './admin-actions.ts';
import { agentHistory, fleetHistory, trendsOf } from './history-queries.ts';
import type { SqlRetention } from './retention.ts';
import type { SqlDatabase, SqlSession } from './sql-database.ts';

/**
 * The tables of the history, for SQLite and PostgreSQL. The migration replaces TEXT_KEY and SERIAL_KEY by the types of the
 * database. Sums are DOUBLE PRECISION, like the numbers of a heartbeat: a sum of integers can exceed BIGINT.
 */
export const HISTORY_TABLES = `
  -- What each agent did in each UTC hour and day with a heartbeat. starts_at: milliseconds.
  CREATE TABLE rollups (
    namespace     TEXT_KEY NOT NULL,
    name          TEXT_KEY NOT NULL,
    step          TEXT_KEY NOT NULL,
    starts_at     BIGINT NOT NULL,
    heartbeats    BIGINT NOT NULL,
    score         DOUBLE PRECISION NOT NULL,
    score_min     DOUBLE PRECISION NOT NULL,
    score_max     DOUBLE PRECISION NOT NULL,
    phase         TEXT NOT NULL,
    tokens        DOUBLE PRECISION NOT NULL,
    cost_usd      DOUBLE PRECISION NOT NULL,
    allow         DOUBLE PRECISION NOT NULL,
    deny          DOUBLE PRECISION NOT NULL,
    fail_open     DOUBLE PRECISION NOT NULL,
    not_evaluated DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (namespace, name, step, starts_at),
    FOREIGN KEY (namespace, name) REFERENCES agents ON DELETE CASCADE
  );
  CREATE INDEX rollups_by_time ON rollups (step, starts_at);

  -- The moments at which a value of an agent changed.
  CREATE TABLE changes (
    id         SERIAL_KEY,
    namespace  TEXT_KEY NOT NULL,
    name       TEXT_KEY NOT NULL,
    at         BIGINT NOT NULL,
    kind       TEXT NOT NULL,
    from_value TEXT,
    to_value   TEXT,
    -- What changed, for a manifest.
    summary    TEXT,
    FOREIGN KEY (namespace, name) REFERENCES agents ON DELETE CASCADE
  );
  CREATE INDEX changes_by_agent ON changes (namespace, name, id);
  CREATE INDEX changes_by_time ON changes (at);

  -- The requests with the admin key that change something. They outlive their agents.
  CREATE TABLE admin_actions (
    id         SERIAL_KEY,
    at         BIGINT NOT NULL,
    action     TEXT NOT NULL,
    address    TEXT NOT NULL,
    agent_name TEXT,
    namespace  TEXT,
    rule_id    TEXT,
    status     BIGINT NOT NULL
  );
`;

export interface StatusChange {
  key: AgentKey;
  /** undefined: the agent is new. */
  before: ObservationStatus | undefined;
  after: ObservationStatus;
  /** The point of the heartbeat; null: the status changed without a heartbeat. */
  point: HistoryPoint | null;
  at: Date;
}

/** Adds a heartbeat to both roll-ups. The first occurrences of the parameters are in ascending order. */
const ADD_TO_ROLLUPS = `
  INSERT INTO rollups (namespace, name, step, starts_at, heartbeats, score, score_min, score_max, phase,
    tokens, cost_usd, allow, deny, fail_open, not_evaluated)
  VALUES ($1, $2, 'hour', $3, 1, $4, $4, $4, $5, $6, $7, $8, $9, $10, $11),
    ($1, $2, 'day', $12, 1, $4, $4, $4, $5, $6, $7, $8, $9, $10, $11)
  ON CONFLICT (namespace, name, step, starts_at) DO UPDATE SET
    heartbeats = rollups.heartbeats + excluded.heartbeats,
    score = excluded.score,
    score_min = CASE WHEN excluded.score < rollups.score_min THEN excluded.score ELSE rollups.score_min END,
    score_max = CASE WHEN excluded.score > rollups.score_max THEN excluded.score ELSE rollups.score_max END,
    phase = excluded.phase,
    tokens = rollups.tokens + excluded.tokens,
    cost_usd = rollups.cost_usd + excluded.cost_usd,
    allow = rollups.allow + excluded.allow,
    deny = rollups.deny + excluded.deny,
    fail_open = rollups.fail_open + excluded.fail_open,
    not_evaluated = rollups.not_evaluated + excluded.not_evaluated`;

const ADD_CHANGE = `
  INSERT INTO changes (namespace, name, at, kind, from_value, to_value, summary) VALUES ($1, $2, $3, $4, $5, $6, $7)`;

/** Maximum number of stored changes of an agent. */
const MAX_CHANGES = 200;

const TRIM_CHANGES = `
  DELETE FROM changes WHERE namespace = $1 AND name = $2 AND id <= (
    SELECT id FROM changes WHERE namespace = $1 AND name = $2 ORDER BY id DESC LIMIT 1 OFFSET ${MAX_CHANGES})`;

/**
 * Records a new status of an agent, in the transaction that writes it. One statement, unless a value changed. A session runs
 * statements in the order of the calls, so none waits for the result of another.
 */
export async function recordHistory(session: SqlSession, change: StatusChange): Promise<void> {
  const { key, before, after, point, at } = change;
  const { namespace, name } = key;
  const changes = changesBetween(before, after, at);
  const writes = changes.map(({ kind, from, to, summary = null }) =>
    session.run(ADD_CHANGE, namespace, name, at.getTime(), kind, from, to, summary),
  );
  if (changes.length > 0) writes.push(session.run(TRIM_CHANGES, namespace, name));
  if (point !== null) writes.push(addToRollups(session, key, point));
  await Promise.all(writes);
}

function addToRollups(
  session: SqlSession,
  { namespace, name }: AgentKey,
  { at, score, phase, tokens, costUsd, outcomes }: HistoryPoint,
): Promise<number> {
  const [hour, day] = [startOf('hour', new Date(at)), startOf('day', new Date(at))];
  const { allow, deny, failOpen, notEvaluated } = outcomes;
  const counters = [tokens, costUsd, allow, deny, failOpen, notEvaluated];
  const state = [hour.getTime(), score, phase];
  return session.run(ADD_TO_ROLLUPS, namespace, name, ...state, ...counters, day.getTime());
}

/** Maximum number of steps whose roll-ups one call deletes, so that a shorter retention does not block heartbeats for long. */
const MAX_EXPIRED_STEPS = 24;

const EXPIRE_ROLLUPS = `
  DELETE FROM rollups WHERE step = $1 AND starts_at < $2
    AND starts_at < (SELECT min(starts_at) FROM rollups WHERE step = $1) + $3`;

/** Deletes what is older than the retention. Called once an hour. */
export async function expireHistory(
  session: SqlSession,
  retention: Pick<SqlRetention, 'hourlyDays' | 'dailyDays'>,
  at: Date,
): Promise<void> {
  const oldestOf = (days: number): number => at.getTime() - days * DAY_MS;
  const expire = (step: RollupStep, days: number): Promise<number> =>
    session.run(EXPIRE_ROLLUPS, step, oldestOf(days), MAX_EXPIRED_STEPS * STEP_MS[step]);
  await expire('hour', retention.hourlyDays);
  await expire('day', retention.dailyDays);
  await session.run('DELETE FROM changes WHERE at < $1', oldestOf(retention.dailyDays));
}

/** The history in a database that has HISTORY_TABLES. */
export function historyOf(database: SqlDatabase): HistoryStore {
  return {
    agent: (query) => database.read((session) => agentHistory(session, query)),
    fleet: (query) => fleetHistory(database, query),
    trends: (keys, at) => database.read((session) => trendsOf(session, keys, at)),
    addAction: (action) => database.transaction((session) => addAction(session, action)),
    actions: (query) => database.read((session) => listActions(session, query)),
  };
}
