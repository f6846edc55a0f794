import { expect, test } from '@jest/globals';
import { ManualClock } from '../../testing/time/manual-clock.ts';
import { oncePerSource } from './once-per-source.ts';

test('each source is due once per interval, for at most 1,000 sources', () => {
  const clock = new ManualClock('2026-03-01T10:00:00.000Z');
  const isDue = oncePerSource({ clock, everyMs: 1_000 });
  const due = (count: number) =>
    Array.from({ length: count }, (_, i) => isDue(`10.0.0.${i}`)).filter(Boolean);
  expect(due(3)).toHaveLength(3);
  expect(due(3)).toHaveLength(0);
  clock.advance(500);
  expect(due(5_000)).toHaveLength(997);
  clock.advance(500);
  // Three sources have expired, so three are due.
  expect(due(5_000)).toHaveLength(3);
});
