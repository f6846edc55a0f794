import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { ManualClock } from '../testing/manual-clock.ts';
import { createRefresher, type Refresher, type RefresherOptions } from './refresher.ts';

let clock: ManualClock;
let log: unknown[];
let checks: number;
let refresher: Refresher<number>;

function aRefresher(overrides: Partial<RefresherOptions<number>> = {}): Refresher<number> {
  refresher = createRefresher<number>({
    check: () => Promise.resolve(++checks),
    refreshIntervalMs: 30_000,
    staleAfterMs: 60_000,
    clock,
    logger: { warn: (...entry) => void log.push(entry), info: () => undefined, debug: () => undefined },
    ...overrides,
  });
  return refresher;
}

beforeEach(() => {
  clock = new ManualClock('2026-03-01T10:00:00Z');
  log = [];
  checks = 0;
});
afterEach(() => refresher.stop());

describe('the lifecycle of the reporter', () => {
  test('start fires the first check without waiting for it, and one more each interval', async () => {
    let release: (report: number) => void = () => undefined;
    const running = aRefresher({
      check: () => {
        checks += 1;
        return checks === 1
          ? new Promise<number>((resolve) => {
              release = resolve;
            })
          : Promise.resolve(checks);
      },
    });
    running.start();
    expect(checks).toBe(1);
    release(1);
    const sleep = await clock.nextSleep();
    expect(sleep.ms).toBe(30_000);
    sleep.wake();
    await clock.nextSleep();
    expect([checks, await running.getReport()]).toEqual([2, 2]);
  });

  test('start is idempotent', async () => {
    const running = aRefresher();
    running.start();
    running.start();
    await clock.nextSleep();
    expect(checks).toBe(1);
  });

  test.each([
    ['as old as the limit', 60_000, 1],
    ['older than the limit', 60_001, 2],
  ])('a report that is %s', async (_name, ageMs, report) => {
    const running = aRefresher();
    running.start();
    await running.getReport();
    clock.advance(ageMs);
    expect(await running.getReport()).toBe(report);
  });

  test('wishes that come together share one check', async () => {
    const running = aRefresher();
    running.start();
    expect(await Promise.all([running.getReport(), running.getReport()])).toEqual([1, 1]);
    expect(checks).toBe(1);
  });

  test('stop ends the checks, and the last report stays', async () => {
    const running = aRefresher();
    running.start();
    await running.getReport();
    running.stop();
    clock.advance(600_000);
    expect([await running.getReport(), checks]).toEqual([1, 1]);
  });

  test('a stopped one can start again', async () => {
    const running = aRefresher();
    running.start();
    await running.getReport();
    running.stop();
    running.start();
    expect(checks).toBe(2);
  });

  test('before the first start there is no report, and no check is made for one', async () => {
    expect([await aRefresher().getReport(), checks]).toEqual([null, 0]);
  });

  test('a check that fails is logged and tried again at the next interval', async () => {
    const running = aRefresher({
      check: () => {
        checks += 1;
        return checks === 1 ? Promise.reject(new Error('no')) : Promise.resolve(checks);
      },
    });
    running.start();
    (await clock.nextSleep()).wake();
    await clock.nextSleep();
    expect([log, await running.getReport()]).toEqual([[['health check fails', { reason: 'no' }]], 2]);
  });
});
