import { expect, test } from '@jest/globals';
import { dirname, join } from 'node:path';
import LongestFirst from './jest-sequencer.ts';

const rootDir = dirname(import.meta.dirname);
const file = (path: string) => ({ path: join(rootDir, path), context: { config: { rootDir } } });
const namesOf = (tests: readonly { path: string }[]) =>
  tests.map(({ path }) => path.slice(rootDir.length + 1));

test('what is known to take long comes first, the longest of it at once, and then what is large', () => {
  const tests = [
    'scripts/jest-sequencer.test.ts',
    'scripts/test-suites.test.ts',
    'e2e/churn.test.ts',
    'e2e/install.test.ts',
  ];
  expect(namesOf(new LongestFirst().sort(tests.map(file)))).toEqual([
    'e2e/install.test.ts',
    'e2e/churn.test.ts',
    'scripts/test-suites.test.ts',
    'scripts/jest-sequencer.test.ts',
  ]);
});

test('shards hold every file once', () => {
  const tests = ['a', 'b', 'c', 'd', 'e'].map(file);
  const shards = [1, 2].map((shardIndex) => new LongestFirst().shard(tests, { shardIndex, shardCount: 2 }));
  expect(shards.map(namesOf)).toEqual([
    ['a', 'c', 'e'],
    ['b', 'd'],
  ]);
});
