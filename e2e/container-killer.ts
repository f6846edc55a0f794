// Repeatedly kills the processes of a Deployment's containers, like the OOM killer or a crash.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Cluster } from './cluster/cluster.ts';

/** Only the node of a local cluster is accessible. */
export const canKill = (process.env['E2E_KUBECONFIG'] ?? '') === '';

/** Stops after this time, even if the test does not stop it. */
const LONGEST_MS = 1_200_000;

export interface Killer {
  /** Stops killing; the kubelet then restarts the containers with its back-off. Throws if the loop failed earlier. */
  stop(): Promise<void>;
}

/** Sends SIGKILL to the main process of every container `name` in `namespace` as soon as the kubelet has started it. */
export async function keepKilling(cluster: Cluster, namespace: string, name: string): Promise<Killer> {
  const directory = await mkdtemp(join(tmpdir(), 'killer-'));
  const filter = `labels."io.kubernetes.container.name"==${name},labels."io.kubernetes.pod.namespace"==${namespace}`;
  // ctr fails for containers that have already ended; this is ignored.
  const loop = `while [ -d "$1" ]; do
    for id in $(ctr -n k8s.io containers ls -q "$2"); do ctr -n k8s.io tasks kill -s SIGKILL "$id" 2>/dev/null; done
    sleep 0.2
  done`;
  const ended = cluster.exec(['sh', '-c', loop, 'killer', directory, filter], { timeoutMs: LONGEST_MS });
  return {
    async stop() {
      await rm(directory, { recursive: true });
      const { code, stderr } = await ended;
      if (code !== 0) throw new Error(`the killer exited with ${code}: ${stderr}`);
    },
  };
}
