import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { ObservationStatus } from '../../core/shapes/observation.ts';
import { Problem } from '../../runtime/problem.ts';
import type { EventStream } from '../../testing/http/event-stream.ts';
import { aStatus, startFleetRig, type FleetRig } from '../../testing/fleet/fleet-rig.ts';
import { until } from '../../testing/time/until.ts';
import { aMoment } from '../../testing/time/moment.ts';
import type { AgentRow, FleetEvent } from '../../core/shapes/agent-row.ts';
import type { FleetChanges } from '../stores/store.ts';
import { MAX_STREAMS } from './fleet-streams.ts';

const POLL_MS = 2_000;

let rig: FleetRig;

beforeEach(async () => {
  rig = await startFleetRig({ shop: aStatus(), chat: aStatus() });
});
afterEach(async () => {
  jest.restoreAllMocks();
  await rig.close();
});

const withScore = (score: number): ObservationStatus =>
  aStatus({ gap: { score, grade: 'B', source: 'agent-sdk', issues: [] } });

/** A stream that has received `ready`. */
async function openStream(): Promise<EventStream> {
  const stream = await rig.stream();
  await until(() => stream.events.length > 0, 'the event ready');
  return stream;
}

const eventsOf = (stream: EventStream): FleetEvent[] =>
  stream.events.flatMap(({ event, data }) => (event === 'agents' ? (data as FleetEvent) : []));
const rowsOf = (stream: EventStream): AgentRow[] => eventsOf(stream).flatMap(({ changed }) => changed);
const namesOf = (stream: EventStream): string[] => rowsOf(stream).map(({ agentName }) => agentName);

/** Advances the clock, by default over one poll. Before, the loop and the heartbeats of all streams must wait for it. */
async function pass(ms = POLL_MS): Promise<void> {
  await until(() => rig.clock.left().length === 1 + rig.openStreams(), 'the loops that wait for the clock');
  await rig.clock.pass(ms);
}

/** Advances the clock over one poll, and waits until each stream has this number of rows. */
async function poll(streams: readonly EventStream[], rows: number): Promise<void> {
  await pass();
  for (const stream of streams) await until(() => rowsOf(stream).length >= rows, `${rows} rows`);
}

describe('the stream', () => {
  test('begins with the head of an event stream, the retry time and the event ready', async () => {
    const stream = await openStream();
    expect(stream.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
      connection: 'close',
    });
    expect(stream.text()).toBe('retry: 1000\n\nevent: ready\ndata: {}\n\n');
  });

  test('sends a changed and a new agent as the rows of the list, and nothing else', async () => {
    const stream = await openStream();
    await rig.put('shop', withScore(80));
    await rig.put('new', withScore(70));
    await poll([stream], 2);
    const list = (await (await rig.get('/agents')).json()) as AgentRow[];
    const changed = ['shop', 'new'].map((name) => list.find(({ agentName }) => agentName === name));
    expect(stream.events.map(({ event }) => event)).toEqual(['ready', 'agents']);
    expect(eventsOf(stream)).toEqual([{ changed, removed: [] }]);
  });

  test('sends a removed agent once', async () => {
    const stream = await openStream();
    await rig.remove('shop');
    await pass();
    await until(() => eventsOf(stream).length === 1, 'the removal');
    expect(eventsOf(stream)).toEqual([{ changed: [], removed: [{ namespace: 'team', agentName: 'shop' }] }]);
    await rig.put('chat', withScore(80));
    await poll([stream], 1);
    expect(eventsOf(stream)[1]?.removed).toEqual([]);
  });

  test('does not send an agent again whose row did not change', async () => {
    const stream = await openStream();
    await rig.put('shop', withScore(80));
    await poll([stream], 1);
    rig.touch('shop');
    const changes = jest.spyOn(rig.store, 'changes');
    await rig.put('chat', withScore(70));
    await poll([stream], 2);
    const { changed } = (await changes.mock.results[0]!.value) as FleetChanges;
    expect(changed.map(({ name }) => name)).toEqual(['shop', 'chat']);
    expect(namesOf(stream)).toEqual(['shop', 'chat']);
  });

  test('sends changes and removals once that the store returns several times', async () => {
    const stream = await openStream();
    const [shop] = await rig.store.findByName('shop', rig.clock.now());
    const again = { position: 'p', changed: [shop!], removed: [{ namespace: 'team', name: 'gone' }] };
    const changes = jest.spyOn(rig.store, 'changes').mockResolvedValue(again);
    await poll([stream], 1);
    await pass();
    await pass();
    await until(() => changes.mock.calls.length === 3, 'three polls');
    await aMoment();
    expect(eventsOf(stream)).toEqual([
      { changed: [expect.anything()], removed: [{ namespace: 'team', agentName: 'gone' }] },
    ]);
  });

  test('does not send what the store returns again from the time before ready', async () => {
    const [shop] = await rig.store.findByName('shop', rig.clock.now());
    const again = { position: 'p', changed: [shop!], removed: [{ namespace: 'team', name: 'gone' }] };
    const changes = jest.spyOn(rig.store, 'changes').mockResolvedValue(again);
    const stream = await openStream();
    await pass();
    await until(() => changes.mock.calls.length === 3, 'the poll');
    await aMoment();
    expect(stream.events).toHaveLength(1);
  });

  test('does not send an agent as removed that exists again', async () => {
    const stream = await openStream();
    const [shop] = await rig.store.findByName('shop', rig.clock.now());
    const again = { position: 'p', changed: [shop!], removed: [{ namespace: 'team', name: 'shop' }] };
    jest.spyOn(rig.store, 'changes').mockResolvedValue(again);
    await poll([stream], 1);
    expect(eventsOf(stream)).toEqual([{ changed: [expect.anything()], removed: [] }]);
  });

  test('sends many changes in events of at most 200 agents', async () => {
    const stream = await openStream();
    const [shop] = await rig.store.findByName('shop', rig.clock.now());
    const changed = Array.from({ length: 450 }, (_, index) => ({ ...shop!, name: `agent-${index}` }));
    jest.spyOn(rig.store, 'changes').mockResolvedValueOnce({ position: 'p', changed, removed: [] });
    await poll([stream], 450);
    expect(eventsOf(stream).map((each) => each.changed.length)).toEqual([200, 200, 50]);
  });

  test('has a comment line every 15 seconds', async () => {
    const stream = await openStream();
    await pass(15_000);
    await pass(15_000);
    await until(() => stream.text().split(': heartbeat\n\n').length === 3, 'two heartbeats');
    expect(stream.events).toHaveLength(1);
  });
});

describe('several streams', () => {
  test('share one poll, which ends with the last stream', async () => {
    const changes = jest.spyOn(rig.store, 'changes');
    const streams = [await openStream(), await openStream(), await openStream()];
    // The first one returns the position.
    expect(changes).toHaveBeenCalledTimes(2);
    await rig.put('shop', withScore(80));
    await poll(streams, 1);
    expect(changes).toHaveBeenCalledTimes(3);
    for (const stream of streams) stream.leave();
    await until(() => rig.clock.left().length === 0, 'the end of all waits');
    await rig.clock.pass(10 * POLL_MS);
    expect(changes).toHaveBeenCalledTimes(3);
  });

  test('that open later start with the changes from then on', async () => {
    const first = await openStream();
    await rig.put('shop', withScore(80));
    await poll([first], 1);
    const second = await openStream();
    await rig.put('chat', withScore(70));
    await poll([first, second], 1);
    await until(() => namesOf(first).length === 2, 'the second row');
    expect([namesOf(first), namesOf(second)]).toEqual([['shop', 'chat'], ['chat']]);
  });

  test('that open after the last one ended get rows that were sent before', async () => {
    const first = await openStream();
    await rig.put('shop', withScore(80));
    await poll([first], 1);
    first.leave();
    await until(() => rig.clock.left().length === 0, 'the end of all waits');
    await rig.put('shop', withScore(90));
    await rig.put('shop', withScore(70));
    const second = await openStream();
    await rig.put('shop', withScore(80));
    await poll([second], 1);
    expect(rowsOf(second).map(({ score }) => score)).toEqual([80]);
  });

  test(`above ${MAX_STREAMS} get 503, and a freed place can be used again`, async () => {
    const streams = await Promise.all(Array.from({ length: MAX_STREAMS }, () => rig.stream()));
    const rejected = await rig.get('/stream');
    expect([rejected.status, rejected.headers.get('retry-after'), await rejected.json()]).toEqual([
      503,
      '10',
      {
        type: 'about:blank',
        title: 'Service Unavailable',
        status: 503,
        detail: 'the limit of 100 event streams is reached; try again',
      },
    ]);
    streams[7]?.leave();
    await until(async () => (await rig.stream().catch(() => null)) !== null, 'a free place');
  });
});

test('a client that does not read is cut, and the others get every row', async () => {
  const [slow, other] = [await openStream(), await openStream()];
  slow.pause();
  // Each row has 1 MiB. The connection of the slow client accepts some megabytes before anything is unsent.
  const [shop] = await rig.store.findByName('shop', rig.clock.now());
  let rounds = 0;
  jest.spyOn(rig.store, 'changes').mockImplementation(async () => {
    rounds += 1;
    const large = { ...shop!, agentId: `${rounds}-${'x'.repeat(1024 * 1024)}` };
    return { position: 'p', changed: [large], removed: [] };
  });
  while (rig.openStreams() === 2) {
    await pass();
    await until(() => rounds > 0 && rowsOf(other).length === rounds, 'the row of this round');
  }
  // A reader whose connection is stuck is disconnected after a minute: here it was its unsent data.
  expect(rounds * POLL_MS).toBeLessThan(60_000);
  slow.resume();
  expect(await slow.ended).toBe('cut');
  await pass();
  await until(() => rowsOf(other).length === rounds, 'the last row');
});

describe('when the process stops', () => {
  test('all streams end at once, and do not delay the listener', async () => {
    const streams = [await openStream(), await openStream()];
    await rig.stop();
    expect(await Promise.all(streams.map(({ ended }) => ended))).toEqual(['ended', 'ended']);
  });

  test('a stream of a client that does not read is cut', async () => {
    const stream = await openStream();
    stream.pause();
    const [shop] = await rig.store.findByName('shop', rig.clock.now());
    const changed = [{ ...shop!, agentId: 'x'.repeat(16 * 1024 * 1024) }];
    jest.spyOn(rig.store, 'changes').mockResolvedValueOnce({ position: 'p', changed, removed: [] });
    await pass();
    await until(() => rig.clock.left().length === 2, 'the end of the poll');
    await rig.stop();
    stream.resume();
    expect(await stream.ended).toBe('cut');
  });
});

describe('if the store is unavailable', () => {
  const unavailable = new Problem(503, 'the database is unavailable; try again');

  test('a new stream gets 503', async () => {
    jest.spyOn(rig.store, 'changes').mockRejectedValueOnce(unavailable);
    const response = await rig.get('/stream');
    expect([response.status, await response.json()]).toMatchObject([
      503,
      { detail: 'the database is unavailable; try again' },
    ]);
    await openStream();
  });

  test('an open stream stays open, and gets the changes later', async () => {
    const stream = await openStream();
    jest.spyOn(rig.store, 'changes').mockRejectedValueOnce(unavailable);
    await rig.put('shop', withScore(80));
    await pass();
    await poll([stream], 1);
    expect(namesOf(stream)).toEqual(['shop']);
  });

  test('and has lost the position afterwards, streams end, so that clients read the list again', async () => {
    const stream = await openStream();
    const lost = { position: 'p', changed: [], removed: [], isAll: true as const };
    jest.spyOn(rig.store, 'changes').mockResolvedValueOnce(lost);
    await pass();
    expect(await stream.ended).toBe('ended');
  });
});

describe('the route', () => {
  test.each<[Record<string, string>, number]>([
    [{}, 401],
    [{ 'x-admin-key': '' }, 401],
    [{ 'x-admin-key': 'wrong-key-of-a-test' }, 403],
  ])('with the headers %j returns %i', async (headers, status) => {
    const response = await rig.get('/stream', headers);
    expect([response.status, response.headers.get('content-type')]).toEqual([
      status,
      'application/problem+json; charset=utf-8',
    ]);
  });

  test('responds to HEAD without a stream, and rejects other methods', async () => {
    const headers = { 'x-admin-key': 'admin-key-of-a-test' };
    const head = await fetch(`${rig.url}/stream`, { method: 'HEAD', headers });
    expect([head.status, head.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    const post = await fetch(`${rig.url}/stream`, { method: 'POST', headers });
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    expect(rig.clock.left()).toEqual([]);
  });
});
