import { Option, type Command } from 'commander';
import type { ClusterOptions } from './cluster/connect.ts';
import { failed, json, printable, type Rendered } from './rendered.ts';

/** Options of every command that needs a cluster. */
export interface ClusterFlags extends ClusterOptions {
  output: 'json' | 'text';
}

export function addClusterOptions(command: Command): Command {
  return command
    .option('-n, --namespace <namespace>', 'namespace of the release', 'platform-system')
    .option('--release <name>', 'name of the release; required if the namespace has several')
    .option(
      '--kubeconfig <file>',
      "path to a kubeconfig; default: KUBECONFIG, ~/.kube/config, the pod's service account",
    )
    .option('--context <name>', 'context in the kubeconfig; default: the current context')
    .addOption(
      new Option('-o, --output <format>', 'output format').choices(['text', 'json']).default('text'),
    );
}

/** The cluster could not be queried. */
export function noCluster(reason: string, { output }: Pick<ClusterFlags, 'output'>): Rendered {
  return failed(`error: ${printable(reason)}\n`, output === 'json' ? json({ error: reason }) : '');
}
