import { describe, expect, test } from '@jest/globals';
import { fakeClusterOfEachTest } from '../testing/cluster/fake-cluster.ts';
import type { Resource } from './resources.ts';
import { StatusWriter, type StatusWriterOptions } from './status-writer.ts';
import type { KubeObject } from './types.ts';

interface Status {
  counts?: Record<string, number>;
  total?: number;
}
interface Thing extends KubeObject {
  status?: Status;
}

const THINGS: Resource<Thing> = { group: 'test.io', version: 'v1', plural: 'things', kind: 'Thing' };
const PATH = '/apis/test.io/v1/namespaces/n/things';
const KEY = { namespace: 'n', name: 'x' };

const cluster = fakeClusterOfEachTest();

const writerOf = (options: Partial<StatusWriterOptions<Thing>> = {}): StatusWriter<Thing, Status> =>
  new StatusWriter<Thing, Status>({
    client: cluster.client,
    resource: THINGS,
    fieldManager: 'test',
    ...options,
  });
const patches = () => cluster.server.requests.filter((request) => request.method === 'PATCH');

/** An aggregate that is wrong as soon as one write is lost. */
const counted =
  (name: string) =>
  (thing: Thing): Status => {
    const counts = { ...thing.status?.counts, [name]: (thing.status?.counts?.[name] ?? 0) + 1 };
    return { counts, total: Object.values(counts).reduce((sum, count) => sum + count, 0) };
  };

describe('the status writer', () => {
  test('sends the difference with the resourceVersion it was computed from', async () => {
    cluster.server.put(PATH, { metadata: { name: 'x' }, status: { counts: { a: 1, gone: 1 }, total: 2 } });
    const before = cluster.server.get(`${PATH}/x`)!.metadata.resourceVersion;
    const result = await writerOf().write(KEY, () => ({ counts: { a: 2 }, total: 2 }));
    expect(result).toMatchObject({ outcome: 'written', object: { status: { counts: { a: 2 }, total: 2 } } });
    expect(patches()).toMatchObject([
      {
        headers: { 'content-type': 'application/merge-patch+json' },
        body: { metadata: { resourceVersion: before }, status: { counts: { a: 2, gone: null } } },
      },
    ]);
    expect(patches()[0]?.url.pathname).toBe(`${PATH}/x/status`);
    expect(patches()[0]?.url.searchParams.get('fieldManager')).toBe('test');
    expect(cluster.server.get(`${PATH}/x`)?.['status']).toEqual({ counts: { a: 2 }, total: 2 });
  });

  test.each([
    ['an equal status', () => ({ total: 2 })],
    ['an update that returns null', () => null],
  ])('writes nothing for %s', async (_, update) => {
    cluster.server.put(PATH, { metadata: { name: 'x' }, status: { total: 2 } });
    expect(await writerOf().write(KEY, update)).toMatchObject({ outcome: 'unchanged' });
    expect(patches()).toEqual([]);
  });

  test('returns `missing` when the object does not exist', async () => {
    expect(await writerOf().write(KEY, () => ({ total: 1 }))).toEqual({ outcome: 'missing' });
  });

  test('merges updates that wait for one object into one write', async () => {
    cluster.server.put(PATH, { metadata: { name: 'x' } });
    const writer = writerOf();
    await Promise.all(Array.from({ length: 50 }, (_, index) => writer.write(KEY, counted(`k${index}`))));
    expect(cluster.server.get(`${PATH}/x`)?.['status']).toMatchObject({ total: 50 });
    expect(patches()).toHaveLength(1);
  });

  test('loses no update when eight processes write one object', async () => {
    cluster.server.put(PATH, { metadata: { name: 'x' } });
    const names = Array.from({ length: 8 }, (_, index) => `writer-${index}`);
    await Promise.all(
      names.map(async (name) => {
        const writer = writerOf();
        for (let index = 0; index < 5; index += 1) await writer.write(KEY, counted(name));
      }),
    );
    const counts = Object.fromEntries(names.map((name) => [name, 5]));
    expect(cluster.server.get(`${PATH}/x`)?.['status']).toEqual({ counts, total: 40 });
  });

  test('rejects when the API server returns an error, and works again afterwards', async () => {
    cluster.server.put(PATH, { metadata: { name: 'x' } });
    const body = { kind: 'Status', reason: 'Invalid', message: 'spec.total: Invalid value' };
    cluster.server.fail({ when: ({ method }) => method === 'PATCH', response: { status: 422, body } });
    const writer = writerOf();
    await expect(writer.write(KEY, counted('a'))).rejects.toMatchObject({
      status: 422,
      message: 'spec.total: Invalid value',
    });
    expect(await writer.write(KEY, counted('a'))).toMatchObject({ outcome: 'written' });
  });

  test('does not let objects that always conflict delay another object', async () => {
    const names = Array.from({ length: 8 }, (_, index) => `busy-${index}`);
    for (const name of [...names, 'x']) cluster.server.put(PATH, { metadata: { name } });
    let conflicts = 0;
    const waits = Promise.withResolvers<void>();
    const clock = { now: () => new Date(), monotonicMs: () => 0, sleep: () => waits.promise };
    const all = Promise.withResolvers<void>();
    const onConflict = () => ((conflicts += 1) === 8 ? all.resolve() : undefined);
    const body = { kind: 'Status', reason: 'Conflict', message: 'modified' };
    for (const name of names)
      cluster.server.fail({
        when: ({ method, url }) => method === 'PATCH' && url.pathname.includes(`${name}/`),
        response: { status: 409, body },
      });
    const writer = writerOf({ clock, onConflict });
    const busy = names.map((name) => writer.write({ ...KEY, name }, counted('a')));
    await all.promise;
    expect(await writer.write(KEY, counted('a'))).toMatchObject({ outcome: 'written' });
    waits.resolve();
    await Promise.all(busy);
  });
});
