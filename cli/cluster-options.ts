import type { Command } from 'commander';
import type { ClusterOptions } from './cluster/connect.ts';
import { Alias, formatOption, jsonOption, ReportOption, type FormatFlags } from './output-options.ts';

/** Options of every command that needs a cluster. */
export type ClusterFlags = ClusterOptions & FormatFlags;

/** @param content the members of the JSON */
export function addClusterOptions(command: Command, content: string): Command {
  return command
    .option('-n, --namespace <namespace>', 'namespace of the release', 'platform-system')
    .option('--release <name>', 'name of the release; required if the namespace has several')
    .option(
      '--kubeconfig <file>',
      "path to a kubeconfig; default: KUBECONFIG, ~/.kube/config, the pod's service account",
    )
    .option('--context <name>', 'context in the kubeconfig; default: the current context')
    .addOption(jsonOption(content))
    .addOption(formatOption())
    .addOption(new Alias('-o <format>', 'format').choices(['text', 'json']))
    .addOption(new ReportOption());
}
