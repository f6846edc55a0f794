import { expect, test } from '@jest/globals';
import { keepsTick, tuneGarbageCollection } from './garbage-collection.ts';

test('the object of one tick is kept', async () => {
  expect(keepsTick()).toBe(false);
  tuneGarbageCollection();
  await new Promise(setImmediate);
  expect(keepsTick()).toBe(true);
});
