import { describe, expect, test } from '@jest/globals';
import { setNewest } from './set-newest.ts';

/** Counts its iterators: each one passes the places of deleted entries. */
class CountedMap extends Map<number, string> {
  iterators = 0;

  override keys(): MapIterator<number> {
    this.iterators += 1;
    return super.keys();
  }

  override entries(): MapIterator<[number, string]> {
    this.iterators += 1;
    return super.entries();
  }

  override [Symbol.iterator](): MapIterator<[number, string]> {
    return this.entries();
  }
}

/** The map after this number of new entries, its smallest and largest size since it was full, and what was dropped. */
function filled(entries: number, max: number) {
  const map = new CountedMap();
  const dropped: string[] = [];
  let [smallest, largest] = [max, 0];
  for (let key = 0; key < entries; key += 1) {
    dropped.push(...setNewest(map, [key, `v${key}`], max));
    if (key >= max) smallest = Math.min(smallest, map.size);
    largest = Math.max(largest, map.size);
  }
  const { iterators } = map;
  return { map, dropped, smallest, largest, iterators };
}

describe('setNewest', () => {
  test.each([1, 2, 15, 16])('keeps exactly the newest %d', (max) => {
    const { map, smallest, largest, dropped } = filled(3 * max, max);
    expect([smallest, largest]).toEqual([max, max]);
    expect([...map.keys()]).toEqual(Array.from({ length: max }, (_, index) => 2 * max + index));
    expect(dropped).toHaveLength(2 * max);
  });

  test.each([17, 200, 256, 1_000, 5_000])('keeps the newest, at least 15/16 of %d', (max) => {
    const { map, smallest, largest, dropped } = filled(3 * max, max);
    expect(largest).toBe(max);
    expect(smallest).toBeGreaterThanOrEqual((15 / 16) * max);
    const first = 3 * max - map.size;
    expect([...map.keys()]).toEqual(Array.from({ length: map.size }, (_, index) => first + index));
    expect(dropped).toEqual(Array.from({ length: first }, (_, index) => `v${index}`));
  });

  test('iterates once in a sixteenth of the entries of a full map', () => {
    expect(filled(5_000, 5_000).iterators).toBe(0);
    expect(filled(25_000, 5_000).iterators).toBeLessThanOrEqual(Math.ceil(20_000 / 312));
  });

  test('moves a known entry to the end without dropping one', () => {
    const { map } = filled(3, 3);
    expect(setNewest(map, [0, 'again'], 3)).toEqual([]);
    expect([...map]).toEqual([
      [1, 'v1'],
      [2, 'v2'],
      [0, 'again'],
    ]);
    expect(setNewest(map, [3, 'v3'], 3)).toEqual(['v1']);
  });
});
