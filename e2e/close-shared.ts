// Jest's globalTeardown: stops the cluster or control planes started by share-cluster.ts or share-spares.ts. Jest loads setup
// and teardown separately, so they share the function through globalThis instead of a module.
interface Shared {
  closeShared?: () => Promise<void>;
}

/** Registers the function that the teardown calls. */
export function closeAtTheEnd(close: () => Promise<void>): void {
  (globalThis as Shared).closeShared = close;
}

export default async function closeShared(): Promise<void> {
  await (globalThis as Shared).closeShared?.();
}
