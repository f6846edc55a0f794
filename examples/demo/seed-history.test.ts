import { mkdtempSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { SqlStore } from '../../control-plane/stores/sql/sql-store.ts';
import { SqliteDatabase } from '../../control-plane/stores/sqlite/sqlite-database.ts';
import { clockAt } from '../../testing/time/fixed-date.ts';
import { AGENT_NAMES, manifestOf } from './fleet.ts';
import { EXPECTED } from './expectations.ts';
import { seedHistory } from './seed-history.ts';

const NOW = new Date('2026-03-02T00:03:00.000Z');
const AGENTS = AGENT_NAMES.map((name, index) => ({
  name,
  proxyPort: 12_000 + index,
  manifestPath: manifestOf({ root: join(import.meta.dirname, '../..') }, name),
}));

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'seed-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

test('ten minutes of every agent end with the score that the demo finds, also over midnight', async () => {
  const { signal } = new AbortController();
  const seeded = await seedHistory(directory, AGENTS, { now: NOW, signal });
  // Six of the heartbeats are on the new day.
  expect(seeded.day).toBe('2026-03-02');
  expect(Object.fromEntries(seeded.tokens)).toEqual({
    compliant: 240,
    python: 180,
    silent: 120,
    lying: 120,
    gappy: 120,
    misbehaving: 120,
  });
  const store = new SqlStore({
    database: new SqliteDatabase(directory),
    clock: clockAt(NOW.toISOString()),
    rateLimitSeconds: 0,
  });
  await store.start();
  try {
    for (const { name, proxyPort } of AGENTS) {
      const key = { namespace: 'platform-remote', name };
      const agent = await store.find(key, NOW);
      expect(agent?.status).toMatchObject({
        score: EXPECTED[name]?.score,
        grade: EXPECTED[name]?.grade,
        phase: EXPECTED[name]?.phase,
        tokens: seeded.tokens.get(name),
        instances: [{ name: `${hostname()}:${proxyPort}` }],
      });
      const from = new Date(NOW.getTime() - 3_600_000);
      const { points } = await store.history.agent({ ...key, step: 'heartbeat', from, to: NOW });
      expect(points).toHaveLength(20);
      expect(points.at(-1)?.at).toBe('2026-03-02T00:02:30.000Z');
    }
  } finally {
    await store.close();
  }
});

test('an interrupted demo stops seeding', async () => {
  const stopped = AbortSignal.abort(new Error('stopped'));
  await expect(seedHistory(directory, AGENTS, { now: NOW, signal: stopped })).rejects.toThrow('stopped');
});
