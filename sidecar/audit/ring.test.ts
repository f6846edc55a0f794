import { describe, expect, test } from '@jest/globals';
import fc from '../../testing/random/properties.ts';
import { AuditRing } from './ring.ts';

const arrival = (requestId: string) => ({
  requestId,
  timestamp: '2026-03-01T10:00:00.000Z',
  method: 'GET',
  path: '/',
  bytesIn: 0,
  bytesOut: 0,
});
const ringOf = (capacity: number, ids: string[]): AuditRing => {
  const ring = new AuditRing(capacity);
  for (const id of ids) ring.insert(arrival(id)).outcome = 'allow';
  return ring;
};
const idsOf = (entries: { requestId: string }[]) => entries.map((entry) => entry.requestId);

test('an empty ring has no entries and has dropped none', () => {
  const ring = new AuditRing(3);
  expect({ first: ring.first, last: ring.last, dropped: ring.dropped, all: ring.newest() }).toEqual({
    first: 1,
    last: 0,
    dropped: 0,
    all: [],
  });
});

test('a full ring drops its oldest entries and counts them', () => {
  const ring = ringOf(3, ['a', 'b', 'c', 'd', 'e']);
  expect(idsOf(ring.newest())).toEqual(['c', 'd', 'e']);
  expect({ first: ring.first, last: ring.last, dropped: ring.dropped }).toEqual({
    first: 3,
    last: 5,
    dropped: 2,
  });
});

describe('find', () => {
  test('returns the newest entry of an id', () => {
    expect(ringOf(3, ['a', 'b', 'a']).find('a')?.seq).toBe(3);
  });
  test('returns the newest entry after the older one was overwritten', () => {
    expect(ringOf(3, ['a', 'b', 'a', 'c']).find('a')?.seq).toBe(3);
  });
  test('returns nothing after all entries were overwritten', () => {
    expect(ringOf(2, ['a', 'b', 'c']).find('a')).toBeUndefined();
  });
  test('returns an entry that was overwritten in flight until it is complete', () => {
    const ring = new AuditRing(1);
    const [first, second] = [ring.insert(arrival('a')), ring.insert(arrival('b'))];
    expect([ring.find('a'), ring.find('b'), ring.newest()]).toEqual([first, second, [second]]);
    first.outcome = 'allow';
    ring.complete(first, 1);
    expect([ring.find('a'), ring.find('b')]).toEqual([undefined, second]);
  });
  test('returns entries of each age after any number of insertions between two calls', () => {
    const ring = new AuditRing(3);
    for (let n = 1; n <= 100; n++) {
      ring.insert(arrival(`id${n}`)).outcome = 'allow';
      if (![1, 2, 3, 7, 8, 20, 21, 100].includes(n)) continue;
      for (let id = 0; id <= n + 1; id++)
        expect(ring.find(`id${id}`)?.seq).toBe(id >= 1 && id <= n && id > n - 3 ? id : undefined);
    }
  });
  test('returns the newest of several entries that were overwritten in flight', () => {
    const ring = new AuditRing(1);
    const [, second] = [ring.insert(arrival('a')), ring.insert(arrival('a'))];
    ring.insert(arrival('b'));
    expect(ring.find('a')).toBe(second);
  });
  test('returns the newer entry after the older one, overwritten in flight, is complete', () => {
    const ring = new AuditRing(1);
    const [first, second] = [ring.insert(arrival('a')), ring.insert(arrival('a'))];
    first.outcome = 'allow';
    ring.complete(first, 1);
    expect(ring.find('a')).toBe(second);
  });
});

describe('a range of the ring, oldest first', () => {
  const ring = ringOf(3, ['a', 'b', 'c', 'd', 'e']);
  test.each([
    ['the newest two', ring.newest(2), ['d', 'e']],
    ['the newest zero', ring.newest(0), []],
    ['more than available', ring.newest(99), ['c', 'd', 'e']],
    ['after an entry', ring.after(3), ['d', 'e']],
    ['the first after an entry', ring.after(3, 1), ['d']],
    ['after an overwritten entry', ring.after(1), ['c', 'd', 'e']],
    ['the first two after an overwritten entry', ring.after(1, 2), ['c', 'd']],
    ['after the newest', ring.after(5), []],
    ['after a future seq', ring.after(99), []],
  ])('%s', (_title, entries, ids) => {
    expect(idsOf(entries)).toEqual(ids);
  });
});

test('any ring contains the newest entries, and all others count as dropped', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 8 }),
      fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 30 }),
      (capacity, ids) => {
        const ring = ringOf(capacity, ids);
        expect(idsOf(ring.newest())).toEqual(ids.slice(-capacity));
        expect(ring.newest().length + ring.dropped).toBe(ids.length);
        for (const id of ['a', 'b', 'c']) {
          const held = ring.newest().filter((entry) => entry.requestId === id);
          expect(ring.find(id)).toBe(held.at(-1));
        }
      },
    ),
  );
});
