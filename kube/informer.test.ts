import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../runtime/clock.ts';
import { silentLogger } from '../runtime/logger.ts';
import { startFakeApiServer, type FakeApiServer } from '../testing/fake-api-server.ts';
import { holdTimers } from '../testing/held-timers.ts';
import { ManualClock } from '../testing/manual-clock.ts';
import { aMoment } from '../testing/moment.ts';
import { createKubeClient, type KubeClient } from './client.ts';
import { createInformer, type Informer, type InformerOptions } from './informer.ts';
import { PODS } from './resources.ts';
import type { Pod } from './types.ts';

const PATH = '/api/v1/pods';
const pod = (name: string, labels: Record<string, string> = {}) => ({
  metadata: { name, namespace: 'n', labels },
});
/** Longer than any test takes, in held time too. */
const NEVER_MS = 3_600_000;
const isList = (request: { url: URL }) => request.url.searchParams.has('limit');
const isWatch = (request: { url: URL }) => request.url.searchParams.has('watch');

let server: FakeApiServer;
let client: KubeClient;
let informer: Informer<Pod>;
let changes: string[];

beforeEach(async () => {
  server = await startFakeApiServer();
  client = createKubeClient({ access: server.access, part: 'test' });
  changes = [];
});

afterEach(async () => {
  await informer.close();
  await client.close();
  await server.close();
});

function start(options: Partial<InformerOptions<Pod>> = {}): void {
  informer = createInformer({
    client,
    resource: PODS,
    logger: silentLogger,
    clock: systemClock,
    onChange: (change) => changes.push(`${change.type} ${change.object.metadata.name}`),
    timing: { backoff: { baseMs: 20, maxMs: 100 } },
    ...options,
  });
  informer.start();
}

async function until(condition: () => boolean): Promise<void> {
  const end = performance.now() + 30_000;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`not in half a minute; changes: ${changes.join(', ')}`);
    await delay(5);
  }
}

/** Advances held time with `pass` until the condition is true. */
async function inTime(condition: () => boolean, pass: () => Promise<void>): Promise<void> {
  const end = performance.now() + 30_000;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`not in half a minute; changes: ${changes.join(', ')}`);
    await pass();
    await delay(5);
  }
}

const names = () => informer.list().map((object) => object.metadata.name);
const countOf = (is: (request: { url: URL }) => boolean) => server.requests.filter(is).length;

describe('an informer', () => {
  test('lists in pages, then follows what is added, changed and deleted without another list', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) server.put(PATH, pod(name));
    start({ selection: { pageSize: 2, labelSelector: 'x=y' } });
    await informer.synced();
    expect(names()).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(countOf(isList)).toBe(3);

    await until(() => server.watches().length === 1);
    server.put(PATH, pod('f'));
    server.put(PATH, pod('a', { changed: 'yes' }));
    server.remove(PATH, 'b');
    await until(() => changes.length === 8);
    expect(changes.slice(5)).toEqual(['added f', 'modified a', 'deleted b']);
    expect(informer.get({ namespace: 'n', name: 'a' })?.metadata.labels).toEqual({ changed: 'yes' });
    expect(informer.get({ namespace: 'n', name: 'b' })).toBeUndefined();
    expect(countOf(isList)).toBe(3);
    const watch = server.requests.find(isWatch)!.url.searchParams;
    expect(watch.get('labelSelector')).toBe('x=y');
    expect(watch.get('allowWatchBookmarks')).toBe('true');
    expect(watch.get('limit')).toBeNull();
  });

  test('keeps only what it is told to keep', async () => {
    server.put(PATH, { ...pod('a'), spec: { containers: [] } });
    start({ keep: ({ metadata }) => ({ metadata }) });
    await informer.synced();
    expect(Object.keys(informer.list()[0]!)).toEqual(['metadata']);
  });

  test('holds nothing of an object that is not to be kept, and forgets one that no longer is', async () => {
    server.put(PATH, pod('a'));
    server.put(PATH, pod('b', { wanted: 'yes' }));
    start({
      keep: (each) => (each.metadata.labels?.['wanted'] === 'yes' ? each : null),
      selection: { only: 'metadata' },
    });
    await until(() => server.watches().length === 1);
    expect(names()).toEqual(['b']);
    server.put(PATH, pod('c'));
    server.put(PATH, pod('a', { wanted: 'yes' }));
    server.put(PATH, pod('b'));
    await until(() => changes.length === 3);
    expect(changes).toEqual(['added b', 'added a', 'deleted b']);
    expect(names()).toEqual(['a']);
    const asked = server.requests.map(({ headers }) => headers.accept);
    const as = (kind: string) => `application/json;as=${kind};g=meta.k8s.io;v=v1,application/json`;
    expect(new Set(asked)).toEqual(new Set([as('PartialObjectMetadataList'), as('PartialObjectMetadata')]));
  });

  test('goes on where it was when a watch is cut, and misses nothing', async () => {
    start();
    await until(() => server.watches().length === 1);
    server.put(PATH, pod('a'));
    await until(() => changes.length === 1);
    server.watches()[0]!.destroy();
    server.put(PATH, pod('b'));
    server.remove(PATH, 'a');
    await until(() => changes.length === 3);
    expect(changes).toEqual(['added a', 'added b', 'deleted a']);
    expect(countOf(isList)).toBe(1);
  });

  test('goes on from the last bookmark', async () => {
    start();
    await until(() => server.watches().length === 1);
    server.say({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '4711' } } });
    server.watches()[0]!.end();
    await until(() => countOf(isWatch) >= 2);
    const last = server.requests.findLast(isWatch)!;
    expect(last.url.searchParams.get('resourceVersion')).toBe('4711');
    expect(changes).toEqual([]);
  });

  test('lists again when its version is too old (410), and reports what changed meanwhile', async () => {
    server.put(PATH, pod('a'));
    server.put(PATH, pod('b'));
    start();
    await until(() => server.watches().length === 1);
    server.fail({ when: isWatch, answer: { status: 500 } });
    server.watches()[0]!.destroy();
    server.remove(PATH, 'a');
    server.put(PATH, pod('b', { changed: 'yes' }));
    server.put(PATH, pod('c'));
    server.forget();
    await until(() => changes.length === 5);
    expect(changes.slice(2).sort()).toEqual(['added c', 'deleted a', 'modified b']);
    expect(countOf(isList)).toBe(2);
  });

  test('lists again when a running watch says that its version is too old', async () => {
    server.put(PATH, pod('a'));
    start();
    await until(() => server.watches().length === 1);
    server.say({
      type: 'ERROR',
      object: { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' },
    });
    await until(() => countOf(isList) === 2);
    await until(() => countOf(isWatch) >= 2);
    expect(changes).toEqual(['added a']);
  });

  test('begins the list anew when a page token expires', async () => {
    for (const name of ['a', 'b', 'c']) server.put(PATH, pod(name));
    server.fail({
      when: ({ url }) => url.searchParams.has('continue'),
      answer: { status: 410, body: { kind: 'Status', reason: 'Expired', message: 'token expired' } },
    });
    start({ selection: { pageSize: 2 } });
    await informer.synced();
    expect(names()).toEqual(['a', 'b', 'c']);
  });

  test('breaks off a watch that is not answered, and goes on', async () => {
    start({ timing: { openMs: 150, backoff: { baseMs: 10, maxMs: 50 } } });
    server.fail({ when: isWatch, answer: 'hang' });
    await informer.synced();
    server.put(PATH, pod('a'));
    await until(() => changes.length === 1);
    expect(countOf(isWatch)).toBeGreaterThanOrEqual(2);
  });

  test('breaks off a watch that does not end in time, and misses nothing', async () => {
    using timers = holdTimers();
    const timing = { watchMs: 500, openMs: NEVER_MS, lateMs: 150, backoff: { baseMs: 10, maxMs: 50 } };
    start({ timing });
    server.fail({ when: isWatch, answer: 'silent' });
    await until(() => countOf(isWatch) === 1);
    server.put(PATH, pod('a'));
    await aMoment();
    await timers.pass(1_149);
    await aMoment();
    expect(countOf(isWatch)).toBe(1);
    await inTime(
      () => countOf(isWatch) === 2,
      () => timers.pass(1),
    );
    await until(() => changes.length === 1);
    expect(countOf(isList)).toBe(1);
  });

  test('lists anew when every watch goes silent, so that it follows at least slowly', async () => {
    for (let index = 0; index < 6; index += 1) server.fail({ when: isWatch, answer: 'silent' });
    using timers = holdTimers();
    start({ timing: { watchMs: 500, openMs: NEVER_MS, lateMs: 1, backoff: { baseMs: 1, maxMs: 2 } } });
    await until(() => countOf(isWatch) >= 1);
    server.put(PATH, pod('a'));
    await inTime(
      () => changes.length === 1,
      () => timers.pass(1_001),
    );
    expect(countOf(isWatch)).toBeGreaterThanOrEqual(5);
    expect(countOf(isList)).toBe(2);
  });

  test('does not list anew for a server that does not answer: it has not looked at the version', async () => {
    for (let index = 0; index < 7; index += 1) server.fail({ when: isWatch, answer: 'cut' });
    start({ timing: { backoff: { baseMs: 1, maxMs: 2 } } });
    await until(() => server.watches().length === 1);
    expect(countOf(isList)).toBe(1);
  });

  test('is fresh once it has listed, and no longer when it could not watch for a while', async () => {
    server.fail({ when: isList, answer: 'cut' });
    let nowMs = 0;
    const clock = { ...systemClock, monotonicMs: () => nowMs };
    start({ clock, timing: { freshMs: 200, backoff: { baseMs: 10, maxMs: 20 } } });
    expect(informer.isFresh()).toBe(false);
    await informer.synced();
    expect(informer.isFresh()).toBe(true);
    server.away(true);
    nowMs += 199;
    expect(informer.isFresh()).toBe(true);
    nowMs += 1;
    expect(informer.isFresh()).toBe(false);
  });

  test('stays fresh while quiet watches end in time, and does not once they are open and silent', async () => {
    using timers = holdTimers();
    let nowMs = 0;
    const clock = { ...systemClock, monotonicMs: () => nowMs };
    const pass = (): Promise<void> => {
      nowMs += 500;
      return timers.pass(500);
    };
    start({ clock, timing: { watchMs: 500, openMs: NEVER_MS, freshMs: 15_000 } });
    await inTime(
      () => countOf(isWatch) >= 20,
      // Held time advances only while a watch is open.
      async () => {
        if (server.watches().length > 0) await pass();
      },
    );
    expect(nowMs).toBeGreaterThan(15_000);
    expect(informer.isFresh()).toBe(true);
    await informer.close();
    for (let index = 0; index < 100; index += 1) server.fail({ when: isWatch, answer: 'silent' });
    const timing = { watchMs: 500, openMs: NEVER_MS, lateMs: 1, freshMs: 1_500 };
    start({ clock, timing: { ...timing, backoff: { baseMs: 1, maxMs: 2 } } });
    await informer.synced();
    expect(informer.isFresh()).toBe(true);
    const before = countOf(isWatch);
    await inTime(() => !informer.isFresh() && countOf(isWatch) >= before + 5, pass);
  });

  test('says that it is forbidden until it is not, and does not fill the log with it', async () => {
    const warnings: number[] = [];
    const warn = (_: string, fields?: Record<string, unknown>) =>
      void warnings.push(Number(fields?.['retryInMs'] ?? -1));
    for (let index = 0; index < 20; index += 1) server.fail({ when: isList, answer: { status: 403 } });
    start({ logger: { ...silentLogger, warn }, timing: { backoff: { baseMs: 1, maxMs: 2 } } });
    await until(() => informer.isForbidden());
    await informer.synced();
    await until(() => server.watches().length === 1);
    // Of the 2nd, 4th, 8th and 16th.
    expect(warnings).toHaveLength(4);
    server.put(PATH, pod('a'));
    await until(() => !informer.isForbidden());
  });

  test('waits as long as a throttling server asks', async () => {
    server.fail({ when: isList, answer: { status: 429, headers: { 'retry-after': '1' } } });
    const clock = new ManualClock('2026-03-01T10:00:00Z');
    start({ clock });
    const rest = await clock.nextSleep();
    expect([rest.ms, countOf(isList)]).toEqual([1_000, 1]);
    rest.wake();
    await informer.synced();
    expect(countOf(isList)).toBe(2);
  });

  test('does not spin on a server that ends every watch at once', async () => {
    for (let index = 0; index < 100; index += 1)
      server.fail({
        when: isWatch,
        answer: { status: 200, body: { type: 'BOOKMARK', object: { metadata: {} } } },
      });
    const rests: number[] = [];
    const clock = {
      ...systemClock,
      // However long an exchange takes: the watch ended at once.
      monotonicMs: () => 0,
      sleep: (ms: number, signal?: AbortSignal) => {
        rests.push(ms);
        return systemClock.sleep(1, signal);
      },
    };
    start({ clock, timing: { backoff: { baseMs: 100, maxMs: 100 } } });
    await until(() => countOf(isWatch) >= 6);
    expect(rests.length).toBeGreaterThanOrEqual(5);
    for (const ms of rests) expect(ms >= 50 && ms <= 100).toBe(true);
  });

  test('lists anew after several failures in a row, since the server may have lost the version it asks for', async () => {
    for (let index = 0; index < 5; index += 1)
      server.fail({ when: isWatch, answer: { status: 504, body: { kind: 'Status', message: 'too large' } } });
    start({ timing: { backoff: { baseMs: 5, maxMs: 10 } } });
    await until(() => server.watches().length === 1);
    expect(countOf(isList)).toBe(2);
  });

  test('survives a line that is no JSON', async () => {
    start();
    await until(() => server.watches().length === 1);
    server.watches()[0]!.write('{"type": "ADD\n');
    await until(() => countOf(isWatch) >= 2);
    server.put(PATH, pod('a'));
    await until(() => changes.length === 1);
    expect(names()).toEqual(['a']);
  });

  test('ends its watch when it is closed', async () => {
    start();
    await until(() => server.watches().length === 1);
    await informer.close();
    await until(() => server.watches().length === 0);
    await aMoment();
    expect(countOf(isWatch)).toBe(1);
  });
});
