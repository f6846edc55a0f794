// Jest's globalTeardown: ends what share-cluster.ts or share-spares.ts has started. Jest loads the two apart, so they have the
// function in common and no module.
interface Shared {
  closeShared?: () => Promise<void>;
}

/** What the teardown has to call. */
export function closeAtTheEnd(close: () => Promise<void>): void {
  (globalThis as Shared).closeShared = close;
}

export default async function closeShared(): Promise<void> {
  await (globalThis as Shared).closeShared?.();
}
