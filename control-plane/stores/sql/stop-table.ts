import type { AgentStop } from '../../../core/organisation/stops.ts';
import type { AgentStopSpec } from '../../../core/shapes/agent-stop.ts';
import type { StopRows } from '../store.ts';
import type { SqlDatabase } from './sql-database.ts';

/** The table of the stops, for SQLite and PostgreSQL. */
export const STOP_TABLE = `
  CREATE TABLE stops (
    id        SERIAL_KEY,
    namespace TEXT_KEY NOT NULL,
    name      TEXT_KEY NOT NULL,
    -- Milliseconds; until_at null: it has no end.
    since_at  BIGINT NOT NULL,
    until_at  BIGINT,
    -- AgentStopSpec as JSON.
    spec      TEXT NOT NULL,
    UNIQUE (namespace, name)
  );
`;

/** Rows are never updated. SQLite gives the largest id again after its row was removed. */
const REVISION = `
  SELECT count(*) AS "count", COALESCE(max(id), 0) AS "id", COALESCE(max(since_at), 0) AS "sinceAt" FROM stops`;

const ALL = 'SELECT namespace, name, since_at AS "sinceAt", spec FROM stops ORDER BY id';

const ADD = `
  INSERT INTO stops (namespace, name, since_at, until_at, spec) VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (namespace, name) DO NOTHING`;

/** The stops in a database that has STOP_TABLE. */
export function stopRows(database: SqlDatabase): StopRows {
  return {
    read: (known) =>
      database.read(async (session) => {
        const [state = {}] = await session.all(REVISION);
        const revision = JSON.stringify(state);
        if (revision === known) return null;
        // A row that is added between the two statements changes the next revision as well.
        const rows = await session.all<{ namespace: string; name: string; sinceAt: number; spec: string }>(
          ALL,
        );
        const stops = rows.map(({ namespace, name, sinceAt, spec }) => ({
          ...{ namespace, name, since: new Date(sinceAt).toISOString() },
          spec: JSON.parse(spec) as AgentStopSpec,
        }));
        return { revision, stops };
      }),
    add: ({ namespace, name, since, spec }: AgentStop) =>
      database.transaction(async (session) => {
        const sinceMs = Date.parse(since);
        const untilMs = spec.until === undefined ? null : Date.parse(spec.until);
        await session.run('DELETE FROM stops WHERE until_at <= $1', sinceMs);
        await session.run(ADD, namespace, name, sinceMs, untilMs, JSON.stringify(spec));
      }),
    remove: ({ namespace, name }) =>
      database.transaction(
        async (session) =>
          (await session.run('DELETE FROM stops WHERE namespace = $1 AND name = $2', namespace, name)) > 0,
      ),
  };
}
