import { afterEach, expect, test } from '@jest/globals';
import { ManualClock } from '../testing/manual-clock.ts';
import { SteppingClock } from '../testing/stepping-clock.ts';
import { ConnectionHealth } from './connection-health.ts';

const START = '2026-03-01T10:00:00.000Z';
/** Response times in milliseconds; `NEVER` is longer than any test. */
interface Latency {
  pooled: number;
  new: number;
}
const NEVER = 1e9;

const opened: ConnectionHealth[] = [];
afterEach(() => opened.splice(0).forEach((health) => health.close()));

/** A server that responds to each probe after its latency, on a clock that the test moves. */
function rig(initial: Latency) {
  const clock = new SteppingClock(START);
  const latency = { ...initial };
  const probes: string[] = [];
  let dead = 0;
  const health = new ConnectionHealth({
    probe: async (connection) => {
      probes.push(connection);
      await clock.sleep(latency[connection]);
    },
    onDead: () => (dead += 1),
    clock,
  });
  opened.push(health);
  return { clock, health, latency, probes, dead: () => dead, pass: (ms: number) => clock.pass(ms, 1_000) };
}

test('sends no probe before the first and after the last exchange', async () => {
  const { health, probes, pass } = rig({ pooled: 10, new: 10 });
  await pass(20_000);
  expect(probes).toEqual([]);
  const over = health.begin();
  await pass(20_000);
  const sent = probes.length;
  expect(sent).toBeGreaterThan(1);
  over();
  await pass(20_000);
  expect(probes).toHaveLength(sent);
});

test('sends no probe while data arrives', async () => {
  const { health, probes, pass } = rig({ pooled: 10, new: 10 });
  health.begin();
  for (let second = 0; second < 30; second += 1) {
    health.received();
    await pass(1_000);
  }
  expect(probes).toEqual([]);
});

test.each<[string, Latency]>([
  ['responds in 2 s', { pooled: 2_000, new: 2_000 }],
  ['responds in 5 s', { pooled: 5_000, new: 5_000 }],
  ['responds in 10 s', { pooled: 10_000, new: 10_000 }],
  ['responds in 14 s', { pooled: 14_000, new: 14_000 }],
  ['is unreachable', { pooled: NEVER, new: NEVER }],
  ['responds late through the pool only', { pooled: 7_000, new: 2_500 }],
])('does not report the pool dead when the server %s', async (_server, latency) => {
  const { health, dead, pass } = rig(latency);
  health.begin();
  await pass(100_000);
  expect(dead()).toBe(0);
});

test('reports the pool dead when the server responds only on a new connection', async () => {
  const { health, dead, latency, probes, pass } = rig({ pooled: NEVER, new: NEVER });
  health.begin();
  await pass(60_000);
  expect([dead(), new Set(probes)]).toEqual([0, new Set(['pooled', 'new'])]);
  latency.new = 2_000;
  await pass(7_000);
  expect(dead()).toBe(1);
});

test('sends no probe after it is closed, also if the server is unreachable', async () => {
  const { health, probes, pass } = rig({ pooled: NEVER, new: NEVER });
  health.begin();
  await pass(20_000);
  expect(probes).toContain('new');
  health.close();
  const sent = probes.length;
  await pass(20_000);
  expect(probes).toHaveLength(sent);
});

test('probes for an exchange that begins while the last probe ends', async () => {
  const { health, probes, pass } = rig({ pooled: 10, new: 10 });
  health.begin()();
  await pass(3_000);
  health.begin();
  await pass(20_000);
  expect(probes.length).toBeGreaterThan(1);
});

test('accepts a response that arrived while the process was paused, although its limit has passed', async () => {
  const clock = new ManualClock(START);
  const probe = Promise.withResolvers<void>();
  const probes: string[] = [];
  const health = new ConnectionHealth({
    probe: (connection) => {
      probes.push(connection);
      return probe.promise;
    },
    onDead: () => undefined,
    clock,
  });
  opened.push(health);
  health.begin();
  (await clock.nextSleep()).wake();
  const limit = await clock.nextSleep();
  // After a pause of the process its timers expire first; its sockets are read in the next turn of the event loop.
  limit.wake();
  setImmediate(probe.resolve);
  await clock.nextSleep();
  expect(probes).toEqual(['pooled']);
});
