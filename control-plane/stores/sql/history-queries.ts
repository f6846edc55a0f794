import type { OutcomeCounts } from '../../../core/shapes/outcomes.ts';
import { GRADES, type Grade } from '../../../core/shapes/values.ts';
import { gradeOf, minimumScoreOf } from '../../../core/shapes/grade.ts';
import type { FleetPoint, HistoryChange, HistoryPoint } from '../../../core/shapes/history.ts';
import { DAY_MS, startOf, STEP_MS } from '../../../core/fleet/steps.ts';
import { present } from '../../../core/untrusted/present.ts';
import type { AgentHistoryQuery, FleetHistoryQuery } from '../history.ts';
import type { AgentKey } from '../store.ts';
import { inList, NAMESPACE } from './in-list.ts';
import type { SqlDatabase, SqlSession } from './sql-database.ts';

const COUNTERS =
  'tokens, cost_usd AS "costUsd", allow, deny, fail_open AS "failOpen", not_evaluated AS "notEvaluated"';

const ROLLUPS = `
  SELECT starts_at AS at, heartbeats, score, score_min AS "scoreMin", score_max AS "scoreMax", phase, ${COUNTERS}
  FROM rollups
  WHERE namespace = $1 AND name = $2 AND starts_at >= $3 AND starts_at < $4 AND step = $5 ORDER BY starts_at`;

/** `received_at` is a text, ISO 8601. Heartbeats of versions without a history have no score. */
const HEARTBEATS = `
  SELECT received_at AS at, 1 AS heartbeats, score, score AS "scoreMin", score AS "scoreMax", phase, ${COUNTERS}
  FROM heartbeats
  WHERE namespace = $1 AND name = $2 AND received_at >= $3 AND received_at < $4 AND score IS NOT NULL
  ORDER BY received_at, id`;

const CHANGES = `
  SELECT at, kind, from_value AS "from", to_value AS "to", summary FROM changes
  WHERE namespace = $1 AND name = $2 AND at >= $3 AND at < $4 ORDER BY at, id`;

/** The points and changes of one agent, oldest first. */
export async function agentHistory(
  session: SqlSession,
  { namespace, name, step, from, to }: AgentHistoryQuery,
): Promise<{ points: HistoryPoint[]; changes: HistoryChange[] }> {
  const values = [namespace, name, from.getTime(), to.getTime()];
  const points =
    step === 'heartbeat'
      ? await session.all<PointRow>(HEARTBEATS, namespace, name, from.toISOString(), to.toISOString())
      : await session.all<PointRow>(ROLLUPS, ...values, step);
  const changes = await session.all<ChangeRow>(CHANGES, ...values);
  return {
    points: points.map(pointOfRow),
    changes: changes.map(({ at, summary, ...change }) => ({
      ...{ at: timeOf(at), ...change },
      ...present({ summary }),
    })),
  };
}

/** The columns of a point or change. Those with times contain milliseconds or ISO 8601. */
type Timed<T> = Omit<T, 'at'> & { at: number | string };
type Counters = OutcomeCounts & Pick<HistoryPoint, 'tokens' | 'costUsd'>;
type PointRow = Counters & Timed<Omit<HistoryPoint, 'grade' | 'outcomes'>>;

type ChangeRow = Timed<Omit<HistoryChange, 'summary'>> & { summary: string | null };

const timeOf = (value: number | string): string => new Date(value).toISOString();

function pointOfRow(row: PointRow): HistoryPoint {
  const { heartbeats, score, scoreMin, scoreMax, phase } = row;
  const state = { heartbeats, score, scoreMin, scoreMax, grade: gradeOf(score), phase };
  return { at: timeOf(row.at), ...state, ...countersOf(row) };
}

/** Costs are rounded to 1e-9 USD, because sums of floating point numbers have tiny errors. */
function countersOf(row: Counters): Pick<HistoryPoint, 'tokens' | 'costUsd' | 'outcomes'> {
  const { tokens, costUsd, allow, deny, failOpen, notEvaluated } = row;
  const outcomes = { allow, deny, failOpen, notEvaluated };
  return { tokens, costUsd: Math.round(costUsd * 1e9) / 1e9, outcomes };
}

/** From the table of the grades, so that the database counts by the same limits. */
const GRADE_COUNTS = GRADES.map((grade, index) => {
  const better = GRADES[index - 1];
  const below = better === undefined ? '' : ` AND score < ${minimumScoreOf(better)}`;
  return `count(CASE WHEN score >= ${minimumScoreOf(grade)}${below} THEN 1 END) AS "${grade}"`;
}).join(', ');

const fleetPoints = (filter: string): string => `
  SELECT starts_at AS at, count(*) AS agents, CAST(sum(heartbeats) AS BIGINT) AS heartbeats, avg(score) AS score,
    ${GRADE_COUNTS}, sum(tokens) AS tokens, sum(cost_usd) AS "costUsd", sum(allow) AS allow, sum(deny) AS deny,
    sum(fail_open) AS "failOpen", sum(not_evaluated) AS "notEvaluated"
  FROM rollups WHERE step = $1 AND starts_at >= $2 AND starts_at < $3${filter}
  GROUP BY starts_at ORDER BY starts_at`;

const ALL_NAMESPACES = fleetPoints('');

/** The first step of a range that has roll-ups. */
const FIRST = `
  SELECT min(starts_at) AS first FROM rollups WHERE step = $1 AND starts_at >= $2 AND starts_at < $3`;

/**
 * Number of points per transaction. SQLite blocks the process during a query, and each point reads the roll-ups of all agents.
 * Between two transactions the process handles heartbeats.
 */
const POINTS_PER_QUERY = 2;

/** The points of the whole fleet, oldest first. Steps without roll-ups cost nothing. */
export async function fleetHistory(database: SqlDatabase, query: FleetHistoryQuery): Promise<FleetPoint[]> {
  const points: FleetPoint[] = [];
  let from: number | null = query.from.getTime();
  while (from !== null) {
    const start: number = from;
    const part = await database.read((session) => fleetPart(session, query, start));
    points.push(...part.points);
    from = part.end;
  }
  return points;
}

/** The first points at or after `start`; `end`: where the next part starts; null: there is none. */
async function fleetPart(
  session: SqlSession,
  { namespaces, step, to }: FleetHistoryQuery,
  start: number,
): Promise<{ points: FleetPoint[]; end: number | null }> {
  const [row] = await session.all<{ first: number | null }>(FIRST, step, start, to.getTime());
  const first = row?.first ?? null;
  if (first === null) return { points: [], end: null };
  const end = first + POINTS_PER_QUERY * STEP_MS[step];
  const range = [step, first, Math.min(end, to.getTime())];
  const list = namespaces && inList(namespaces, range.length + 1);
  const rows =
    list === null
      ? await session.all<FleetRow>(ALL_NAMESPACES, ...range)
      : await session.all<FleetRow>(
          fleetPoints(` AND ${NAMESPACE} IN ${list.text}`),
          ...[...range, ...list.values],
        );
  return { points: rows.map(fleetPointOfRow), end };
}

type FleetRow = Counters &
  Record<Grade, number> &
  Timed<Pick<FleetPoint, 'at' | 'agents' | 'heartbeats' | 'score'>>;

function fleetPointOfRow(row: FleetRow): FleetPoint {
  const grades = Object.fromEntries(GRADES.map((grade) => [grade, row[grade]])) as Record<Grade, number>;
  const { agents, heartbeats } = row;
  const score = Math.round(row.score * 10) / 10;
  return { at: timeOf(row.at), agents, heartbeats, score, grades, ...countersOf(row) };
}

/** Number of agents per query of the trends. The statement has a fixed number of parameters, so it is prepared once. */
const AGENTS_PER_QUERY = 50;

const TRENDS = `
  SELECT namespace, name, score FROM rollups
  WHERE step = 'hour' AND starts_at > $1 AND (namespace, name) IN (VALUES ${Array.from(
    { length: AGENTS_PER_QUERY },
    (_, index) => `($${2 * index + 2}, $${2 * index + 3})`,
  ).join(', ')})
  ORDER BY namespace, name, starts_at`;

/** The last scores by hour of the last 24 hours, by `namespace/name`. */
export async function trendsOf(
  session: SqlSession,
  keys: readonly AgentKey[],
  at: Date,
): Promise<Map<string, number[]>> {
  const since = startOf('hour', at).getTime() - DAY_MS;
  const trends = new Map<string, number[]>();
  for (let start = 0; start < keys.length; start += AGENTS_PER_QUERY) {
    const page = keys.slice(start, start + AGENTS_PER_QUERY);
    // The last agent fills the remaining parameters.
    const padded = Array.from({ length: AGENTS_PER_QUERY }, (_, index) => page[index] ?? page.at(-1));
    const values = padded.flatMap((key) => (key === undefined ? [] : [key.namespace, key.name]));
    const rows = await session.all<AgentKey & { score: number }>(TRENDS, since, ...values);
    for (const { namespace, name, score } of rows) {
      const key = `${namespace}/${name}`;
      trends.set(key, [...(trends.get(key) ?? []), score]);
    }
  }
  return trends;
}
