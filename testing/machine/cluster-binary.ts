import { accessSync, constants } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Directory of the binaries built by e2e/cluster/build.sh (same default as e2e/cluster/layout.sh). */
export const CLUSTER_CACHE = process.env['CLUSTER_CACHE'] ?? join(homedir(), '.cache/agent-compliance/k8s');

/** The path of a binary of the test cluster. Throws with build instructions if it does not exist. */
export function clusterBinary(name: string): string {
  const path = join(CLUSTER_CACHE, 'bin', name);
  try {
    accessSync(path, constants.X_OK);
  } catch (cause) {
    throw new Error(`${name} is not built: run \`make cluster-binaries\` (expected ${path})`, { cause });
  }
  return path;
}
