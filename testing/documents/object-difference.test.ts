import { expect, test } from '@jest/globals';
import { differenceBetween, withDifference, type Difference } from './object-difference.ts';

const before = {
  kind: 'Pod',
  labels: { 'app.io/name': 'x' },
  containers: [
    { name: 'a', image: 'a:1', args: ['one'] },
    { name: 'b', image: 'b:1' },
  ],
};

test.each<[what: string, after: object, difference: Difference]>([
  ['nothing', before, {}],
  ['a scalar', { ...before, kind: 'Job' }, { kind: 'Job' }],
  ['a key with dots', { ...before, labels: { 'app.io/name': 'y' } }, { 'labels."app.io/name"': 'y' }],
  ['a missing member', { kind: 'Pod', containers: before.containers }, { labels: null }],
  [
    'a member of a named item, and a list without names',
    { ...before, containers: [{ name: 'a', image: 'a:2', args: ['two'] }, before.containers[1]] },
    { 'containers[a].image': 'a:2', 'containers[a].args': ['two'] },
  ],
  ['a removed item', { ...before, containers: [before.containers[1]] }, { 'containers[a]': null }],
  [
    'an item in front',
    { ...before, containers: [{ name: 'c' }, ...before.containers] },
    { 'containers[c]': { name: 'c' }, 'containers[]': ['c', 'a', 'b'] },
  ],
  [
    'an item at the end',
    { ...before, containers: [...before.containers, { name: 'c' }] },
    { 'containers[c]': { name: 'c' } },
  ],
])('the difference has %s and leads back to the object', (_what, after, difference) => {
  expect(differenceBetween(before, after)).toEqual(difference);
  expect(withDifference(before, difference)).toEqual(after);
});

test('by member an added object can be added to an object that has it', () => {
  const difference = differenceBetween(
    {},
    { labels: { agent: 'x' }, volumes: [{ name: 'v', size: 1 }] },
    true,
  );
  expect(difference).toEqual({ 'labels.agent': 'x', 'volumes[v].name': 'v', 'volumes[v].size': 1 });
  const base = { labels: { app: 'y' }, volumes: [{ name: 'own' }] };
  expect(withDifference(base, difference)).toEqual({
    labels: { app: 'y', agent: 'x' },
    volumes: [{ name: 'own' }, { name: 'v', size: 1 }],
  });
});

test('a path through a scalar is an error', () => {
  expect(() => withDifference(before, { 'kind.name': 1 })).toThrow('kind.name: kind has no members');
});
