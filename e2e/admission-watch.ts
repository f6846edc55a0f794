// Repeatedly creates a pod that opts in, as a dry run, and counts the outcomes.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from './cluster/cluster.ts';
import type { KubeObject } from './kubectl.ts';

const EVERY_MS = 300;

export interface AdmissionTally {
  admitted: number;
  /** Admitted without a sidecar. */
  bare: number;
  rejections: string[];
  longestRejectionStreak: number;
}

export interface AdmissionWatch {
  /** Stops the watch and returns the tally. */
  end: () => Promise<AdmissionTally>;
}

/** `pod` must opt in, and its namespace must exist. */
export function watchAdmission(cluster: Cluster, namespace: string, pod: KubeObject): AdmissionWatch {
  const input = JSON.stringify(pod);
  const command = ['kubectl', '-n', namespace, 'create', '--dry-run=server', '-o', 'json', '-f', '-'];
  const tally: AdmissionTally = { admitted: 0, bare: 0, rejections: [], longestRejectionStreak: 0 };
  let rejectionStreak = 0;
  let isOver = false;

  async function tryOnce(): Promise<void> {
    const { code, stdout, stderr } = await cluster.exec(command, { input });
    rejectionStreak = code === 0 ? 0 : rejectionStreak + 1;
    tally.longestRejectionStreak = Math.max(tally.longestRejectionStreak, rejectionStreak);
    if (code !== 0) tally.rejections.push(stderr.trim());
    else if (hasSidecar(stdout)) tally.admitted += 1;
    else tally.bare += 1;
  }

  async function tryUntilStopped(): Promise<void> {
    while (!isOver) {
      await tryOnce();
      await sleep(EVERY_MS);
    }
  }

  const running = tryUntilStopped();
  return {
    end: async () => {
      isOver = true;
      await running;
      return tally;
    },
  };
}

function hasSidecar(pod: string): boolean {
  const { spec } = JSON.parse(pod) as { spec: { initContainers?: { name: string }[] } };
  return spec.initContainers?.some(({ name }) => name === 'platform-sidecar') ?? false;
}
