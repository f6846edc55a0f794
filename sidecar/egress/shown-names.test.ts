import { expect, test } from '@jest/globals';
import { distinct } from '../../core/egress/wires/members.ts';
import fc from '../../testing/random/properties.ts';
import { namesIn } from './shown-names.ts';

const numbered = (count: number): string[] => Array.from({ length: count }, (_, index) => `tool-${index}`);

test.each([
  ['no names', [], []],
  ['repeated and missing names', ['b', null, 'a', 'b'], ['b', 'a']],
  ['a list longer than a log entry', [...numbered(250), 'tool-0'], numbered(200)],
  ['repetitions in a long list', [...numbered(150), ...numbered(200)], numbered(200)],
  [
    'names that are equal after they are cut',
    [`${'x'.repeat(200)}1`, `${'x'.repeat(200)}2`],
    ['x'.repeat(200)],
  ],
])('the log shows %s', (_title, names, shown) => {
  expect(namesIn(names)).toEqual(shown);
});

test('names of any list are distinct, in order of their first occurrence', () => {
  const names = fc.array(fc.option(fc.constantFrom(...numbered(30))), { maxLength: 60 });
  fc.assert(
    fc.property(names, (list) => {
      const known = list.filter((name) => name !== null);
      expect(distinct(list)).toEqual(known.filter((name, index) => known.indexOf(name) === index));
    }),
  );
});
