import { expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { heapBytesOf, NamespaceBudget } from './namespace-budget.ts';

const objectOf = (namespace: string, letters: number) => ({
  metadata: { name: 'x', namespace, note: 'x'.repeat(letters) },
});

test('admits objects of a namespace up to its size, independent of other namespaces', () => {
  const full: string[] = [];
  const budget = new NamespaceBudget(heapBytesOf(objectOf('n', 100)) * 2, (namespace) =>
    full.push(namespace),
  );
  expect([1, 2, 3, 4].map(() => budget.admits(objectOf('n', 100)))).toEqual([true, true, false, false]);
  expect(budget.admits(objectOf('m', 100))).toBe(true);
  expect(full).toEqual(['n']);
  budget.release(objectOf('n', 100));
  expect(budget.admits(objectOf('n', 100))).toBe(true);
  expect([...budget.full]).toEqual(['n']);
});

test('the estimated size of objects is not much less than their part of the heap', () => {
  const program = 'testing/processes/heap-sizes.ts';
  const output = execFileSync(process.execPath, ['--expose-gc', program], { encoding: 'utf8' });
  const parts = JSON.parse(output) as [kind: string, part: number][];
  expect(parts).toHaveLength(6);
  expect(parts.filter(([, part]) => !(part > 0.75 && part < 100))).toEqual([]);
});
