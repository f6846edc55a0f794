import { expect, test } from '@jest/globals';
import type { Heartbeat } from '../../../core/shapes/heartbeat.ts';
import { aHeartbeat } from '../../../testing/fleet/heartbeat.ts';
import type { Arrival } from '../store.ts';
import { HeartbeatQueue } from './heartbeat-queue.ts';

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
  ['a newer heartbeat of the process', arrival({ seq: 3 }), true],
  ['an older heartbeat of the process', arrival({ seq: 1 }), false],
  ['a heartbeat without seq', arrival({ seq: null }), false],
  ['a heartbeat of another instance', arrival({ seq: 3 }, { instance: 'shop-2' }), false],
  ['a heartbeat of a later pod with the same name', arrival({ seq: 3 }, { uid: 'u-2' }), false],
  ['a heartbeat of another process', arrival({ seq: 3, startedAt: '2026-03-01T09:30:00.000Z' }), false],
  ['a heartbeat of a process without startedAt', arrival({ seq: 3, startedAt: null }), false],
  ['a heartbeat without totals', arrival({ seq: 3, totals: null }), false],
  ['a heartbeat with another proof revision', arrival({ seq: 3, proofRevision: 7 }), false],
])('%s after an earlier heartbeat: case %#', (_name, next, isReplaced) => {
  const queue = new HeartbeatQueue();
  const first = arrival({ seq: 2 });
  queue.add(first, 0);
  queue.add(next, 10);
  expect(queue.arrivals).toEqual(isReplaced ? [next] : [first, next]);
  const bytes = queue.arrivals.reduce((sum, each) => sum + JSON.stringify(each.heartbeat).length, 0);
  expect(queue.bytes).toBe(bytes);
  queue.remove(queue.arrivals);
  expect([queue.length, queue.bytes]).toEqual([0, 0]);
});

test.each<[seconds: number, afterMs: number, isBehind: boolean]>([
  [30, 75_000, false],
  [30, 75_001, true],
  [10, 35_000, false],
  [10, 35_001, true],
  [3600, 75_000, false],
  [3600, 75_001, true],
])(
  'with an interval of %i s and the oldest heartbeat waiting %i ms, isBehind is %p',
  (seconds, afterMs, isBehind) => {
    const queue = new HeartbeatQueue();
    queue.add(arrival({ seq: 1 }), 1_000);
    // The replacement waits since the same time, because a crash would lose both.
    queue.add(arrival({ seq: 2 }), 20_000);
    expect(queue.isBehind(seconds, 1_000 + afterMs)).toBe(isBehind);
  },
);

test('an awaited heartbeat neither replaces another heartbeat nor is replaced', () => {
  const queue = new HeartbeatQueue();
  const [first, awaited, last] = [arrival({ seq: 1 }), arrival({ seq: 2 }), arrival({ seq: 3 })];
  queue.add(first, 0);
  queue.add(awaited, 0, true);
  expect(queue.arrivals).toEqual([first, awaited]);
  queue.add(last, 0);
  expect(queue.arrivals).toEqual([awaited, last]);
});

test('after a write, the waiting time of newer heartbeats starts with the write', () => {
  const queue = new HeartbeatQueue();
  queue.add(arrival({ seq: 1 }), 0);
  const batch = queue.arrivals;
  queue.add(arrival({ seq: 2 }), 50_000);
  queue.remove(batch);
  queue.storedAt(40_000);
  expect(queue.isBehind(30, 100_000)).toBe(false);
});

test('isMany from 100 heartbeats on, isBehind from 200 on at any age', () => {
  const queue = new HeartbeatQueue();
  const fill = (count: number): void => {
    while (queue.length < count) queue.add(arrival({ totals: null, seq: queue.length }), 0);
  };
  fill(99);
  expect(queue.isMany()).toBe(false);
  fill(100);
  expect([queue.isMany(), queue.isBehind(30, 0)]).toEqual([true, false]);
  fill(200);
  expect(queue.isBehind(30, 0)).toBe(true);
});
