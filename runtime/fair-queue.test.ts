import { expect, test } from '@jest/globals';
import { FairQueue } from './fair-queue.ts';

const { signal } = new AbortController();

/** Adds tasks that record their names, each of which ends when the test calls `end`. */
function recorded(queue: FairQueue) {
  const started: string[] = [];
  const ends: (() => void)[] = [];
  return {
    started,
    add: (key: string, name: string, of = signal) =>
      queue.run(key, of, () => {
        started.push(name);
        return new Promise<string>((resolve) => ends.push(() => resolve(name)));
      }),
    end: () => ends.shift()?.(),
  };
}

test('runs one task at a time, those of different keys in turns', async () => {
  const { started, add, end } = recorded(new FairQueue({ waiting: 10, ofOneKey: 10 }));
  const results = [add('a', 'a1'), add('a', 'a2'), add('a', 'a3'), add('b', 'b1'), add('c', 'c1')];
  for (let ended = 0; ended < 4; ended += 1) {
    expect(started).toHaveLength(ended + 1);
    end();
    while (started.length === ended + 1) await Promise.resolve();
  }
  end();
  expect(await Promise.all(results)).toEqual(['a1', 'a2', 'a3', 'b1', 'c1']);
  expect(started).toEqual(['a1', 'a2', 'b1', 'c1', 'a3']);
});

test('continues after a failed task, and does not run an aborted task', async () => {
  const queue = new FairQueue({ waiting: 10, ofOneKey: 10 });
  const { started, add, end } = recorded(queue);
  const gone = new AbortController();
  const failed = queue.run('a', signal, () => Promise.reject(new Error('broken')));
  const left = add('a', 'left', gone.signal);
  const last = add('a', 'last');
  gone.abort();
  await expect(failed).rejects.toThrow('broken');
  expect(await left).toBeNull();
  end();
  expect([await last, started]).toEqual(['last', ['last']]);
});

test('refuses more tasks than may wait', async () => {
  const { add, end } = recorded(new FairQueue({ waiting: 1, ofOneKey: 1 }));
  const [first, second] = [add('a', '1'), add('a', '2')];
  expect(await add('b', '3')).toBeNull();
  end();
  await first;
  await Promise.resolve();
  end();
  expect(await second).toBe('2');
});

test('refuses more tasks of one key than may wait, not those of other keys', async () => {
  const { add, end, started } = recorded(new FairQueue({ waiting: 10, ofOneKey: 1 }));
  const first = add('a', 'a1');
  const waiting = add('a', 'a2');
  expect(await add('a', 'a3')).toBeNull();
  const other = add('b', 'b1');
  for (const task of [first, waiting, other]) {
    end();
    await task;
    await Promise.resolve();
  }
  expect(started).toEqual(['a1', 'a2', 'b1']);
});
