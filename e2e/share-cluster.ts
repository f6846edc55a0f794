// Jest's globalSetup: starts one cluster for all suites of a run. Each suite installs its own release into its own namespace.
import { closeAtTheEnd } from './close-shared.ts';
import { SHARED, startOwnCluster } from './cluster/cluster.ts';

export default async function shareCluster(): Promise<void> {
  if ((process.env['E2E_KUBECONFIG'] ?? '') !== '') return;
  const { cluster, running } = await startOwnCluster(process.env);
  process.env[SHARED] = running;
  closeAtTheEnd(cluster.close);
}
