import { Option, type Command } from 'commander';
import { CHECK_SEVERITIES, type CheckSeverity } from '../../core/diagnosis/rule.ts';
import type { CliContext } from '../context.ts';
import { duration } from '../option-values.ts';
import type { Rendered } from '../rendered.ts';
import { check } from './check.ts';
import { uninstall } from './uninstall.ts';

interface ClusterFlags {
  kubeconfig?: string;
  context?: string;
  namespace: string;
  release?: string;
  output: 'json' | 'text';
}

interface CheckTyped extends ClusterFlags {
  pre?: true;
  wait?: number;
  failOn: CheckSeverity;
}

type Finish = (rendered: Rendered) => void;

export function addCheck(program: Command, context: CliContext, finish: Finish): void {
  const command = program
    .command('check')
    .summary('check a cluster and the installation in it')
    .description(
      'Checks the cluster, the installation and its agents, and reports each problem with a hint. It changes nothing: test pods are created only as dry runs.',
    )
    .option('--pre', 'check before the installation whether the product can be installed')
    .addOption(
      new Option(
        '--wait [duration]',
        'retry until all checks pass, for at most 90s, 5m or 1h, for example; without a duration 2m',
      )
        .preset('2m')
        .argParser(duration),
    )
    .addOption(
      new Option('--fail-on <severity>', 'exit with 1 if a finding has at least this severity')
        .choices(CHECK_SEVERITIES)
        .default('error'),
    );
  addClusterOptions(command)
    .addHelpText('after', CHECK_HELP)
    .action(async (typed: CheckTyped) => finish(await check({ ...typed, pre: typed.pre === true }, context)));
}

const CHECK_HELP = `
Examples:
  $ platform check --pre
  $ platform check
  $ platform check --wait 5m -n platform-system
  $ platform check -o json --fail-on warning

Each finding has a code, a hint and a link to docs/reference/checks.md. A check is "unknown" if you lack a permission that
it needs. The missing permission is shown, and the check counts as a finding.

Exit codes: 0 no finding of that severity (default: error) or above; 1 at least one such finding, or the cluster is
unreachable.`;

export function addUninstall(program: Command, context: CliContext, finish: Finish): void {
  const command = program
    .command('uninstall')
    .summary('print uninstall commands; --verify lists leftovers')
    .description(
      'Prints the commands that remove the product, and the objects that these commands keep. With --verify it lists what is left after the removal. It never removes anything itself.',
    )
    .option('--verify', 'list leftovers; objects kept on purpose (crds.keep) are listed but do not count');
  addClusterOptions(command)
    .addHelpText('after', UNINSTALL_HELP)
    .action(async (typed: ClusterFlags & { verify?: true }) =>
      finish(await uninstall({ ...typed, verify: typed.verify === true }, context)),
    );
}

const UNINSTALL_HELP = `
Examples:
  $ platform uninstall
  $ helm uninstall agent-compliance -n platform-system --wait
  $ platform uninstall --verify

Pods with the sidecar count as leftovers. They continue to serve without a control plane until they are replaced.

Exit codes: 0 commands printed; 1 nothing is installed there, or the cluster is unreachable.
With --verify: 0 nothing is left; 1 something is left or could not be checked, or the cluster is unreachable.`;

function addClusterOptions(command: Command): Command {
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
