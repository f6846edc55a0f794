import { expect, test } from '@jest/globals';
import { CAPACITY, inOrder, SUITES, suitesOf, type Suite } from './test-suites.ts';

/** Runs suites that end on command; reports which suites are running. */
function rig(suites: readonly Suite[], isStopped?: () => boolean) {
  const ends = new Map<string, () => void>();
  const done = inOrder(
    suites,
    ({ name }) =>
      new Promise<void>((resolve) =>
        ends.set(name, () => {
          ends.delete(name);
          resolve();
        }),
      ),
    isStopped,
  );
  return {
    done,
    running: () => [...ends.keys()],
    end: async (name: string) => {
      ends.get(name)?.();
      await new Promise(setImmediate);
    },
  };
}

const suite = (name: string, more: Partial<Suite> = {}): Suite => ({ name, group: 'g', ...more });

test('runs as many suites as the capacity allows, in the order of the table', async () => {
  const { running, end, done } = rig([suite('a'), suite('b'), suite('c')]);
  expect(running()).toEqual(['a', 'b']);
  await end('b');
  expect(running()).toEqual(['a', 'c']);
  await end('a');
  await end('c');
  await done;
});

test('a suite waits for the suites in `after`, and other suites start earlier', async () => {
  const { running, end, done } = rig([suite('a'), suite('late', { after: ['a', 'absent'] }), suite('b')]);
  expect(running()).toEqual(['a', 'b']);
  await end('a');
  expect(running()).toEqual(['b', 'late']);
  await end('b');
  await end('late');
  await done;
});

test('a suite that needs the whole capacity runs alone and is not overtaken', async () => {
  const { running, end, done } = rig([suite('a'), suite('whole', { load: CAPACITY }), suite('b')]);
  expect(running()).toEqual(['a']);
  await end('a');
  expect(running()).toEqual(['whole']);
  await end('whole');
  expect(running()).toEqual(['b']);
  await end('b');
  await done;
});

test('starts no suite after a stop', async () => {
  let isStopped = false;
  const { running, end, done } = rig([suite('a', { load: CAPACITY }), suite('b')], () => isStopped);
  isStopped = true;
  await end('a');
  await done;
  expect(running()).toEqual([]);
});

test('rejects suites that wait for each other', async () => {
  const suites = [suite('a', { after: ['b'] }), suite('b', { after: ['a'] })];
  await expect(rig(suites).done).rejects.toThrow('suites wait for each other: a, b');
});

test('each suite has one command, waits only for suites of the table, and fits into the capacity', () => {
  const names = SUITES.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  for (const { command, jest, after = [], load = 1 } of SUITES) {
    expect([command, jest].filter((each) => each !== undefined)).toHaveLength(1);
    expect(names).toEqual(expect.arrayContaining([...after]));
    expect(load).toBeLessThanOrEqual(CAPACITY);
  }
});

test('selects a group with the groups it requires, and rejects an unknown group', () => {
  expect(suitesOf(undefined)).toBe(SUITES);
  expect(suitesOf('unit').map(({ name }) => name)).toEqual(['unit']);
  expect(suitesOf('e2e').map(({ name }) => name)).toEqual([
    'build',
    'cluster binaries',
    'images',
    'product in the cluster',
    'permissions',
  ]);
  expect(() => suitesOf('units')).toThrow(
    '--only=units: must be one of check, integration, build, cluster, unit, e2e',
  );
});
