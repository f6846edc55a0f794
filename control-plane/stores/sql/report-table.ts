import { observedSummaryOf } from '../../../core/egress/report.ts';
import type { HistoryPoint } from '../../../core/shapes/history.ts';
import type { ObservationStatus } from '../../../core/shapes/observation.ts';
import type { AgentKey, Arrival, InstanceReport } from '../store.ts';
import type { SqlSession } from './sql-database.ts';

const PUT = `
  INSERT INTO reports (namespace, name, instance, received_at, gap, health, usage, evidence, audit, egress)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
  ON CONFLICT (namespace, name, instance) DO UPDATE SET
    received_at = excluded.received_at, gap = excluded.gap, health = excluded.health, usage = excluded.usage,
    evidence = excluded.evidence, audit = excluded.audit, egress = excluded.egress`;
const GET = `
  SELECT received_at AS "receivedAt", gap, health, usage, evidence, audit, egress FROM reports
  WHERE namespace = $1 AND name = $2 AND instance = $3`;
const INSTANCES = 'SELECT instance FROM reports WHERE namespace = $1 AND name = $2';
const REMOVE = 'DELETE FROM reports WHERE namespace = $1 AND name = $2 AND instance = $3';

/** The last report of each listed instance. */
export const reportTable = {
  /** Deletes the reports of instances that are no longer listed, so that reports do not accumulate. */
  async put(
    session: SqlSession,
    arrival: Arrival,
    { before, after }: { before: ObservationStatus | undefined; after: ObservationStatus },
  ): Promise<void> {
    const { namespace, name, instance, heartbeat, at } = arrival;
    const listed = listedIn(after);
    const row = after.instances?.find((each) => each.name === instance);
    if (row !== undefined) {
      const { gap, health, usage, evidence, audit, egress } = heartbeat;
      // The proved score of the row counts, which may be lower.
      const parts = [gap, health, usage, evidence, audit && { ...audit, ...row.audit }, egress];
      const texts = parts.map((value) => (value === null ? null : JSON.stringify(value)));
      await session.run(PUT, namespace, name, instance, at.toISOString(), ...texts);
    }
    if ([...listedIn(before), instance].every((each) => listed.has(each))) return;
    for (const stored of await session.all<{ instance: string }>(INSTANCES, namespace, name))
      if (!listed.has(stored.instance)) await session.run(REMOVE, namespace, name, stored.instance);
  },

  async get(
    session: SqlSession,
    { namespace, name }: AgentKey,
    instance: string,
  ): Promise<InstanceReport | null> {
    const [row] = await session.all<ReportRow>(GET, namespace, name, instance);
    if (row === undefined) return null;
    const { receivedAt, ...texts } = row;
    const parts = Object.entries(texts).map(([part, text]) => [part, JSON.parse(text ?? 'null') as unknown]);
    return { instance, receivedAt, ...Object.fromEntries(parts) } as InstanceReport;
  },
};

/** Each column but the time is JSON, or null. */
type ReportRow = { receivedAt: string } & Readonly<Record<string, string | null>>;

function listedIn(status: ObservationStatus | undefined): Set<string> {
  return new Set((status?.instances ?? []).map((each) => each.name));
}

const ADD_HEARTBEAT = `
  INSERT INTO heartbeats (namespace, name, instance, received_at, body,
    score, phase, tokens, cost_usd, allow, deny, fail_open, not_evaluated)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`;
const TRIM_HEARTBEATS = `
  DELETE FROM heartbeats WHERE namespace = $1 AND name = $2 AND id <= (
    SELECT id FROM heartbeats WHERE namespace = $1 AND name = $2 ORDER BY id DESC LIMIT 1 OFFSET $3)`;

/** The last heartbeats of each agent, over all its instances. */
export const heartbeatTable = {
  /** @param keep number of heartbeats that are kept, this one included */
  async add(
    session: SqlSession,
    { namespace, name, instance, heartbeat, at }: Arrival,
    { point, keep }: { point: HistoryPoint; keep: number },
  ): Promise<void> {
    const { allow, deny, failOpen, notEvaluated } = point.outcomes;
    const values = [point.score, point.phase, point.tokens, point.costUsd];
    const outcomes = [allow, deny, failOpen, notEvaluated];
    // The lists of the last report are in the other table. Here they would be kept a hundred times.
    const body = JSON.stringify({ ...heartbeat, egress: observedSummaryOf(heartbeat.egress) });
    await Promise.all([
      session.run(ADD_HEARTBEAT, namespace, name, instance, at.toISOString(), body, ...values, ...outcomes),
      session.run(TRIM_HEARTBEATS, namespace, name, keep),
    ]);
  },
};
