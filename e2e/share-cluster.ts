// Jest's globalSetup: one cluster for all suites of a run. Each suite installs the release that it needs into it, in a
// namespace of its own.
import { closeAtTheEnd } from './close-shared.ts';
import { SHARED, startOwnCluster } from './cluster/cluster.ts';

export default async function shareCluster(): Promise<void> {
  if ((process.env['E2E_KUBECONFIG'] ?? '') !== '') return;
  const { cluster, running } = await startOwnCluster(process.env);
  process.env[SHARED] = running;
  closeAtTheEnd(cluster.close);
}
