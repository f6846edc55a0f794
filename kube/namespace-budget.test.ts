import { expect, test } from '@jest/globals';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
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

test.each<[string, () => unknown]>([
  ['labels of one object', () => ({ labels: entries(10) })],
  ['many labels', () => ({ labels: entries(8_000) })],
  ['a selector', () => ({ spec: { selector: entries(100) } })],
  ['ports', () => Array.from({ length: 1_000 }, (_, port) => ({ port, targetPort: `port-${port}` }))],
  ['text', () => ({ note: 'x'.repeat(4_000) })],
  ['text outside Latin-1', () => ({ note: `${'x'.repeat(4_000)}\u6f22` })],
])('the size of %s is not much less than its part of the heap', (_what, make) => {
  const count = Math.ceil(4_000_000 / heapBytesOf(make()));
  const before = usedHeap();
  const parsed = Array.from({ length: count }, () => JSON.parse(JSON.stringify(make())) as unknown);
  const used = usedHeap() - before;
  const estimated = parsed.reduce<number>((sum, value) => sum + heapBytesOf(value), 0);
  expect(estimated).toBeGreaterThan(0.75 * used);
});

let salt = 0;
/** Names that no other object has. */
const entries = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${(salt += 1)}-${index}`, `v${salt}`]));

function usedHeap(): number {
  // Without this, garbage of the test itself would count.
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
}
