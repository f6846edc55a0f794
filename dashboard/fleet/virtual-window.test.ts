import { describe, expect, test } from '@jest/globals';
import fc from '../../testing/random/properties.ts';
import { distanceTo, nextRows, rowAfter, visibleRows, type Layout } from './virtual-window.ts';

const LAYOUT: Layout = { rows: 10_000, rowHeight: 40, listTop: 300, windowHeight: 900, covered: 100 };

describe('the rows that exist', () => {
  test.each<[string, Partial<Layout>, [number, number]]>([
    ['at the top', {}, [0, 22]],
    ['in the middle', { listTop: -40_000 }, [994, 1030]],
    ['at the end', { listTop: -399_500 }, [9980, 10_000]],
    ['of a short list', { rows: 3 }, [0, 3]],
    ['of an empty list', { rows: 0 }, [0, 0]],
    ['of a list below the window', { listTop: 5_000 }, [0, 0]],
  ])('%s', (_title, given, [first, last]) => {
    expect(visibleRows({ ...LAYOUT, ...given })).toEqual({ first, last });
  });

  test('are always the visible ones and a bounded number', () => {
    const layouts = fc.record({
      rows: fc.integer({ min: 0, max: 100_000 }),
      rowHeight: fc.integer({ min: 20, max: 200 }),
      listTop: fc.integer({ min: -10_000_000, max: 2_000 }),
      windowHeight: fc.integer({ min: 100, max: 3_000 }),
      covered: fc.constant(0),
    });
    fc.assert(
      fc.property(layouts, (layout) => {
        const { first, last } = visibleRows(layout);
        const { rows, rowHeight, listTop, windowHeight } = layout;
        const shown = (row: number) =>
          listTop + (row + 1) * rowHeight > 0 && listTop + row * rowHeight < windowHeight;
        expect(last - first).toBeLessThanOrEqual(windowHeight / rowHeight + 24);
        expect(first >= 0 && last <= rows && first <= last).toBe(true);
        if (first > 0) expect(shown(first - 1)).toBe(false);
        if (last < rows) expect(shown(last)).toBe(false);
      }),
    );
  });
});

describe('the way to a row', () => {
  test.each<[string, number, number, number]>([
    ['is nothing for a visible row', 5, 300, 0],
    ['leads down to a row below the window', 20, 300, 240],
    ['leads up to a row behind the headers', 10, -400, -100],
    ['leads up to the first row', 0, -4_000, -4_100],
  ])('%s', (_title, row, listTop, distance) => {
    expect(distanceTo(row, { ...LAYOUT, listTop })).toBe(distance);
  });
});

describe('a key', () => {
  test.each<[string, number, number | null]>([
    ['ArrowDown', 5, 6],
    ['ArrowDown', 9_999, 9_999],
    ['ArrowUp', 5, 4],
    ['ArrowUp', 0, 0],
    ['PageDown', 5, 24],
    ['PageUp', 5, 0],
    ['PageUp', 50, 31],
    ['Home', 700, 0],
    ['End', 5, 9_999],
    ['Enter', 5, null],
    ['toString', 5, null],
  ])('%s on row %i leads to row %j', (key, row, target) => {
    expect(rowAfter(key, row, LAYOUT)).toBe(target);
  });
});

describe('the rows of the next frame', () => {
  test.each<[string, [number, number], [number, number], [number, number]]>([
    ['are all wanted ones after a small step', [0, 30], [4, 34], [4, 34]],
    ['add twelve below', [0, 30], [20, 50], [20, 42]],
    ['add twelve above', [40, 70], [20, 50], [28, 50]],
    ['start at the top of the window after a jump', [0, 30], [994, 1030], [1000, 1012]],
    ['shrink at once', [0, 30], [0, 3], [0, 3]],
    ['are none of an empty list', [0, 30], [0, 0], [0, 0]],
  ])('%s', (_title, old, wanted, expected) => {
    const range = ([first, last]: [number, number]) => ({ first, last });
    expect(nextRows(range(old), range(wanted))).toEqual(range(expected));
  });

  test('reach every window in a bounded number of frames', () => {
    const range = fc
      .tuple(fc.integer({ min: 0, max: 500 }), fc.integer({ min: 0, max: 60 }))
      .map(([first, rows]) => ({ first, last: first + rows }));
    fc.assert(
      fc.property(range, range, (old, wanted) => {
        let current = old;
        for (let frame = 0; frame < 6; frame += 1) current = nextRows(current, wanted);
        expect(current).toEqual(wanted);
      }),
    );
  });
});
