import type { DatabaseSync } from 'node:sqlite';
import type { AgentKey, Arrival, InstanceReport } from '../store.ts';

/** Maximum number of stored heartbeats per agent. */
const MAX_HEARTBEATS = 100;

/** The last report of each instance, and the last hundred heartbeats of each agent. */
export function createReportRows(database: DatabaseSync) {
  const putReport = database.prepare(`
    INSERT OR REPLACE INTO reports (namespace, name, instance, received_at, gap, health, usage, evidence, audit)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const putHeartbeat = database.prepare(
    'INSERT INTO heartbeats (namespace, name, instance, received_at, body) VALUES (?, ?, ?, ?, ?)',
  );
  const trim = database.prepare(`
    DELETE FROM heartbeats WHERE namespace = ?1 AND name = ?2 AND id <= (
      SELECT id FROM heartbeats WHERE namespace = ?1 AND name = ?2 ORDER BY id DESC LIMIT 1 OFFSET ${MAX_HEARTBEATS})`);
  const get = database.prepare(`
    SELECT received_at, gap, health, usage, evidence, audit FROM reports WHERE namespace = ? AND name = ? AND instance = ?`);
  const keepOnly = database.prepare(`
    DELETE FROM reports WHERE namespace = ? AND name = ? AND instance NOT IN (SELECT value FROM json_each(?))`);
  return {
    /** `listed`: the instances in the agent's status. Reports of other instances are deleted, so they do not accumulate. */
    put({ namespace, name, instance, heartbeat, at }: Arrival, listed: readonly string[]): void {
      const { gap, health, usage, evidence, audit } = heartbeat;
      const received = at.toISOString();
      const parts = [gap, health, usage, evidence, audit];
      const texts = parts.map((value) => (value === null ? null : JSON.stringify(value)));
      putReport.run(namespace, name, instance, received, ...texts);
      putHeartbeat.run(namespace, name, instance, received, JSON.stringify(heartbeat));
      trim.run(namespace, name);
      keepOnly.run(namespace, name, JSON.stringify(listed));
    },
    get({ namespace, name }: AgentKey, instance: string): InstanceReport | null {
      const row = get.get(namespace, name, instance);
      if (row === undefined) return null;
      return {
        instance,
        receivedAt: row['received_at'] as string,
        gap: JSON.parse(row['gap'] as string) as InstanceReport['gap'],
        health: JSON.parse(row['health'] as string) as InstanceReport['health'],
        usage: JSON.parse((row['usage'] as string | null) ?? 'null') as InstanceReport['usage'],
        evidence: JSON.parse((row['evidence'] as string | null) ?? 'null') as InstanceReport['evidence'],
        audit: JSON.parse((row['audit'] as string | null) ?? 'null') as InstanceReport['audit'],
      };
    },
  };
}
