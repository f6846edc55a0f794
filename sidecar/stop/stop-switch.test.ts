import { expect, test } from '@jest/globals';
import type { StopDirective } from '../../core/shapes/agent-stop.ts';
import { recordingLogger, type LogEntry } from '../../testing/sidecar/recording-logger.ts';
import { SteppingClock } from '../../testing/time/stepping-clock.ts';
import { StopSwitch } from './stop-switch.ts';

const STOP: StopDirective = {
  ...{ id: 'shop-team/incident', reason: 'leak of order data' },
  ...{ since: '2026-12-01T09:59:00Z', until: null },
};
const START = '2026-12-01T10:00:00Z';

function create() {
  const clock = new SteppingClock(START);
  const log: LogEntry[] = [];
  const ending = new AbortController();
  const stop = new StopSwitch({ clock, logger: recordingLogger(log), signal: ending.signal });
  let changes = 0;
  stop.onChange(() => (changes += 1));
  return { clock, log, ending, stop, changes: () => changes };
}

test('applies the stop of the control plane until it is lifted, and logs both', () => {
  const { stop, log, changes } = create();
  stop.direct(STOP);
  expect(stop.current).toEqual({ id: STOP.id, reason: STOP.reason, since: new Date(STOP.since), cut: 0 });
  stop.direct({ ...STOP });
  expect(changes()).toBe(1);
  stop.direct(null);
  expect(stop.current).toBeNull();
  expect(changes()).toBe(2);
  expect(log.map(([, message, fields]) => [message, fields?.['stop']])).toEqual([
    ['agent stopped', STOP.id],
    ['agent resumed', STOP.id],
  ]);
});

test('an AgentStop that is created again is confirmed again, and cuts nothing', () => {
  const { stop, changes } = create();
  let cuts = 0;
  stop.onStop(() => (cuts += 1));
  stop.direct(STOP);
  stop.direct({ ...STOP, since: '2026-12-01T09:59:30Z' });
  expect(stop.current?.since).toEqual(new Date('2026-12-01T09:59:30Z'));
  expect([changes(), cuts]).toEqual([2, 1]);
});

test('the annotation stops since it was seen', () => {
  const { stop } = create();
  stop.annotate('by hand');
  expect(stop.current?.since).toEqual(new Date(START));
});

test.each([
  ['the annotation alone', null, 'by hand', 'pod-annotation'],
  ['both: the one with an id', STOP, 'by hand', STOP.id],
  ['neither', null, null, undefined],
])('is stopped by %s', (_, directive, reason, expected) => {
  const { stop } = create();
  stop.annotate(reason);
  stop.direct(directive);
  expect(stop.current?.id).toBe(expected);
});

test('stays stopped while one of both says so, and cuts only once', () => {
  const { stop, changes } = create();
  let cuts = 0;
  stop.onStop(() => (cuts += 1));
  stop.annotate('by hand');
  stop.direct(STOP);
  stop.annotate(null);
  expect(stop.current?.id).toBe(STOP.id);
  stop.annotate('by hand');
  stop.direct(null);
  expect(stop.current).toMatchObject({ id: 'pod-annotation', reason: 'by hand' });
  stop.annotate('another reason');
  expect(stop.current).toMatchObject({ id: 'pod-annotation', reason: 'another reason' });
  stop.annotate(null);
  expect(stop.current).toBeNull();
  expect(cuts).toBe(1);
  expect(changes()).toBe(4);
});

test('ends what is open, the newest first, when it is set already', () => {
  const { stop } = create();
  const order: unknown[] = [];
  stop.onStop(() => order.push('server', stop.current?.id) && 3);
  stop.onStop(() => order.push('tunnel') && 2);
  stop.onStop(() => order.push('gone') && 100)();
  stop.direct(STOP);
  expect(order).toEqual(['tunnel', 'server', STOP.id]);
  expect(stop.current?.cut).toBe(5);
});

test('ends at `until` by its own clock', async () => {
  const { stop, clock } = create();
  stop.direct({ ...STOP, until: '2026-12-01T12:00:00Z' });
  await clock.pass(7_199_000, 60_000);
  expect(stop.current?.id).toBe(STOP.id);
  await clock.pass(1_000);
  expect(stop.current).toBeNull();
});

test('a later stop replaces `until`, and no timer is left', async () => {
  const { stop, clock, ending } = create();
  stop.direct({ ...STOP, until: '2026-12-01T10:01:00Z' });
  stop.direct({ ...STOP, until: '2026-12-01T10:05:00Z' });
  await clock.pass(240_000, 60_000);
  expect(stop.current?.id).toBe(STOP.id);
  expect(clock.left()).toHaveLength(1);
  ending.abort();
  expect(clock.left()).toEqual([]);
});

test('falls back to the annotation at `until`', async () => {
  const { stop, clock } = create();
  stop.annotate('by hand');
  stop.direct({ ...STOP, until: '2026-12-01T10:01:00Z' });
  await clock.pass(60_000);
  expect(stop.current?.id).toBe('pod-annotation');
});

test('a stop that has ended is not applied', () => {
  const { stop, log } = create();
  stop.direct({ ...STOP, until: '2026-12-01T09:00:00Z' });
  expect(stop.current).toBeNull();
  expect(log).toEqual([]);
});
