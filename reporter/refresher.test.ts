import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { ManualClock } from '../testing/time/manual-clock.ts';
import { Refresher, type RefresherOptions } from './refresher.ts';

let clock: ManualClock;
let log: unknown[];
let checks: number;
let refresher: Refresher<number>;

function aRefresher(overrides: Partial<RefresherOptions<number>> = {}): Refresher<number> {
  refresher = new Refresher<number>({
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

/** Waits until running checks are complete. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface Row {
  state: 'stopped' | 'running';
  trigger: 'start()' | 'getReport()' | 'stop()';
  condition: string;
  next: 'stopped' | 'running';
  effect: string;
  /** Brings the refresher into the state and runs the trigger; resolves with the observable effect. */
  run(of: Refresher<number>): Promise<unknown>;
  expected: unknown;
}

/** The contract's table, row by row. Whether another check runs after an interval shows the `next` state. */
const ROWS: readonly Row[] = [
  {
    state: 'stopped',
    trigger: 'start()',
    condition: '',
    next: 'running',
    effect: 'first check fires immediately, non-blocking; background refresh every refreshIntervalMs',
    run: async (of) => {
      of.start();
      const immediately = checks;
      const { ms } = await clock.nextSleep();
      return { immediately, ms };
    },
    expected: { immediately: 1, ms: 30_000 },
  },
  {
    state: 'running',
    trigger: 'start()',
    condition: '',
    next: 'running',
    effect: 'idempotent',
    run: async (of) => {
      of.start();
      of.start();
      await clock.nextSleep();
      return checks;
    },
    expected: 1,
  },
  {
    state: 'running',
    trigger: 'getReport()',
    condition: 'cached report older than staleAfterMs',
    next: 'running',
    effect: 'synchronous re-check',
    run: async (of) => {
      of.start();
      const first = await of.getReport();
      clock.advance(60_001);
      const renewed = await of.getReport();
      await clock.nextSleep();
      return { first, renewed };
    },
    expected: { first: 1, renewed: 2 },
  },
  {
    state: 'running',
    trigger: 'stop()',
    condition: '',
    next: 'stopped',
    effect: 'timer cleared',
    run: async (of) => {
      of.start();
      const sleep = await clock.nextSleep();
      of.stop();
      sleep.wake();
      await settled();
      return checks;
    },
    expected: 1,
  },
  {
    state: 'stopped',
    trigger: 'getReport()',
    condition: '',
    next: 'stopped',
    effect: 'returns the last cached report, no new checks',
    run: async (of) => {
      of.start();
      await of.getReport();
      of.stop();
      clock.advance(600_000);
      return { report: await of.getReport(), checks };
    },
    expected: { report: 1, checks: 1 },
  },
];

describe('Reporter lifecycle of the contract', () => {
  test.each(ROWS)('$state | $trigger | $condition | $next | $effect', async (row) => {
    const refresher = aRefresher();
    expect(await row.run(refresher)).toEqual(row.expected);
    const before = checks;
    clock.advance(60_001);
    await refresher.getReport();
    expect(checks - before).toBe(row.next === 'running' ? 1 : 0);
  });
});

describe('the lifecycle of the reporter', () => {
  test('start runs the first check without waiting for it, and one more per interval', async () => {
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

  test.each([
    ['as old as the limit', 60_000, 1],
    ['older than the limit', 60_001, 2],
  ])('getReport with a report %s: %i ms returns report %i', async (_name, ageMs, report) => {
    const running = aRefresher();
    running.start();
    await running.getReport();
    clock.advance(ageMs);
    expect(await running.getReport()).toBe(report);
  });

  test('concurrent getReport calls share one check', async () => {
    const running = aRefresher();
    running.start();
    expect(await Promise.all([running.getReport(), running.getReport()])).toEqual([1, 1]);
    expect(checks).toBe(1);
  });

  test('a stopped refresher can start again', async () => {
    const running = aRefresher();
    running.start();
    await running.getReport();
    running.stop();
    running.start();
    expect(checks).toBe(2);
  });

  test('getReport before the first start returns null and runs no check', async () => {
    expect([await aRefresher().getReport(), checks]).toEqual([null, 0]);
  });

  test('a failed check is logged and repeated after the interval', async () => {
    const running = aRefresher({
      check: () => {
        checks += 1;
        return checks === 1 ? Promise.reject(new Error('no')) : Promise.resolve(checks);
      },
    });
    running.start();
    (await clock.nextSleep()).wake();
    await clock.nextSleep();
    expect([log, await running.getReport()]).toEqual([
      [['failed to create health report, retrying', { reason: 'no' }]],
      2,
    ]);
  });
});
