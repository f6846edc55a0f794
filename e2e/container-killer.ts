// Kills the processes of a Deployment's containers again and again, as an out-of-memory killer or a crash would.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Cluster } from './cluster/cluster.ts';

/** Only an own cluster's node can be reached. */
export const canKill = (process.env['E2E_KUBECONFIG'] ?? '') === '';

/** However its test ends, it stops after this long. */
const LONGEST_MS = 1_200_000;

export interface Killer {
  /** The kubelet starts them again from now on, with its growing pauses. Throws when the loop broke before. */
  stop(): Promise<void>;
}

/** SIGKILL for the main process of every container `name` in `namespace`, at once whenever the kubelet has started it. */
export async function keepKilling(cluster: Cluster, namespace: string, name: string): Promise<Killer> {
  const folder = await mkdtemp(join(tmpdir(), 'killer-'));
  const filter = `labels."io.kubernetes.container.name"==${name},labels."io.kubernetes.pod.namespace"==${namespace}`;
  // One that has ended already cannot be killed; ctr says so and fails.
  const loop = `while [ -d "$1" ]; do
    for id in $(ctr -n k8s.io containers ls -q "$2"); do ctr -n k8s.io tasks kill -s SIGKILL "$id" 2>/dev/null; done
    sleep 0.2
  done`;
  const ended = cluster.exec(['sh', '-c', loop, 'killer', folder, filter], { timeoutMs: LONGEST_MS });
  return {
    async stop() {
      await rm(folder, { recursive: true });
      const { code, stderr } = await ended;
      if (code !== 0) throw new Error(`the killer ended with ${code}: ${stderr}`);
    },
  };
}
