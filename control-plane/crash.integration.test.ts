// Kills the built control plane, and PostgreSQL, with SIGKILL at random moments while agents report. Every heartbeat with a 2xx
// response must be in the history afterwards, exactly once.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { OutcomeCounts } from '../core/shapes/outcomes.ts';
import { OUTCOMES, type Outcome } from '../core/shapes/values.ts';
import type { AgentHistory, HistoryPoint, HistoryStep } from '../core/shapes/history.ts';
import { freePorts } from '../examples/demo/free-ports.ts';
import {
  restartPostgres,
  startPostgres,
  whyNoDebianServers,
  type RunningServer,
} from '../testing/machine/debian-server.ts';
import { diceOf } from '../testing/random/dice.ts';
import { aHeartbeat } from '../testing/fleet/heartbeat.ts';
import { ProcessRig, type RunningPart } from '../testing/machine/process-rig.ts';
import { IN_SOAK } from '../testing/time/real-time.ts';
import { SEED } from '../testing/random/seed.ts';

/** Each agent has one instance for each outcome: 300 accepted heartbeats, or 10,000 in `make soak`. */
const [AGENTS, ACCEPTED_EACH, CRASHES] = IN_SOAK ? [20, 125, 40] : [5, 15, 3];
const ACCEPTED = AGENTS * OUTCOMES.length * ACCEPTED_EACH;
/** Hangs are failures, but a slow machine is not. */
const TEST_MS = IN_SOAK ? 1_200_000 : 240_000;
/** Probability that a heartbeat without a 2xx response is not sent again, but followed by a newer one. */
const GIVES_UP = 0.05;
const ADMIN = { 'x-admin-key': 'admin-key-of-a-test', 'content-type': 'application/json' };

/**
 * One instance of an agent. Only its own outcome counts, and the count is the seq. So the increases of this outcome in the
 * history show which of its heartbeats are stored.
 */
interface Instance {
  agent: string;
  apiKey: string;
  outcome: Outcome;
  seq: number;
  /** Every seq with a 2xx response. */
  answered: number[];
}

type Victim = 'replica' | 'database';

/** Replicas of the control plane and their database. */
interface Installation {
  replicas: { url: string; part: RunningPart; start: () => Promise<RunningPart> }[];
  /** null: SQLite. */
  postgres: RunningServer | null;
  /** The processes that a crash kills together, by turns. */
  victims: readonly (readonly Victim[])[];
}

const dice = diceOf(SEED);
const below = (end: number): number => Math.floor(dice() * end);

let rig: ProcessRig;
let installation: Installation;
/** Ends all loops after a failure. */
let stop: AbortController;

beforeEach(async () => {
  stop = new AbortController();
  rig = await ProcessRig.open();
});
afterEach(async () => {
  stop.abort();
  await rig.close();
  await installation?.postgres?.close();
});

async function startReplicas(
  count: number,
  store: Record<string, string>,
): Promise<Installation['replicas']> {
  const ports = await freePorts(count);
  return Promise.all(
    ports.map(async (port) => {
      const url = `http://127.0.0.1:${port}`;
      const env = {
        ...{ PORT: String(port), RATE_LIMIT_SECONDS: '0', KEEP_HEARTBEATS: '1000' },
        // With a secret of its own, a start does not derive the signing key.
        ...{ PLATFORM_ADMIN_KEY: ADMIN['x-admin-key'], JWT_SECRET: 'a-secret-of-thirty-two-characters' },
        ...store,
      };
      const start = () => rig.start('control-plane', `${url}/readyz`, env);
      return { url, start, part: await start() };
    }),
  );
}

/** Starts a replica like the kubelet: again, if the process ends because the database does not respond yet. */
async function startAgain(start: () => Promise<RunningPart>): Promise<RunningPart> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await start();
    } catch (error) {
      if (tries === 20) throw error;
      await sleep(100);
    }
  }
}

/** Kills the victims, then starts them again. The other replicas keep running. */
async function crash(victims: readonly Victim[]): Promise<void> {
  const replica = installation.replicas[below(installation.replicas.length)]!;
  const isReplica = victims.includes('replica');
  if (isReplica) replica.part.kill('SIGKILL');
  if (victims.includes('database')) {
    process.kill(installation.postgres!.pid, 'SIGKILL');
    installation.postgres = await restartPostgres(installation.postgres!);
  }
  if (!isReplica) return;
  await replica.part.stop();
  replica.part = await startAgain(replica.start);
}

async function register(agent: string): Promise<Instance[]> {
  const response = await fetch(`${installation.replicas[0]!.url}/api/v1/register`, {
    method: 'POST',
    headers: ADMIN,
    body: JSON.stringify({ agentName: agent, runtime: 'other' }),
  });
  const { apiKey } = (await response.json()) as { apiKey: string };
  return OUTCOMES.map((outcome) => ({ agent, apiKey, outcome, seq: 0, answered: [] }));
}

/** Whether a random replica accepts the heartbeat with the current seq of this instance. */
async function isAccepted({ apiKey, outcome, seq }: Instance, startedAt: string): Promise<boolean> {
  const outcomes: OutcomeCounts = { allow: 0, deny: 0, failOpen: 0, notEvaluated: 0, [outcome]: seq };
  const heartbeat = aHeartbeat({ instance: outcome, seq, startedAt, sentAt: null, outcomes });
  const { url } = installation.replicas[below(installation.replicas.length)]!;
  const response = await fetch(`${url}/api/v1/heartbeat`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(heartbeat),
    signal: AbortSignal.timeout(30_000),
  }).catch(() => null);
  // The rest of the response may be lost.
  await response?.body?.cancel().catch(() => undefined);
  const status = response?.status ?? 0;
  if (status >= 400 && status < 500) throw new Error(`a heartbeat was rejected with ${status}`);
  return status === 200 || status === 204;
}

/** Sends heartbeats until enough are accepted. */
async function report(instance: Instance, startedAt: string): Promise<void> {
  while (instance.answered.length < ACCEPTED_EACH && !stop.signal.aborted) {
    instance.seq += 1;
    let accepted = await isAccepted(instance, startedAt);
    while (!accepted && dice() >= GIVES_UP && !stop.signal.aborted) {
      await sleep(20);
      accepted = await isAccepted(instance, startedAt);
    }
    if (accepted) instance.answered.push(instance.seq);
  }
}

/** Crashes after random numbers of accepted heartbeats, in the middle of others. */
async function crashAtRandom(instances: readonly Instance[]): Promise<void> {
  const moments = Array.from({ length: CRASHES }, () => below(0.9 * ACCEPTED)).sort((a, b) => a - b);
  const answered = () => instances.reduce((sum, each) => sum + each.answered.length, 0);
  for (const [index, moment] of moments.entries()) {
    while (answered() < moment && !stop.signal.aborted) await sleep(1);
    if (stop.signal.aborted) return;
    await sleep(5 * dice());
    await crash(installation.victims[index % installation.victims.length]!);
  }
}

async function pointsOf(
  agent: string,
  step: HistoryStep,
  replica = installation.replicas[0]!,
): Promise<HistoryPoint[]> {
  const url = `${replica.url}/api/v1/agents/${agent}/history?step=${step}`;
  let response = await fetch(url, { headers: ADMIN });
  // The replica may still be connecting to the database.
  while (response.status === 503 && !stop.signal.aborted) {
    await sleep(50);
    response = await fetch(url, { headers: ADMIN });
  }
  if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
  return ((await response.json()) as AgentHistory).points;
}

/** The seqs of the stored heartbeats of an instance. */
function storedOf({ outcome }: Instance, points: readonly HistoryPoint[]): number[] {
  let seq = 0;
  return points.flatMap(({ outcomes }) => (outcomes[outcome] === 0 ? [] : [(seq += outcomes[outcome])]));
}

/** Waits for all of them, and rejects with the first failure, which also ends the others. */
async function together(works: readonly Promise<void>[]): Promise<void> {
  const ended = works.map((work) =>
    work.catch((error: unknown) => {
      stop.abort();
      throw error;
    }),
  );
  await Promise.allSettled(ended);
  await Promise.all(ended);
}

/** Reports while processes are killed, and compares the history with the responses. */
async function survivesCrashes(): Promise<void> {
  const names = Array.from({ length: AGENTS }, (_, index) => `agent-${index}`);
  const instances = (await Promise.all(names.map(register))).flat();
  const startedAt = new Date().toISOString();
  await together([crashAtRandom(instances), ...instances.map((instance) => report(instance, startedAt))]);
  let stored = 0;
  for (const agent of names) {
    const points = await pointsOf(agent, 'heartbeat');
    stored += points.length;
    for (const instance of instances.filter((each) => each.agent === agent)) {
      const seqs = storedOf(instance, points);
      const lost = instance.answered.filter((seq) => !seqs.includes(seq));
      const invented = seqs.filter((seq) => seq > instance.seq);
      expect({ agent, instance: instance.outcome, lost, invented }).toMatchObject({ lost: [], invented: [] });
    }
    // A heartbeat that is stored twice increases nothing.
    const increased = points.map(({ outcomes }) => OUTCOMES.filter((each) => outcomes[each] > 0).length);
    expect(increased).toEqual(points.map(() => 1));
    const hours = await pointsOf(agent, 'hour');
    expect(hours.reduce((sum, { heartbeats }) => sum + heartbeats, 0)).toBe(points.length);
  }
  const sent = instances.reduce((sum, { seq }) => sum + seq, 0);
  process.stdout.write(`${ACCEPTED} of ${sent} heartbeats accepted, ${stored} stored, ${CRASHES} crashes\n`);
}

describe('no accepted heartbeat is lost when', () => {
  test(
    'a control plane with SQLite is killed, and a copy of its database has them too',
    async () => {
      const store = { STORE: 'sqlite', DATA_DIR: join(rig.folder, 'data') };
      installation = {
        postgres: null,
        replicas: await startReplicas(1, store),
        victims: [['replica']],
      };
      await survivesCrashes();
      // The backup of docs/guide/operations.md.
      const copy = join(rig.folder, 'copy');
      mkdirSync(copy);
      const database = new DatabaseSync(join(rig.folder, 'data/control-plane.sqlite'));
      database.exec(`VACUUM INTO '${join(copy, 'control-plane.sqlite')}'`);
      database.close();
      const [restored] = await startReplicas(1, { ...store, DATA_DIR: copy });
      expect(await pointsOf('agent-0', 'heartbeat', restored)).toEqual(
        await pointsOf('agent-0', 'heartbeat'),
      );
    },
    TEST_MS,
  );

  (whyNoDebianServers() ? test.skip : test)(
    'PostgreSQL, one of two replicas, or both are killed',
    async () => {
      const postgres = await startPostgres();
      installation = {
        replicas: [],
        postgres,
        victims: [['database'], ['replica'], ['replica', 'database']],
      };
      const url = `postgres://postgres:test-password@127.0.0.1:${postgres.port}/postgres`;
      installation.replicas = await startReplicas(2, { STORE: 'postgres', DATABASE_URL: url });
      await survivesCrashes();
    },
    TEST_MS,
  );
});
