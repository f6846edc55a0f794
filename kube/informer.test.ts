import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { getHeapStatistics } from 'node:v8';
import { systemClock } from '../runtime/clock.ts';
import { silentLogger } from '../runtime/logger.ts';
import { startFakeApiServer, type FakeApiServer } from '../testing/cluster/fake-api-server.ts';
import { holdTimers } from '../testing/time/held-timers.ts';
import { ManualClock } from '../testing/time/manual-clock.ts';
import { aMoment } from '../testing/time/moment.ts';
import { startTcpRelay } from '../testing/http/tcp-relay.ts';
import { KubeClient } from './client.ts';
import { Informer, type InformerOptions } from './informer.ts';
import { PODS } from './resources.ts';
import type { Pod } from './types.ts';
import { until } from '../testing/time/until.ts';

const PATH = '/api/v1/pods';
const pod = (name: string, labels: Record<string, string> = {}) => ({
  metadata: { name, namespace: 'n', labels },
});
/** Longer than any test, also in held time. */
const NEVER_MS = 3_600_000;
const isList = (request: { url: URL }) => request.url.searchParams.has('limit');
const isWatch = (request: { url: URL }) => request.url.searchParams.has('watch');

let server: FakeApiServer;
let client: KubeClient;
let informer: Informer<Pod>;
let changes: string[];

beforeEach(async () => {
  server = await startFakeApiServer();
  client = new KubeClient({ access: server.access, part: 'test' });
  changes = [];
});

afterEach(async () => {
  await informer.close();
  await client.close();
  await server.close();
});

function start(options: Partial<InformerOptions<Pod>> = {}): void {
  informer = new Informer({
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

/** Advances held time with `pass` until the condition is true. */
async function inTime(condition: () => boolean, pass: () => Promise<void>): Promise<void> {
  const end = performance.now() + 120_000;
  while (!condition()) {
    if (performance.now() > end)
      throw new Error(`condition not met within 2 minutes; changes: ${changes.join(', ')}`);
    await pass();
    await delay(5);
  }
}

const names = () => informer.list().map((object) => object.metadata.name);
const countOf = (is: (request: { url: URL }) => boolean) => server.requests.filter(is).length;

describe('an informer', () => {
  test('lists in pages, then follows added, changed and deleted objects without another list', async () => {
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

  test('caches only the part that `keep` returns', async () => {
    server.put(PATH, { ...pod('a'), spec: { containers: [] } });
    start({ keep: ({ metadata }) => ({ metadata }) });
    await informer.synced();
    expect(Object.keys(informer.list()[0]!)).toEqual(['metadata']);
  });

  test('lists large objects in smaller pages, and small ones in larger pages again', async () => {
    const note = 'x'.repeat(200_000);
    for (let index = 100; index < 120; index += 1)
      server.put(PATH, { ...pod(`large-${index}`), status: { note } });
    for (let index = 100; index < 160; index += 1) server.put(PATH, pod(`small-${index}`));
    start({ keep: ({ metadata }) => ({ metadata }) });
    await informer.synced();
    expect(names()).toHaveLength(80);
    expect(new Set(names()).size).toBe(80);
    // A page of 100, 25 or 7 large objects has more than a megabyte.
    const limits = server.requests.filter(isList).map(({ url }) => Number(url.searchParams.get('limit')));
    expect(limits).toEqual([100, 25, 7, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 4, 8, 16, 32]);
  });

  test('caches an object that is larger than a page', async () => {
    server.put(PATH, { ...pod('a'), status: { note: 'x'.repeat(2_000_000) } });
    server.put(PATH, pod('b'));
    start();
    await informer.synced();
    expect(names()).toEqual(['a', 'b']);
  });

  test('ignores what exceeds the memory for one namespace, until there is room again', async () => {
    const warnings: unknown[] = [];
    const warn = (message: string, fields?: object) => void warnings.push({ message, ...fields });
    const large = (name: string, namespace = 'n', letters = 30_000) => ({
      metadata: { name, namespace, labels: { note: 'x'.repeat(letters) } },
    });
    server.put(PATH, large('a'));
    server.put(PATH, large('b'));
    server.put(PATH, large('c'));
    server.put(PATH, large('other', 'm'));
    let nowMs = 0;
    const clock = { ...systemClock, monotonicMs: () => nowMs };
    const namespacePart = 100_000 / getHeapStatistics().heap_size_limit;
    start({ clock, namespacePart, logger: { ...silentLogger, warn }, timing: { watchMs: 900 } });
    await until(() => server.watches().length === 1);
    expect(informer.fullNamespaces.size).toBe(0);

    server.put(PATH, large('d'));
    server.put(PATH, large('e', 'm'));
    await until(() => names().includes('e'));
    expect(names()).toEqual(['a', 'b', 'c', 'other', 'e']);
    expect([...informer.fullNamespaces]).toEqual(['n']);
    expect(warnings).toEqual([
      expect.objectContaining({
        message: 'namespace exceeds its part of the memory, objects ignored',
        namespace: 'n',
        resource: 'pods',
      }),
    ]);
    // An object that grows beyond the limit leaves the cache; what it occupied is free.
    server.put(PATH, large('b', 'n', 80_000));
    await until(() => changes.includes('deleted b'));
    server.put(PATH, large('d', 'n', 29_000));
    await until(() => names().includes('d'));

    server.remove(PATH, 'a');
    await until(() => changes.includes('deleted a'));
    expect(countOf(isList)).toBe(1);
    server.put(PATH, large('b', 'n', 31_000));
    await until(() => names().includes('b'));
    nowMs += 60_000;
    server.watches()[0]!.end();
    await until(() => countOf(isList) === 2 && informer.fullNamespaces.size === 0);
    expect(names().sort()).toEqual(['b', 'c', 'd', 'e', 'other']);
  });

  test('does not cache objects for which `keep` returns null, and removes them when that changes', async () => {
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
    const accepted = server.requests.map(({ headers }) => headers.accept);
    const as = (kind: string) => `application/json;as=${kind};g=meta.k8s.io;v=v1,application/json`;
    expect(new Set(accepted)).toEqual(
      new Set([as('PartialObjectMetadataList'), as('PartialObjectMetadata')]),
    );
  });

  test('resumes where a cut watch ended, and misses nothing', async () => {
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

  test('resumes from the last bookmark', async () => {
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
    server.fail({ when: isWatch, response: { status: 500 } });
    server.watches()[0]!.destroy();
    server.remove(PATH, 'a');
    server.put(PATH, pod('b', { changed: 'yes' }));
    server.put(PATH, pod('c'));
    server.forget();
    await until(() => changes.length === 5);
    expect(changes.slice(2).sort()).toEqual(['added c', 'deleted a', 'modified b']);
    expect(countOf(isList)).toBe(2);
  });

  test('lists again when a running watch reports that its version is too old', async () => {
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

  test('restarts the list when a page token expires', async () => {
    for (const name of ['a', 'b', 'c']) server.put(PATH, pod(name));
    server.fail({
      when: ({ url }) => url.searchParams.has('continue'),
      response: { status: 410, body: { kind: 'Status', reason: 'Expired', message: 'token expired' } },
    });
    start({ selection: { pageSize: 2 } });
    await informer.synced();
    expect(names()).toEqual(['a', 'b', 'c']);
  });

  test('aborts a watch that gets no response, and retries', async () => {
    start({ timing: { openMs: 150, backoff: { baseMs: 10, maxMs: 50 } } });
    server.fail({ when: isWatch, response: 'hang' });
    await informer.synced();
    server.put(PATH, pod('a'));
    await until(() => changes.length === 1);
    expect(countOf(isWatch)).toBeGreaterThanOrEqual(2);
  });

  test('aborts a watch that does not end in time, and misses nothing', async () => {
    using timers = holdTimers();
    const timing = { watchMs: 500, openMs: NEVER_MS, lateMs: 150, backoff: { baseMs: 10, maxMs: 50 } };
    start({ timing });
    server.fail({ when: isWatch, response: 'silent' });
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

  test('opens the next watch on a new connection, because the idle ones may be dead too', async () => {
    using timers = holdTimers();
    const { hostname, port } = new URL(server.access.server);
    const relay = await startTcpRelay({ host: hostname, port: Number(port) });
    const access = { ...server.access, server: `http://127.0.0.1:${relay.port}` };
    const distant = new KubeClient({ access, part: 'test' });
    const timing = { watchMs: 500, openMs: NEVER_MS, lateMs: 150, backoff: { baseMs: 10, maxMs: 50 } };
    start({ client: distant, timing });
    await until(() => server.watches().length === 1);
    const get = () => distant.send({ method: 'GET', path: PATH });
    await Promise.all([get(), get(), get()]);
    relay.hang();
    relay.heal();
    server.put(PATH, pod('a'));
    await timers.pass(1_149);
    // In much less time than an idle connection is kept.
    await inTime(
      () => changes.length === 1,
      () => timers.pass(1),
    );
    await informer.close();
    await distant.close();
    await relay.close();
  });

  test('lists again when every watch is silent, so that changes still arrive late', async () => {
    for (let index = 0; index < 6; index += 1) server.fail({ when: isWatch, response: 'silent' });
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

  test('does not list again when the server does not respond, because the server has not checked the version', async () => {
    for (let index = 0; index < 7; index += 1) server.fail({ when: isWatch, response: 'cut' });
    start({ timing: { backoff: { baseMs: 1, maxMs: 2 } } });
    await until(() => server.watches().length === 1);
    expect(countOf(isList)).toBe(1);
  });

  test('is fresh after the first list, and not fresh after a time without a watch', async () => {
    server.fail({ when: isList, response: 'cut' });
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

  test('stays fresh while quiet watches end in time, and is not fresh when they stay open and silent', async () => {
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
    for (let index = 0; index < 100; index += 1) server.fail({ when: isWatch, response: 'silent' });
    const timing = { watchMs: 500, openMs: NEVER_MS, lateMs: 1, freshMs: 1_500 };
    start({ clock, timing: { ...timing, backoff: { baseMs: 1, maxMs: 2 } } });
    await informer.synced();
    expect(informer.isFresh()).toBe(true);
    const before = countOf(isWatch);
    await inTime(() => !informer.isFresh() && countOf(isWatch) >= before + 5, pass);
  });

  test('reports a missing permission until the permission is granted, with few log messages', async () => {
    const warnings: number[] = [];
    const warn = (_: string, fields?: Record<string, unknown>) =>
      void warnings.push(Number(fields?.['retryInMs'] ?? -1));
    for (let index = 0; index < 20; index += 1) server.fail({ when: isList, response: { status: 403 } });
    start({ logger: { ...silentLogger, warn }, timing: { backoff: { baseMs: 1, maxMs: 2 } } });
    await until(() => informer.isForbidden());
    await informer.synced();
    await until(() => server.watches().length === 1);
    // After the 2nd, 4th, 8th and 16th failure.
    expect(warnings).toHaveLength(4);
    server.put(PATH, pod('a'));
    await until(() => !informer.isForbidden());
  });

  test('waits for the Retry-After of a throttling server', async () => {
    server.fail({ when: isList, response: { status: 429, headers: { 'retry-after': '1' } } });
    const clock = new ManualClock('2026-03-01T10:00:00Z');
    start({ clock });
    const pause = await clock.nextSleep();
    expect([pause.ms, countOf(isList)]).toEqual([1_000, 1]);
    pause.wake();
    await informer.synced();
    expect(countOf(isList)).toBe(2);
  });

  test('backs off when the server ends every watch immediately', async () => {
    for (let index = 0; index < 100; index += 1)
      server.fail({
        when: isWatch,
        response: { status: 200, body: { type: 'BOOKMARK', object: { metadata: {} } } },
      });
    const pauses: number[] = [];
    const clock = {
      ...systemClock,
      // The clock stands still, so every watch seems to end immediately.
      monotonicMs: () => 0,
      sleep: (ms: number, signal?: AbortSignal) => {
        pauses.push(ms);
        return systemClock.sleep(1, signal);
      },
    };
    start({ clock, timing: { backoff: { baseMs: 100, maxMs: 100 } } });
    await until(() => countOf(isWatch) >= 6);
    expect(pauses.length).toBeGreaterThanOrEqual(5);
    for (const ms of pauses) expect(ms >= 50 && ms <= 100).toBe(true);
  });

  test('lists again after several consecutive failures, because the server may have lost the requested version', async () => {
    for (let index = 0; index < 5; index += 1)
      server.fail({
        when: isWatch,
        response: { status: 504, body: { kind: 'Status', message: 'too large' } },
      });
    start({ timing: { backoff: { baseMs: 5, maxMs: 10 } } });
    await until(() => server.watches().length === 1);
    expect(countOf(isList)).toBe(2);
  });

  test('recovers from a line that is not valid JSON', async () => {
    start();
    await until(() => server.watches().length === 1);
    server.watches()[0]!.write('{"type": "ADD\n');
    await until(() => countOf(isWatch) >= 2);
    server.put(PATH, pod('a'));
    await until(() => changes.length === 1);
    expect(names()).toEqual(['a']);
  });

  test('ends its watch on close', async () => {
    start();
    await until(() => server.watches().length === 1);
    await informer.close();
    await until(() => server.watches().length === 0);
    await aMoment();
    expect(countOf(isWatch)).toBe(1);
  });
});
