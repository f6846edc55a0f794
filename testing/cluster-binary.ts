import { accessSync, constants } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Where e2e/cluster/build.sh keeps what it builds (e2e/cluster/layout.sh has the same default). */
export const CLUSTER_CACHE = process.env['CLUSTER_CACHE'] ?? join(homedir(), '.cache/agent-compliance/k8s');

/** The path of a binary of the test cluster. Throws, saying how to build it, when it is not there. */
export function clusterBinary(name: string): string {
  const path = join(CLUSTER_CACHE, 'bin', name);
  try {
    accessSync(path, constants.X_OK);
  } catch (cause) {
    throw new Error(`${name} is not built: run \`make cluster-binaries\` (looked for ${path})`, { cause });
  }
  return path;
}
