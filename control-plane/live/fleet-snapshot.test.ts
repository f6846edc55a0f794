import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import type { AgentExcerpt } from '../../core/fleet/excerpt.ts';
import type { ObservationStatus } from '../../core/shapes/observation.ts';
import { aStatus, RIG_START, startObservations, type Observations } from '../../testing/fleet/fleet-rig.ts';
import { until } from '../../testing/time/until.ts';
import { SteppingClock } from '../../testing/time/stepping-clock.ts';
import { createLiveFleet } from './fleet.ts';
import { FleetFeed, POLL_MS } from './fleet-feed.ts';
import { FleetSnapshot } from './fleet-snapshot.ts';

let observations: Observations;
let clock: SteppingClock;
let stopping: AbortController;
let feed: FleetFeed;
let snapshot: FleetSnapshot;

const failing = (property: string): ObservationStatus =>
  aStatus({
    gap: {
      score: 80,
      grade: 'B',
      source: 'agent-sdk',
      issues: [{ severity: 'high', property, description: 'd', recommendation: 'r' }],
    },
  });

beforeEach(async () => {
  observations = await startObservations({ shop: aStatus(), chat: aStatus(), billing: aStatus() });
  clock = new SteppingClock(RIG_START);
  stopping = new AbortController();
  feed = new FleetFeed(observations.store, clock);
  snapshot = new FleetSnapshot({ store: observations.store, feed, clock, signal: stopping.signal });
});
afterEach(async () => {
  jest.restoreAllMocks();
  stopping.abort();
  await observations.close();
});

const textsOf = (agents: readonly AgentExcerpt[]): string[] =>
  agents.map(({ agentName, gapRules }) => [agentName, ...gapRules].join(' '));
const texts = async (): Promise<string[]> => textsOf(await snapshot.agents());

test('has all agents in order, and later what changed', async () => {
  expect(await texts()).toEqual(['billing', 'chat', 'shop']);
  await observations.put('chat', failing('auditable'));
  await observations.put('assistant', aStatus());
  await observations.remove('billing');
  await clock.pass(POLL_MS);
  expect(await texts()).toEqual(['assistant', 'chat auditable', 'shop']);
});

test('reads the list once, and the changes at most every two seconds', async () => {
  const list = jest.spyOn(observations.store, 'list');
  const changes = jest.spyOn(observations.store, 'changes');
  await Promise.all([texts(), texts(), texts()]);
  await texts();
  expect([list.mock.calls.length, changes.mock.calls.length]).toEqual([1, 1]);
  await clock.pass(POLL_MS);
  await Promise.all([texts(), texts()]);
  await texts();
  expect([list.mock.calls.length, changes.mock.calls.length]).toEqual([1, 2]);
});

test('reads the list in pages of 500 agents', async () => {
  const [shop] = await observations.store.findByName('shop', clock.now());
  const page = (from: number, count: number) =>
    Array.from({ length: count }, (_, index) => ({ ...shop!, name: `a-${from + index}` }));
  const next = { namespace: 'team', name: 'a-499' };
  const list = jest
    .spyOn(observations.store, 'list')
    .mockResolvedValueOnce({ agents: page(0, 500), total: 501, next })
    .mockResolvedValueOnce({ agents: page(500, 1), total: 501, next: null });
  expect(await texts()).toHaveLength(501);
  expect(list.mock.calls.map(([query]) => query)).toEqual([
    { limit: 500, after: null, namespaces: null },
    { limit: 500, after: next, namespaces: null },
  ]);
});

test('a change during the load is not replaced by the older state in a page', async () => {
  const read = observations.store.list.bind(observations.store);
  jest.spyOn(observations.store, 'list').mockImplementationOnce(async (query, at) => {
    const page = await read(query, at);
    await observations.put('chat', failing('auditable'));
    await observations.remove('billing');
    await feed.poll();
    return page;
  });
  expect(await texts()).toEqual(['chat auditable', 'shop']);
});

test('is dropped five minutes after its last use, and loaded again by the next use', async () => {
  const list = jest.spyOn(observations.store, 'list');
  await texts();
  await clock.pass(200_000, 50_000);
  await texts();
  await clock.pass(250_000, 50_000);
  await until(() => clock.left()[0] === 50_000, 'the wait for the end of the use');
  await texts();
  expect(list).toHaveBeenCalledTimes(1);
  await until(() => clock.left().length === 1, 'the wait for the end of the use');
  await clock.pass(50_000, 50_000);
  await until(() => clock.left().length === 1, 'the wait for the end of the use');
  await clock.pass(250_000, 250_000);
  await until(() => clock.left().length === 0, 'the drop');
  await observations.put('chat', failing('auditable'));
  expect(await texts()).toEqual(['billing', 'chat auditable', 'shop']);
  expect(list).toHaveBeenCalledTimes(2);
});

test('after a failed load the next use loads again', async () => {
  jest.spyOn(observations.store, 'list').mockRejectedValueOnce(new Error('the disk is full'));
  await expect(snapshot.agents()).rejects.toThrow('the disk is full');
  expect(await texts()).toEqual(['billing', 'chat', 'shop']);
});

test('rejects while the changes cannot be read, and has all of them afterwards', async () => {
  await texts();
  await observations.put('chat', failing('auditable'));
  await clock.pass(POLL_MS);
  jest.spyOn(observations.store, 'changes').mockRejectedValueOnce(new Error('no connection'));
  await expect(snapshot.agents()).rejects.toThrow('no connection');
  expect(await texts()).toEqual(['billing', 'chat auditable', 'shop']);
});

test('an unknown position replaces all agents', async () => {
  await texts();
  const [shop] = await observations.store.findByName('shop', clock.now());
  await clock.pass(POLL_MS);
  jest
    .spyOn(observations.store, 'changes')
    .mockResolvedValueOnce({ position: 'p', changed: [shop!], removed: [], isAll: true });
  expect(await texts()).toEqual(['shop']);
});

test('an agent that is in both lists of changes exists', async () => {
  await texts();
  const [shop] = await observations.store.findByName('shop', clock.now());
  await clock.pass(POLL_MS);
  const removed = [{ namespace: 'team', name: 'shop' }];
  jest
    .spyOn(observations.store, 'changes')
    .mockResolvedValueOnce({ position: 'p', changed: [shop!], removed });
  expect(await texts()).toEqual(['billing', 'chat', 'shop']);
});

test('the fleet of a store with AgentObservations as a copy has what only these contain', async () => {
  const bypassed: ObservationStatus = {
    ...aStatus(),
    conditions: [
      {
        type: 'Routed',
        status: 'False',
        reason: 'ServiceBypassesSidecar',
        message: 'bypassed',
        lastTransitionTime: '2026-03-01T09:00:00Z',
      },
    ],
  };
  const cluster = await startObservations({ chat: bypassed, unreported: { phase: 'Pending' } });
  try {
    const store = Object.defineProperty(observations.store, 'cluster', { value: cluster.store });
    const fleet = createLiveFleet({ store, clock, stopping: stopping.signal });
    const agents = await fleet.excerpts(null);
    expect(agents.map(({ agentName }) => agentName)).toEqual(['billing', 'chat', 'shop', 'unreported']);
    expect(agents[1]?.conditions.Routed?.message).toBe('bypassed');
    expect(await fleet.excerpts(['team'])).toEqual(agents);
    expect(await fleet.excerpts(['other'])).toEqual([]);
  } finally {
    await cluster.close();
  }
});
