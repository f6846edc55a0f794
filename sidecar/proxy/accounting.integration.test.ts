import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { AuditEntry } from '../../core/behavior/audit-entry.ts';
import { systemClock, type Clock } from '../../runtime/clock.ts';
import { diceOf } from '../../testing/dice.ts';
import { openEventStream, type EventStream } from '../../testing/event-stream.ts';
import { startRecklessAgent, type RecklessAgent } from '../../testing/reckless-agent.ts';
import { RecklessClients, type Experience } from '../../testing/reckless-clients.ts';
import { SEED } from '../../testing/seed.ts';
import { manifestText, startSidecarRig, type SidecarRig } from '../../testing/sidecar-rig.ts';

/** In each mode (`make soak`: 5,000). */
const REQUESTS = Number(process.env['REQUESTS'] ?? 1_000);
const CONCURRENCY = 64;
/** Holds fewer than there are. */
const RING = 0.4 * REQUESTS;
/** What a run must contain of each kind to show anything; as long as it does not, and up to so many, more are sent. */
const [ENOUGH, MOST] = [10, 10 * REQUESTS];

/** A busy machine may take longer than the second that the last heartbeat has. */
const PATIENT: Clock = { ...systemClock, sleep: (ms, signal) => systemClock.sleep(20 * ms, signal) };

let agent: RecklessAgent;
let controlPlane: Server;
/** The last heartbeat. */
let told: { outcomes?: Record<string, number> } = {};
let rig: SidecarRig;
let stream: EventStream;

beforeEach(async () => {
  agent = await startRecklessAgent();
  controlPlane = createServer((request, response) => {
    void text(request).then((body) => {
      told = JSON.parse(body) as typeof told;
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => controlPlane.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  await agent.stop();
  controlPlane.closeAllConnections();
  await new Promise((resolve) => controlPlane.close(resolve));
});

async function start(mode: string): Promise<void> {
  const { port } = controlPlane.address() as AddressInfo;
  rig = await startSidecarRig({
    manifest: manifestText({ guardrails: { input: [{ type: 'pii-detector' }] } }),
    clock: PATIENT,
    env: {
      UPSTREAM_URL: agent.url,
      POLICY_ENGINE: 'builtin',
      POLICY_PROXY_MODE: mode,
      AUDIT_RING_SIZE: String(RING),
      PLATFORM_URL: `http://127.0.0.1:${port}`,
      PLATFORM_KEY: 'key',
    },
  });
  stream = await openEventStream(`http://127.0.0.1:${rig.sidecar.controlPort}/audit/stream`);
}

/** All requests, 64 at a time; the agent is away for a while in their middle. */
async function load(): Promise<Map<string, Experience>> {
  const clients = new RecklessClients(rig.sidecar.proxyPort, diceOf(SEED));
  const seen = new Map<string, Experience>();
  let sent = 0;
  let outage: Promise<void> | null = null;
  const isEnough = (): boolean =>
    sent >= MOST ||
    (sent >= REQUESTS && rareIn(stream.events.map(({ data }) => data as AuditEntry)).length === 0);
  let isOver = false;
  const sendOn = async (): Promise<void> => {
    while (!isOver) {
      sent += 1;
      if (sent > REQUESTS / 2) outage ??= beAway(() => seen.size);
      const experience = await clients.send(`r-${sent}`);
      seen.set(experience.id, experience);
      isOver ||= seen.size % CONCURRENCY === 0 && isEnough();
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, sendOn));
  await (outage as Promise<void> | null);
  clients.close();
  return seen;
}

/** Until each client has met it: a machine under load takes its time for that. */
async function beAway(finished: () => number): Promise<void> {
  await agent.stop();
  const enough = finished() + 3 * CONCURRENCY;
  while (finished() < enough) await new Promise((resolve) => setTimeout(resolve, 10));
  await agent.restart();
}

const outcomesIn = (metrics: string): Record<string, number> =>
  Object.fromEntries(
    [...metrics.matchAll(/^platform_sidecar_requests_total\{outcome="(\w+)"\} (\d+)$/gm)].map(
      ([, outcome = '', count]) => [outcome, Number(count)],
    ),
  );
const sum = (counts: Record<string, number>): number =>
  Object.values(counts).reduce((total, count) => total + count, 0);

/** Once nothing is in flight: what each surface says. */
async function settled() {
  for (const deadline = Date.now() + 100_000; ;) {
    // The counts first: an entry that they hold is complete in every answer that is asked for later.
    const outcomes = outcomesIn(await (await rig.control('/metrics')).text());
    const response = await rig.control('/audit');
    const held = (await response.json()) as AuditEntry[];
    const header = (name: string): number => Number(response.headers.get(`x-platform-audit-${name}`));
    const [first, last, dropped] = [header('first'), header('last'), header('dropped')];
    const streamed = stream.events.map(({ data }) => data as AuditEntry);
    if (sum(outcomes) === last && streamed.length >= last)
      return { held, outcomes, first, last, dropped, streamed };
    if (Date.now() > deadline)
      throw new Error(`accepted ${last}, complete ${sum(outcomes)}, streamed ${streamed.length}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Why the agent saw a request so often as it did, from its entry alone; `?`: the entry does not explain it. */
function explain(entry: AuditEntry, seen: number): string {
  const { unsent, retried, aborted, upstreamFailure, upstreamStatusCode } = entry;
  if (seen === 0 && upstreamStatusCode === undefined) {
    if (retried && upstreamFailure === 'unreachable') return 'connection lost, then agent away';
    if (unsent)
      return upstreamFailure === 'unreachable' ? 'agent away' : aborted ? 'left before it was sent' : '?';
    if (upstreamFailure === 'stale' || upstreamFailure === 'broken') return 'connection lost under way';
    return aborted ? 'left under way' : '?';
  }
  if (seen === 1 && !unsent) return retried ? 'seen once, the first time lost' : 'seen';
  return seen === 2 && retried && !unsent ? 'seen twice' : '?';
}

/** What the entry's outcome must be, by what the agent reported and whether its head came. */
function outcomeOf({ path, upstreamStatusCode }: AuditEntry): string {
  const report = path.split('/')[2] ?? '';
  if (upstreamStatusCode === undefined || report === 'silent') return 'notEvaluated';
  return report === 'safe' ? 'allow' : 'deny';
}

interface Books {
  mode: string;
  clients: ReadonlyMap<string, Experience>;
  settled: Awaited<ReturnType<typeof settled>>;
  /** By request id. */
  entries: ReadonlyMap<string, AuditEntry>;
}

/** Accepted = entries + drops = sum of outcomes, on every surface. */
function expectOneSum({ settled, entries }: Books): void {
  const { held, outcomes, first, last, dropped, streamed } = settled;
  expect(held).toHaveLength(RING);
  expect([first, held.length + dropped, sum(outcomes)]).toEqual([dropped + 1, last, last]);
  expect(told.outcomes).toEqual(outcomes);
  expect(stream.events.every(({ event }) => event === 'entry')).toBe(true);
  const seqs = new Set(streamed.map(({ seq }) => seq));
  expect([streamed.length, entries.size, seqs.size]).toEqual([last, last, last]);
  for (const entry of held) {
    const same = entries.get(entry.requestId);
    // As many comparisons of the test library take longer than the requests.
    if (JSON.stringify(same) !== JSON.stringify(entry)) expect(same).toEqual(entry);
  }
}

/** Each entry has exactly one outcome, and it is the right one. */
function expectRightOutcomes({ mode, settled: { streamed, outcomes } }: Books): void {
  const counted = { allow: 0, deny: 0, failOpen: 0, notEvaluated: 0 };
  for (const { outcome } of streamed) if (outcome) counted[outcome] += 1;
  expect(counted).toEqual(outcomes);
  expect(streamed.filter((entry) => entry.outcome !== outcomeOf(entry))).toEqual([]);
  // Nobody is there to be blocked where the client has left.
  const mustBlock = (entry: AuditEntry): boolean =>
    mode === 'enforce' && entry.outcome === 'deny' && entry.aborted !== true;
  expect(streamed.filter((entry) => mustBlock(entry) && entry.statusCode !== 403)).toEqual([]);
  expect(streamed.filter((entry) => mustBlock(entry) && entry.blocked !== true)).toEqual([]);
  if (mode === 'track') expect(streamed.filter(({ blocked }) => blocked)).toEqual([]);
}

/** What a client got is what its entry says; without an entry it was refused, or got nothing. */
function expectClientsAgree({ clients, entries }: Books): void {
  const agrees = ({ id, status, isWhole, isRefused }: Experience): boolean => {
    const entry = entries.get(id);
    if (isRefused) return entry === undefined && [400, 405, 501].includes(status ?? 0);
    if (status !== null && entry?.statusCode !== status) return false;
    return !isWhole || entry?.aborted === undefined;
  };
  const disagreeing = [...clients.values()].filter((client) => !agrees(client));
  expect(disagreeing.map((client) => [client, entries.get(client.id)])).toEqual([]);
}

/** What the agent saw is explained entry by entry. */
function expectExplained({ settled: { streamed, last }, entries }: Books): void {
  const why: Record<string, number> = {};
  const unexplained: [number, AuditEntry][] = [];
  for (const entry of streamed) {
    const times = agent.seen.get(entry.requestId) ?? 0;
    const reason = explain(entry, times);
    if (reason === '?') unexplained.push([times, entry]);
    why[reason] = (why[reason] ?? 0) + 1;
  }
  expect(unexplained).toEqual([]);
  expect([...agent.seen.keys()].filter((id) => !entries.has(id))).toEqual([]);
  const { seen = 0, 'seen twice': twice = 0, 'seen once, the first time lost': once = 0 } = why;
  expect(sum(Object.fromEntries(agent.seen))).toBe(seen + once + 2 * twice);
  expect(seen + once + twice + neverIn(why)).toBe(last);
}

const neverIn = (why: Record<string, number>): number =>
  sum(Object.fromEntries(Object.entries(why).filter(([reason]) => !reason.startsWith('seen'))));

const KINDS: Readonly<Record<string, (entry: AuditEntry) => boolean>> = {
  'whole answers': ({ aborted, statusCode }) => !aborted && statusCode === 200,
  'clients that left before the head': ({ aborted, statusCode }) =>
    aborted === true && statusCode === undefined,
  'clients that left in the answer': (entry) =>
    entry.aborted === true && entry.upstreamStatusCode === 200 && entry.upstreamFailure === undefined,
  'agents that broke off before the head': ({ upstreamFailure, aborted }) =>
    upstreamFailure === 'broken' && !aborted,
  'agents that broke off in the body': ({ upstreamFailure, aborted }) =>
    upstreamFailure === 'broken' && aborted === true,
  'agents that were away': ({ upstreamFailure }) => upstreamFailure === 'unreachable',
  'second attempts': ({ retried }) => retried === true,
  'open WebSockets': ({ statusCode }) => statusCode === 101,
};

/** The kinds of which there are not enough among these. */
const rareIn = (entries: readonly AuditEntry[]): string[] =>
  Object.keys(KINDS).filter((kind) => entries.filter(KINDS[kind]!).length < ENOUGH);

describe.each(['track', 'enforce'])('in mode %s', (mode) => {
  // The seed repeats a run as far as two sides that break off at random times can be repeated.
  test(`every request is accounted for, whoever breaks off (SEED=${SEED})`, async () => {
    await start(mode);
    const clients = await load();
    const now = await settled();
    await rig.close();
    const entries = new Map(now.streamed.map((entry) => [entry.requestId, entry]));
    const books = { mode, clients, settled: now, entries };
    expectOneSum(books);
    expectRightOutcomes(books);
    expectClientsAgree(books);
    expectExplained(books);
    expect(now.last).toBeGreaterThan(REQUESTS * 0.8);
    expect(rareIn(now.streamed)).toEqual([]);
  }, 300_000);
});
