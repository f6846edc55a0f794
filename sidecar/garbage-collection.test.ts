import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { keepsTick, tuneGarbageCollection } from './garbage-collection.ts';

test('the object of one tick is kept', async () => {
  expect(keepsTick()).toBe(false);
  tuneGarbageCollection();
  await new Promise(setImmediate);
  expect(keepsTick()).toBe(true);
});

/** Prints how many bytes of each new object V8 allocates in the old generation after earlier objects of the literal lived long. */
const ALLOCATIONS = `
const { getHeapSpaceStatistics } = require('node:v8');
const oldBytes = () => getHeapSpaceStatistics().find((space) => space.space_name === 'old_space').space_used_size;
const create = (n) => ({ n, text: null, list: null });
const COUNT = 100_000;
let kept = new Array(COUNT);
for (let round = 0; round < 4; round++) for (let i = 0; i < COUNT; i++) kept[i] = create(i);
kept = null;
let last;
const forget = () => { for (let i = 0; i < COUNT; i++) last = create(i); };
forget();
const before = oldBytes();
forget();
process.stdout.write(String((oldBytes() - before) / COUNT));
`;
const TUNED = `require(${JSON.stringify(join(import.meta.dirname, 'garbage-collection.ts'))}).tuneGarbageCollection();`;

test.each([
  ['V8 by default allocates objects in the old generation', '', { isOld: true }],
  ['V8 in the sidecar allocates objects in the young generation', TUNED, { isOld: false }],
])('%s', (_title, first, { isOld }) => {
  const { stdout, stderr } = spawnSync(
    process.execPath,
    // Otherwise a busy machine decides whether V8's compiler thread finishes in time.
    ['--predictable', '--max-semi-space-size=4', '--eval', first + ALLOCATIONS],
    { encoding: 'utf8' },
  );
  expect(stderr).toBe('');
  expect(Number(stdout) > 24).toBe(isOld);
});
