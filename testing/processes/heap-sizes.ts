// Prints for each kind of object its estimated size as part of the heap that it takes. A process of its own, because a garbage
// collection of the process of a test takes a second. Needs --expose-gc.
import { heapBytesOf } from '../../kube/namespace-budget.ts';

let salt = 0;
/** Names that no other object has. */
const entries = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${(salt += 1)}-${index}`, `v${salt}`]));

const KINDS: Readonly<Record<string, () => unknown>> = {
  'labels of one object': () => ({ labels: entries(10) }),
  'many labels': () => ({ labels: entries(8_000) }),
  'a selector': () => ({ spec: { selector: entries(100) } }),
  ports: () => Array.from({ length: 1_000 }, (_, port) => ({ port, targetPort: `port-${port}` })),
  text: () => ({ note: 'x'.repeat(4_000) }),
  'text outside Latin-1': () => ({ note: `${'x'.repeat(4_000)}\u6f22` }),
};

function usedHeap(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

function partOf(make: () => unknown): number {
  const count = Math.ceil(4_000_000 / heapBytesOf(make()));
  const before = usedHeap();
  const parsed = Array.from({ length: count }, () => JSON.parse(JSON.stringify(make())) as unknown);
  const used = usedHeap() - before;
  return parsed.reduce<number>((sum, value) => sum + heapBytesOf(value), 0) / used;
}

const parts = Object.entries(KINDS).map(([kind, make]) => [kind, partOf(make)]);
process.stdout.write(JSON.stringify(parts));
