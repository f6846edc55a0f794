import { expect, test } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { startQuietClock } from './quiet-clock.ts';

/** How the clock and the wall went on from one moment to another, a second and more later. */
async function ran(look?: () => number): Promise<{ shown: number; wall: number; slowness: number }> {
  const clock = startQuietClock(look);
  const [shownBefore, wallBefore] = [clock.now(), performance.now()];
  await sleep(1_200);
  const [shown, wall] = [clock.now() - shownBefore, performance.now() - wallBefore];
  await clock.close();
  return { shown, wall, slowness: clock.slowness() };
}

test('where a computation takes as long as it computes, the clock goes like any other', async () => {
  const { shown, wall, slowness } = await ran(() => 0.97);
  expect(shown / wall).toBeCloseTo(1, 1);
  expect(slowness).toBeCloseTo(1, 1);
});

test('where it takes seven times as long, half of the time counts for a seventh of that', async () => {
  const { shown, wall, slowness } = await ran(() => 7);
  expect(shown / wall).toBeCloseTo(1 / 4, 1);
  expect(slowness).toBeCloseTo(4, 0);
});

test('it never goes back, whatever is found', async () => {
  let looks = 0;
  const clock = startQuietClock(() => ((looks += 1) % 2 === 0 ? 50 : 1));
  let before = clock.now();
  while (looks < 5) {
    await sleep(20);
    const now = clock.now();
    expect(now).toBeGreaterThanOrEqual(before);
    before = now;
  }
  await clock.close();
});

test('what it finds of this machine is at least its own speed', async () => {
  expect((await ran()).slowness).toBeGreaterThanOrEqual(1);
});
