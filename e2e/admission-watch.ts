// Asks again and again to admit a pod that opts in, as a dry run, and counts the answers.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from './cluster/cluster.ts';
import type { KubeObject } from './kubectl.ts';

const EVERY_MS = 300;

export interface AdmissionTally {
  admitted: number;
  /** Admitted without a sidecar. */
  bare: number;
  rejections: string[];
  mostRefusedInARow: number;
}

export interface AdmissionWatch {
  /** Ends it. */
  end: () => Promise<AdmissionTally>;
}

/** `pod` has to opt in, and its namespace has to be there. */
export function watchAdmission(cluster: Cluster, namespace: string, pod: KubeObject): AdmissionWatch {
  const input = JSON.stringify(pod);
  const command = ['kubectl', '-n', namespace, 'create', '--dry-run=server', '-o', 'json', '-f', '-'];
  const tally: AdmissionTally = { admitted: 0, bare: 0, rejections: [], mostRefusedInARow: 0 };
  let refusedInARow = 0;
  let isOver = false;

  async function ask(): Promise<void> {
    const { code, stdout, stderr } = await cluster.exec(command, { input });
    refusedInARow = code === 0 ? 0 : refusedInARow + 1;
    tally.mostRefusedInARow = Math.max(tally.mostRefusedInARow, refusedInARow);
    if (code !== 0) tally.rejections.push(stderr.trim());
    else if (hasSidecar(stdout)) tally.admitted += 1;
    else tally.bare += 1;
  }

  async function askUntilTheEnd(): Promise<void> {
    while (!isOver) {
      await ask();
      await sleep(EVERY_MS);
    }
  }

  const asking = askUntilTheEnd();
  return {
    end: async () => {
      isOver = true;
      await asking;
      return tally;
    },
  };
}

function hasSidecar(pod: string): boolean {
  const { spec } = JSON.parse(pod) as { spec: { initContainers?: { name: string }[] } };
  return spec.initContainers?.some(({ name }) => name === 'platform-sidecar') ?? false;
}
