import { expect, test } from '@jest/globals';
import { inTurn } from './in-turn.ts';

test('runs reads of one directory one at a time and reads of two directories in parallel', async () => {
  const events: string[] = [];
  const releases = new Map<string, () => void>();
  const read = (name: string) => async (): Promise<string> => {
    events.push(`${name} starts`);
    await new Promise<void>((resolve) => releases.set(name, resolve));
    events.push(`${name} ends`);
    return name;
  };
  const results = [inTurn('one', read('a')), inTurn('one', read('b')), inTurn('other', read('c'))];
  await new Promise((resolve) => setImmediate(resolve));
  expect(events).toEqual(['a starts', 'c starts']);
  releases.get('a')?.();
  await results[0];
  await new Promise((resolve) => setImmediate(resolve));
  releases.get('b')?.();
  releases.get('c')?.();
  expect(await Promise.all(results)).toEqual(['a', 'b', 'c']);
  expect(events.slice(0, 4)).toEqual(['a starts', 'c starts', 'a ends', 'b starts']);
});

test('a failed read rejects for its caller and does not block the next read', async () => {
  const failed = inTurn('folder', () => Promise.reject(new Error('no')));
  const next = inTurn('folder', () => Promise.resolve(1));
  await expect(failed).rejects.toThrow('no');
  expect(await next).toBe(1);
});
