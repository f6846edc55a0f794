// Jest's globalTeardown: ends the cluster of share-cluster.ts.
export default async function closeCluster(): Promise<void> {
  await (globalThis as { closeSharedCluster?: () => Promise<void> }).closeSharedCluster?.();
}
