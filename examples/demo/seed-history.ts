// Ten minutes of past for the agents of the demo, so that its dashboard has a history when it opens. The heartbeats are written by
// the store class of the control plane, before the control plane opens the same database.
import { hostname } from 'node:os';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SqlStore } from '../../control-plane/stores/sql/sql-store.ts';
import { SqliteDatabase } from '../../control-plane/stores/sqlite/sqlite-database.ts';
import type { Store } from '../../control-plane/stores/store.ts';
import type { Check } from '../../core/shapes/health.ts';
import { POINTS } from '../../core/gap/finding.ts';
import type { Issue } from '../../core/shapes/gap.ts';
import { gradeOf } from '../../core/shapes/grade.ts';
import { composeHeartbeat } from '../../core/observation/compose-heartbeat.ts';
import type { Heartbeat } from '../../core/shapes/heartbeat.ts';
import { healthStatusOf, summaryOf } from '../../core/health/summarize.ts';
import { systemClock } from '../../runtime/clock.ts';
import { loadManifestFile, type LoadedManifest } from '../../runtime/manifest-file.ts';
import { PASTS, type AgentPast } from './pasts.ts';

/** Namespace of registered agents, the default of the control plane. */
const NAMESPACE = 'platform-remote';
export const SEEDED_MINUTES = 10;
const BEAT_MS = 30_000;
const BEATS = (SEEDED_MINUTES * 60_000) / BEAT_MS;

/** Tokens of the seeded heartbeats on the UTC day of the last one, by agent. */
export interface Seeded {
  day: string;
  tokens: ReadonlyMap<string, number>;
}

/** An agent of the demo, as its sidecar will report it. */
export interface SeededAgent {
  name: string;
  /** Proxy port of its sidecar, which is part of its instance name. */
  proxyPort: number;
  manifestPath: string;
}

type Loaded = LoadedManifest & { ok: true };

/** Writes the past of the agents into the database of `directory`. The last seeded heartbeat is half a minute older than `now`. */
export async function seedHistory(
  directory: string,
  agents: readonly SeededAgent[],
  { now, signal }: { now: Date; signal: AbortSignal },
): Promise<Seeded> {
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')) as {
    version: string;
  };
  const store = new SqlStore({
    database: new SqliteDatabase(directory),
    clock: systemClock,
    rateLimitSeconds: 0,
  });
  const senders = await Promise.all(agents.map((agent) => senderOf(agent, { version, now })));
  await store.start();
  try {
    for (let beat = 0; beat < BEATS; beat += 1) {
      signal.throwIfAborted();
      const at = new Date(now.getTime() - (BEATS - beat) * BEAT_MS);
      await Promise.all(senders.map((sender) => send(store, sender, { at, beat })));
    }
  } finally {
    await store.close();
  }
  const last = new Date(now.getTime() - BEAT_MS);
  const tokens = new Map(
    senders.map(({ name, past }) => [name, past.tokensPerBeat * beatsOfDay(BEATS - 1, last)]),
  );
  return { day: dayOf(last), tokens };
}

interface Sender {
  name: string;
  instance: string;
  past: AgentPast;
  loaded: Loaded;
  version: string;
  startedAt: Date;
}

async function senderOf(
  { name, proxyPort, manifestPath }: SeededAgent,
  { version, now }: { version: string; now: Date },
): Promise<Sender> {
  const loaded = await loadManifestFile(manifestPath);
  const past = PASTS[name];
  if (!loaded.ok || past === undefined)
    throw new Error(`the demo has no valid manifest or no past of ${name}`);
  // Before the first heartbeat.
  const startedAt = new Date(now.getTime() - BEATS * BEAT_MS - 1_000);
  // The same name as its sidecar gives, so that the sidecar continues this instance.
  return { name, instance: `${hostname()}:${proxyPort}`, past, loaded, version, startedAt };
}

interface Beat {
  at: Date;
  /** 0 for the oldest. */
  beat: number;
}

async function send(store: Store, sender: Sender, { at, beat }: Beat): Promise<void> {
  const key = { namespace: NAMESPACE, name: sender.name };
  if (beat === 0) await store.register({ ...key, runtime: 'local', manifest: null }, at);
  const { instance } = sender;
  const heartbeat = heartbeatOf(sender, { at, beat });
  const { kind } = await store.heartbeat({ ...key, source: 'remote', instance, heartbeat, at });
  if (kind !== 'accepted') throw new Error(`a seeded heartbeat of ${sender.name} was not accepted (${kind})`);
}

function heartbeatOf(sender: Sender, { at, beat }: Beat): Heartbeat {
  const { past, loaded, instance, version, startedAt } = sender;
  const minutesAgo = ((BEATS - beat) * BEAT_MS) / 60_000;
  const issues = past.issues(minutesAgo);
  const checks = past.checks?.(minutesAgo) ?? [];
  const score = scoreOf(issues);
  const { tokensPerBeat, denied = false } = past;
  return composeHeartbeat({
    ...{ instance, at, startedAt, seq: beat, manifest: loaded.manifest, manifestHash: loaded.hash },
    intervalSeconds: BEAT_MS / 1_000,
    health: healthOf(sender.name, checks, at),
    gap: { score, grade: gradeOf(score), source: past.source, issues: [...issues] },
    usage: usageOf(loaded.manifest.spec.model.id, tokensPerBeat, at),
    totals: { tokensToday: tokensPerBeat * beatsOfDay(beat, at) },
    outcomes: { allow: denied ? 0 : beat + 1, deny: denied ? beat + 1 : 0, failOpen: 0, notEvaluated: 0 },
    policyMode: 'track',
    policyState: 'answered',
    sidecarVersion: version,
  });
}

function healthOf(agentName: string, checks: readonly Check[], at: Date): Heartbeat['health'] {
  const status = healthStatusOf(checks);
  return { agentName, timestamp: at.toISOString(), status, summary: summaryOf(checks), checks: [...checks] };
}

function usageOf(modelId: string, tokens: number, at: Date): Heartbeat['usage'] {
  const completionTokens = Math.floor(tokens / 4);
  const promptTokens = tokens - completionTokens;
  return {
    windowStartedAt: new Date(at.getTime() - BEAT_MS).toISOString(),
    models: [{ modelId, promptTokens, completionTokens, totalTokens: tokens, callCount: 1 }],
    totalTokens: tokens,
    totalCalls: 1,
  };
}

const scoreOf = (issues: readonly Issue[]): number =>
  Math.max(0, 100 - issues.reduce((sum, { severity }) => sum + POINTS[severity], 0));

const dayOf = (date: Date): string => date.toISOString().slice(0, 10);

/** Number of heartbeats up to `beat`, sent at `at`, that are on the same UTC day. */
function beatsOfDay(beat: number, at: Date): number {
  const sinceMidnightMs = at.getTime() - Date.parse(dayOf(at));
  return Math.min(beat, Math.floor(sinceMidnightMs / BEAT_MS)) + 1;
}
