import { expect, test } from '@jest/globals';
import { applyPatch } from '../../testing/cluster/json-patch.ts';
import fc from '../../testing/random/properties.ts';
import { patchBetween } from './patch.ts';

const json = fc.jsonValue({ maxDepth: 4 });

test('a patch turns the first value into the second', () => {
  fc.assert(
    fc.property(json, json, (before, after) => {
      const wanted: unknown = JSON.parse(JSON.stringify(after));
      const given: unknown = JSON.parse(JSON.stringify(before));
      expect(applyPatch(given, patchBetween(given, wanted))).toEqual(wanted);
    }),
  );
});

test('equal values need no patch, independent of the order of keys', () => {
  expect(patchBetween({ a: 1, b: [{ c: 2, d: 3 }] }, { b: [{ d: 3, c: 2 }], a: 1 })).toEqual([]);
});

test.each<[string, unknown, unknown, unknown]>([
  [
    'an element inserted at the front is one operation',
    { list: [{ n: 1 }, { n: 2 }] },
    { list: [{ n: 0 }, { n: 1 }, { n: 2 }] },
    [{ op: 'add', path: '/list/0', value: { n: 0 } }],
  ],
  [
    'a removed field of one element changes only this element',
    { list: [{ n: 1, name: 'x' }, { n: 2 }] },
    { list: [{ n: 1 }, { n: 2 }] },
    [{ op: 'remove', path: '/list/0/name' }],
  ],
  [
    'slashes and tildes in a key are escaped',
    { annotations: {} },
    { annotations: { 'platform.io/a~b': 'c' } },
    [{ op: 'add', path: '/annotations/platform.io~1a~0b', value: 'c' }],
  ],
  [
    'inherited property names are handled like other keys',
    { labels: { constructor: 'a' } },
    { labels: { toString: 'b' } },
    [
      { op: 'remove', path: '/labels/constructor' },
      { op: 'add', path: '/labels/toString', value: 'b' },
    ],
  ],
  [
    'elements are removed from the back, so that earlier indexes stay valid',
    [1, 2, 3, 4],
    [1, 4],
    [
      { op: 'remove', path: '/2' },
      { op: 'remove', path: '/1' },
    ],
  ],
])('%s', (_case, before, after, operations) => {
  expect(patchBetween(before, after)).toEqual(operations);
});
