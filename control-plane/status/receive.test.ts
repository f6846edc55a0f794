import { expect, test } from '@jest/globals';
import type { BriefInstance } from '../../core/shapes/instance.ts';
import type { ObservationStatus } from '../../core/shapes/observation.ts';
import { pauseAfterLimit } from '../../push/schedule.ts';
import { aHeartbeat } from '../../testing/fleet/heartbeat.ts';
import { diceOf } from '../../testing/random/dice.ts';
import { SEED } from '../../testing/random/seed.ts';
import type { Arrival } from '../stores/store.ts';
import { receive, type Received } from './receive.ts';

const START = Date.parse('2026-03-01T10:00:00.000Z');
const OPTIONS = { context: {}, rateLimitSeconds: 10, newNames: [] };

const arrival = (instance: string, seconds: number, seq = 1): Arrival => ({
  namespace: 'remote',
  name: 'shop',
  source: 'remote',
  instance,
  heartbeat: aHeartbeat({ seq }),
  at: new Date(START + seconds * 1000),
});

const accepted = (received: Received): ObservationStatus => {
  if (received.kind !== 'accepted') throw new Error(received.kind);
  return received.status;
};

/** Fifty listed instances and 950 others. */
function fullStatus(): ObservationStatus {
  const names = Array.from({ length: 50 }, (_, index) => `a-${index}`);
  const listed = names.reduce<ObservationStatus | undefined>(
    (status, name) => accepted(receive(status, arrival(name, 0), OPTIONS)),
    undefined,
  )!;
  const { name: _, ...row } = listed.instances![0]!;
  const unlisted = Array.from({ length: 950 }, (_, index): BriefInstance => ({ ...row, name: `b-${index}` }));
  return { ...listed, unlisted };
}

test('limits a registered agent to 1,000 live names; known names and pods are not limited', () => {
  const full = fullStatus();
  const limited = { kind: 'limited', retryAfterSeconds: 60, isNewName: true };
  expect(receive(full, arrival('one-more', 20), OPTIONS)).toEqual(limited);
  expect(accepted(receive(full, arrival('b-949', 20, 2), OPTIONS))).toMatchObject({ instanceCount: 1000 });
  const pod = { ...arrival('pod', 20), source: 'sidecar' as const, uid: 'u' };
  expect(receive(full, pod, OPTIONS)).toMatchObject({ kind: 'accepted', isNewName: true });
  // All instances are stale.
  expect(accepted(receive(full, arrival('one-more', 121), OPTIONS))).toMatchObject({ instanceCount: 1 });
});

test.each([
  [9.499, 'limited'],
  [9.5, 'accepted'],
  [9.95, 'accepted'],
  [10, 'accepted'],
])('a heartbeat %d s after the last one with a limit of 10 s is %s', (seconds, kind) => {
  const status = accepted(receive(undefined, arrival('i-1', 0), OPTIONS));
  expect(receive(status, arrival('i-1', seconds, 2), OPTIONS).kind).toBe(kind);
});

test.each([
  ['now', 59, 0, 'accepted'],
  ['now', 60, 0, 'limited'],
  ['almost ten seconds ago', 60, 9_999, 'limited'],
  ['ten seconds ago', 60, 10_000, 'accepted'],
  ['in the future, because the clock was set back', 60, -1, 'accepted'],
])('with new names %s: %i names, %i ms ago, the next name is %s', (_, count, agoMs, kind) => {
  const newNames = Array.from({ length: count }, () => START - agoMs);
  expect(receive(undefined, arrival('new', 0), { ...OPTIONS, newNames }).kind).toBe(kind);
});

test('500 instances of one agent that start at once all report within 120 seconds', () => {
  const dice = diceOf(SEED);
  const waiting = Array.from({ length: 500 }, (_, index) => ({ name: `i-${index}`, dueMs: index / 100 }));
  const newNames: number[] = [];
  let status: ObservationStatus | undefined;
  let lastMs = 0;
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const { name, dueMs } = next;
    lastMs = dueMs;
    const received = receive(status, arrival(name, dueMs / 1000), { ...OPTIONS, newNames });
    if (received.kind === 'limited') {
      const { afterMs } = pauseAfterLimit(received.retryAfterSeconds * 1000, dice());
      waiting.push({ name, dueMs: dueMs + afterMs });
      waiting.sort((x, y) => x.dueMs - y.dueMs);
      continue;
    }
    status = accepted(received);
    newNames.push(START + dueMs);
  }
  expect(lastMs).toBeLessThan(120_000);
  expect(status).toMatchObject({ instanceCount: 500, unlistedCount: 450 });
});
