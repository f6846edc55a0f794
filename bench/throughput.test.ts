import { expect, test } from '@jest/globals';
import { MAX_TARGETS } from './rounds.ts';
import { BASELINES, TARGETS } from './targets.ts';
import { groupsOf } from './throughput.ts';

test('each target is in one group, and each group has the baselines and few enough targets', () => {
  const groups = groupsOf(TARGETS);
  const names = groups.flat().map(({ name }) => name);
  expect(new Set(names)).toEqual(new Set(TARGETS.map(({ name }) => name)));
  expect(names).toHaveLength(TARGETS.length + (groups.length - 1) * BASELINES.length);
  for (const group of groups) {
    expect(group.length).toBeLessThanOrEqual(MAX_TARGETS);
    expect(group.map(({ name }) => name)).toEqual(expect.arrayContaining([...BASELINES]));
  }
});

test('targets that fit are one group, also without a baseline', () => {
  expect(groupsOf([{ name: 'a' }, { name: 'undici' }])).toEqual([[{ name: 'undici' }, { name: 'a' }]]);
  expect(groupsOf([{ name: 'a' }])).toEqual([[{ name: 'a' }]]);
  expect(groupsOf([{ name: 'undici' }])).toEqual([[{ name: 'undici' }]]);
});
