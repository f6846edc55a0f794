import { describe, expect, test } from '@jest/globals';
import { mergeJson } from '../testing/cluster/fake-api-server.ts';
import fc from '../testing/random/properties.ts';
import { mergePatchOf, sameJson } from './merge-patch.ts';

describe('mergePatchOf', () => {
  test.each<[string, unknown, unknown, unknown]>([
    ['equal values need no patch', { a: 1, b: [1] }, { b: [1], a: 1 }, null],
    ['undefined counts as absent', { a: 1 }, { a: 1, b: undefined }, null],
    ['a changed member', { a: 1, b: 2 }, { a: 1, b: 3 }, { b: 3 }],
    ['a removed member becomes null', { a: 1, b: 2 }, { a: 1 }, { b: null }],
    ['nested objects are patched by member', { o: { x: 1, y: 2 } }, { o: { x: 1, y: 3 } }, { o: { y: 3 } }],
    ['a removed nested member becomes null', { o: { x: 1, y: 2 } }, { o: { x: 1 } }, { o: { y: null } }],
    ['lists are replaced completely', { l: [1, 2] }, { l: [1, 2, 3] }, { l: [1, 2, 3] }],
    ['an object is replaced by a list', { v: { x: 1 } }, { v: [1] }, { v: [1] }],
    ['an absent old value', undefined, { a: 1 }, { a: 1 }],
  ])('%s', (_, from, to, patch) => {
    expect(mergePatchOf(from, to)).toEqual(patch);
  });

  const json = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.integer({ min: 0, max: 3 }),
      fc.constantFrom('a', 'b', true, false),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom('k', 'l', 'm'), tie('value'), { maxKeys: 3, noNullPrototype: true }),
    ),
  })).value;
  const object = fc.dictionary(fc.constantFrom('k', 'l', 'm'), json, { noNullPrototype: true });

  test('the patch turns the old value into the new value, and equal values give no patch', () => {
    fc.assert(
      fc.property(object, object, (from, to) => {
        const patch = mergePatchOf(from, to);
        expect(patch === null ? from : mergeJson(from, patch)).toEqual(to);
        expect(patch === null).toBe(sameJson(from, to));
      }),
    );
  });
});
