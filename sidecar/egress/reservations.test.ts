import { expect, test } from '@jest/globals';
import { ManualClock } from '../../testing/time/manual-clock.ts';
import { DayCounts } from './day-counts.ts';
import { jsonWith } from './json-with.ts';
import { Reservations } from './reservations.ts';

const HOUR_MS = 3_600_000;

test('a call reserves until its usage is known, else until the end of the day', () => {
  const clock = new ManualClock('2026-11-23T12:00:00Z');
  const reservations = new Reservations(clock);
  const [known, unknown] = [
    reservations.reserve({ tokens: 100, usd: 1 }),
    reservations.reserve({ tokens: 10, usd: 0 }),
  ];
  expect(reservations.total).toEqual({ tokens: 110, usd: 1 });
  reservations.settle(known, true);
  reservations.settle(unknown, false);
  reservations.settle(unknown, false);
  expect(reservations.total).toEqual({ tokens: 10, usd: 0 });
  clock.advance(12 * HOUR_MS);
  expect(reservations.total).toEqual({ tokens: 0, usd: 0 });
});

test('counts are those of the last 24 hours, with a limited number of keys', () => {
  const clock = new ManualClock('2026-11-23T12:00:00Z');
  const counts = new DayCounts();
  counts.addAll(['a', 'b', 'a'], clock.now());
  clock.advance(23 * HOUR_MS);
  counts.add('a', clock.now());
  expect(counts.totals(clock.now())).toEqual(
    new Map([
      ['a', 3],
      ['b', 1],
    ]),
  );
  clock.advance(HOUR_MS);
  expect(counts.totals(clock.now())).toEqual(new Map([['a', 1]]));
  for (let index = 0; index < 600; index += 1) counts.add(`k${index}`, clock.now());
  expect(counts.totals(clock.now()).get('(other)')).toBe(100);
});

test.each([
  ['members are inserted', '{"n":1.0,"a":{}}', { stream: true }, '{"n":1.0,"a":{},"stream":true}'],
  ['after blanks', '{"n":1.0 }\n', { s: 1 }, '{"n":1.0 ,"s":1}\n'],
  ['a changed member rewrites the text', '{"n":1.0,"s":1}', { s: 2 }, '{"n":1,"s":2}'],
  ['an empty object', '{}', { s: 1 }, '{"s":1}'],
])('%s', (_, text, more, expected) => {
  const known = JSON.parse(text) as Record<string, unknown>;
  expect(jsonWith(Buffer.from(text), known, { ...known, ...more })?.toString()).toBe(expected);
});
