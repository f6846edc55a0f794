// Asks again and again to admit a pod that opts in, as a dry run, and notes every answer that a user would complain about.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from './cluster/cluster.ts';
import type { KubeObject } from './kubectl.ts';

const EVERY_MS = 300;

export interface AdmissionWatch {
  /** Ends it. `bad` has the refusals, and the pods that were admitted without a sidecar. */
  end: () => Promise<{ admitted: number; bad: string[] }>;
}

/** `pod` has to opt in, and its namespace has to be there. */
export function watchAdmission(cluster: Cluster, namespace: string, pod: KubeObject): AdmissionWatch {
  const input = JSON.stringify(pod);
  const command = ['kubectl', '-n', namespace, 'create', '--dry-run=server', '-o', 'json', '-f', '-'];
  const bad: string[] = [];
  let admitted = 0;
  let isOver = false;

  async function ask(): Promise<void> {
    const { code, stdout, stderr } = await cluster.exec(command, { input });
    if (code !== 0) bad.push(`refused: ${stderr.trim()}`);
    else if (hasSidecar(stdout)) admitted += 1;
    else bad.push('admitted without a sidecar');
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
      return { admitted, bad };
    },
  };
}

function hasSidecar(pod: string): boolean {
  const { spec } = JSON.parse(pod) as { spec: { initContainers?: { name: string }[] } };
  return spec.initContainers?.some(({ name }) => name === 'platform-sidecar') ?? false;
}
