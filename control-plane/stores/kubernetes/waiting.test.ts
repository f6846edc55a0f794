import { expect, test } from '@jest/globals';
import type { Heartbeat } from '../../../core/heartbeat/heartbeat.ts';
import { aHeartbeat } from '../../../testing/heartbeat.ts';
import type { Arrival } from '../store.ts';
import { Waiting } from './waiting.ts';

const totals = { tokensToday: 1 };
const arrival = (heartbeat: Partial<Heartbeat>, sender: Partial<Arrival> = {}): Arrival => ({
  namespace: 'team',
  name: 'shop',
  source: 'sidecar',
  instance: 'shop-1',
  uid: 'u-1',
  heartbeat: aHeartbeat({ totals, ...heartbeat }),
  at: new Date(0),
  ...sender,
});

test.each<[string, Arrival, boolean]>([
  ['a newer one of the process', arrival({ seq: 3 }), true],
  ['an older one of it', arrival({ seq: 1 }), false],
  ['one without a number', arrival({ seq: null }), false],
  ['one of another instance', arrival({ seq: 3 }, { instance: 'shop-2' }), false],
  ['one of a later pod of the name', arrival({ seq: 3 }, { uid: 'u-2' }), false],
  ['one of another process', arrival({ seq: 3, startedAt: '2026-03-01T09:30:00.000Z' }), false],
  ['one of a process that does not say since when it runs', arrival({ seq: 3, startedAt: null }), false],
  ['one with windows only', arrival({ seq: 3, totals: null }), false],
  ['one that brings proofs', arrival({ seq: 3, proofRevision: 7 }), false],
])('%s takes the place of the one before: %#', (_name, next, isReplaced) => {
  const waiting = new Waiting();
  const first = arrival({ seq: 2 });
  waiting.add(first, 0);
  waiting.add(next, 10);
  expect(waiting.arrivals).toEqual(isReplaced ? [next] : [first, next]);
  const bytes = waiting.arrivals.reduce((sum, each) => sum + JSON.stringify(each.heartbeat).length, 0);
  expect(waiting.bytes).toBe(bytes);
  waiting.remove(waiting.arrivals);
  expect([waiting.length, waiting.bytes]).toEqual([0, 0]);
});

test.each<[seconds: number, afterMs: number, isBehind: boolean]>([
  [30, 75_000, false],
  [30, 75_001, true],
  [10, 35_000, false],
  [10, 35_001, true],
  [3600, 75_000, false],
  [3600, 75_001, true],
])('with an interval of %i s the oldest may wait for %i ms: behind is %p', (seconds, afterMs, isBehind) => {
  const waiting = new Waiting();
  waiting.add(arrival({ seq: 1 }), 1_000);
  // What replaces it waits since then too: the crash would lose both.
  waiting.add(arrival({ seq: 2 }), 20_000);
  expect(waiting.isBehind(seconds, 1_000 + afterMs)).toBe(isBehind);
});

test('one that may be taken back takes the place of none, and none takes its', () => {
  const waiting = new Waiting();
  const [first, awaited, last] = [arrival({ seq: 1 }), arrival({ seq: 2 }), arrival({ seq: 3 })];
  waiting.add(first, 0);
  waiting.add(awaited, 0, true);
  expect(waiting.arrivals).toEqual([first, awaited]);
  waiting.add(last, 0);
  expect(waiting.arrivals).toEqual([awaited, last]);
});

test('what was stored does not count for what came while it was being stored', () => {
  const waiting = new Waiting();
  waiting.add(arrival({ seq: 1 }), 0);
  const batch = waiting.arrivals;
  waiting.add(arrival({ seq: 2 }), 50_000);
  waiting.remove(batch);
  waiting.storedAt(40_000);
  expect(waiting.isBehind(30, 100_000)).toBe(false);
});

test('two hundred of one object are too many whatever their age, and a hundred are written early', () => {
  const waiting = new Waiting();
  const fill = (count: number): void => {
    while (waiting.length < count) waiting.add(arrival({ totals: null, seq: waiting.length }), 0);
  };
  fill(99);
  expect(waiting.isMany()).toBe(false);
  fill(100);
  expect([waiting.isMany(), waiting.isBehind(30, 0)]).toEqual([true, false]);
  fill(200);
  expect(waiting.isBehind(30, 0)).toBe(true);
});
