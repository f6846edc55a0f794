import { describe, expect, test } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock, type Clock } from '../runtime/clock.ts';
import { silentLogger, type Logger } from '../runtime/logger.ts';
import { KubeError } from './client.ts';
import { WorkQueue, type WorkObserver, type WorkQueueOptions } from './work-queue.ts';
import { until } from '../testing/time/until.ts';

function queueOf(work: WorkQueueOptions['work'], options: Partial<WorkQueueOptions> = {}) {
  return new WorkQueue({ name: 'test', work, logger: silentLogger, ...options });
}

const broken = () => new KubeError({ status: 500, reason: '', message: 'broken', retryAfterMs: null });

describe('a work queue', () => {
  test('processes a key once when it was added several times', async () => {
    const processed: string[] = [];
    const queue = queueOf(async (key) => void processed.push(key));
    for (const key of ['a', 'b', 'a', 'a']) queue.add(key);
    expect(queue.length).toBe(2);
    queue.start();
    await queue.close();
    expect(processed).toEqual(['a', 'b']);
  });

  test('never processes one key concurrently, and processes it once more when it was added meanwhile', async () => {
    let running = 0;
    let most = 0;
    let runs = 0;
    const queue = queueOf(async () => {
      most = Math.max(most, (running += 1));
      await delay(10);
      running -= 1;
      runs += 1;
    });
    queue.start();
    queue.add('a');
    queue.add('a');
    queue.add('a');
    await until(() => runs === 2);
    await delay(30);
    await queue.close();
    expect({ most, runs }).toEqual({ most: 1, runs: 2 });
  });

  test('processes different keys concurrently, up to its limit', async () => {
    let running = 0;
    let most = 0;
    let runs = 0;
    const queue = queueOf(
      async () => {
        most = Math.max(most, (running += 1));
        await delay(5);
        running -= 1;
        runs += 1;
      },
      { concurrency: 3 },
    );
    queue.start();
    for (let index = 0; index < 9; index += 1) queue.add(`key-${index}`);
    await until(() => runs === 9);
    await queue.close();
    expect(most).toBe(3);
  });

  test('retries a failing key with growing delays, and processes others meanwhile', async () => {
    const at: number[] = [];
    const others: string[] = [];
    const queue = queueOf(
      async (key) => {
        if (key !== 'bad') return void others.push(key);
        at.push(performance.now());
        if (at.length < 4) throw new Error('not yet');
      },
      { backoff: { baseMs: 40, maxMs: 10_000 } },
    );
    queue.start();
    queue.add('bad');
    await delay(10);
    queue.add('good');
    await until(() => at.length === 4);
    await queue.close();
    expect(others).toEqual(['good']);
    expect(at).toHaveLength(4);
    const gaps = at.slice(1).map((time, index) => time - (at[index] ?? 0));
    // Half of the delay is random: 20..40, 40..80, 80..160.
    gaps.forEach((gap, index) => expect(gap).toBeGreaterThanOrEqual(20 * 2 ** index - 2));
  });

  test('waits for the Retry-After of the API server', async () => {
    const at: number[] = [];
    const queue = queueOf(
      async () => {
        at.push(performance.now());
        if (at.length === 1)
          throw new KubeError({
            status: 429,
            reason: 'TooManyRequests',
            message: 'slow down',
            retryAfterMs: 150,
          });
      },
      { backoff: { baseMs: 1, maxMs: 1 } },
    );
    queue.start();
    queue.add('a');
    await until(() => at.length === 2);
    await queue.close();
    expect(at).toHaveLength(2);
    expect(at[1]! - at[0]!).toBeGreaterThanOrEqual(148);
  });

  test('tries one key at a time while the API server is unreachable, and all keys soon after it is back', async () => {
    let isUnavailable = true;
    let tries = 0;
    const done = new Set<string>();
    const queue = queueOf(async (key) => {
      tries += 1;
      if (isUnavailable)
        throw new KubeError({ status: 0, reason: '', message: 'unreachable', retryAfterMs: null });
      done.add(key);
    });
    for (let index = 0; index < 200; index += 1) queue.add(`key-${index}`);
    queue.start();
    await delay(1_000);
    // Four keys at once at first; then pauses of at least 100, 200, 400, ... ms, with one attempt after each.
    expect(tries).toBeLessThanOrEqual(15);
    expect(queue.length).toBeGreaterThan(180);
    isUnavailable = false;
    await until(() => done.size === 200);
    await queue.close();
    expect(done.size).toBe(200);
  });

  test('is not delayed by one failing key', async () => {
    let runs = 0;
    const queue = queueOf(async (key) => {
      if (key === 'bad') throw broken();
      runs += 1;
    });
    queue.start();
    queue.add('bad');
    for (let index = 0; index < 100; index += 1) queue.add(`key-${index}`);
    await until(() => runs === 100);
    await queue.close();
    expect(runs).toBe(100);
  });

  test('does not treat a key that fails while others succeed as an outage, and backs off for that key only', async () => {
    let pauses = 0;
    const clock: Clock = { ...systemClock, sleep: () => Promise.resolve(void (pauses += 1)) };
    const waits: number[] = [];
    const warn: Logger['warn'] = (_, fields) => void waits.push(Number(fields?.['retryInMs']));
    let isUnavailable = false;
    let successes = 0;
    const queue = queueOf(
      async (key) => {
        if (key === 'bad' || isUnavailable) throw broken();
        successes += 1;
      },
      { clock, logger: { ...silentLogger, warn }, backoff: { baseMs: 60_000, maxMs: 60_000 * 2 ** 20 } },
    );
    queue.start();
    for (let round = 1; round <= 5; round += 1) {
      queue.add('bad');
      await until(() => waits.length === round);
      queue.add('good');
      await until(() => successes === round);
    }
    // Only the first failure may have been an outage.
    expect(pauses).toBe(1);
    // Half of each delay is random.
    [60_000, 60_000, 120_000, 240_000, 480_000].forEach((longest, index) => {
      expect(waits[index]).toBeGreaterThanOrEqual(longest / 2);
      expect(waits[index]).toBeLessThanOrEqual(longest);
    });
    isUnavailable = true;
    queue.add('good');
    await until(() => waits.length === 6);
    await queue.close();
    expect(pauses).toBe(2);
  });

  test('requeues a key when its work requests this, and the earlier time applies', async () => {
    let runs = 0;
    const queue = queueOf(async () => {
      runs += 1;
      return runs === 1 ? { requeueAfterMs: 20 } : undefined;
    });
    queue.start();
    queue.addAfter('a', 10_000);
    queue.addAfter('a', 5);
    queue.addAfter('a', 10_000);
    await until(() => runs === 2);
    await queue.close();
    expect(runs).toBe(2);
  });

  test('reports each processed key with its outcome', async () => {
    const outcomes: string[] = [];
    const observe: WorkObserver = {
      created: (queue, concurrency) => outcomes.push(`${queue} ${concurrency}`),
      added: (queue) => outcomes.push(`${queue} added`),
      began: (queue, key) => outcomes.push(`${queue} began ${key}`),
      done: ({ queue, key, outcome }) => outcomes.push(`${queue} ${key} ${outcome}`),
    };
    const queue = queueOf(
      async (key) => {
        if (key === 'bad') throw new Error('no');
        return key === 'later' ? { requeueAfterMs: 10_000 } : undefined;
      },
      { observe, concurrency: 1, backoff: { baseMs: 10_000, maxMs: 10_000 } },
    );
    queue.start();
    for (const key of ['good', 'later', 'bad']) queue.add(key);
    queue.add('bad');
    await until(() => outcomes.length === 10);
    await queue.close();
    expect(outcomes).toEqual([
      ...['test 1', 'test added', 'test began good', 'test added', 'test added'],
      ...['test good success', 'test began later', 'test later requeue_after'],
      ...['test began bad', 'test bad error'],
    ]);
  });

  test('aborts running work on close, and accepts no keys afterwards', async () => {
    const processed: string[] = [];
    const queue = queueOf(async (key, signal) => {
      processed.push(key);
      await delay(10_000, undefined, { signal }).catch(() => undefined);
    });
    queue.start();
    queue.add('a');
    await until(() => processed.length === 1);
    await queue.close();
    queue.add('b');
    queue.addAfter('c', 1);
    await delay(10);
    expect(processed).toEqual(['a']);
  });

  test('a namespace with slow keys and many waiting keys does not delay the keys of others', async () => {
    const began: string[] = [];
    const ends = new Map<string, () => void>();
    const work = (key: string) => {
      began.push(key);
      return new Promise<undefined>((resolve) => ends.set(key, () => resolve(undefined)));
    };
    const queue = queueOf(work, { namespaceOf: (key) => key.split('/')[0] ?? '' });
    queue.start();
    for (let index = 0; index < 10; index += 1) queue.add(`flood/${index}`);
    expect(began).toEqual(['flood/0', 'flood/1', 'flood/2', 'flood/3']);
    queue.add('team/a');
    queue.add('team/b');
    expect(began.at(-1)).toBe('team/a');
    expect(queue.length).toBe(7);
    ends.get('flood/0')?.();
    await until(() => began.length === 6);
    // The namespaces take turns.
    ends.get('flood/1')?.();
    await until(() => began.length === 7);
    expect(began.slice(5).sort()).toEqual(['flood/4', 'team/b']);
    const closed = queue.close();
    for (const end of ends.values()) end();
    await closed;
  });
});
