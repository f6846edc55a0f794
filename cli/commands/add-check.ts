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
      'Looks at the cluster, the installation and the agents in it, and says what is wrong and what to do. It changes nothing: pods are tried as dry runs alone.',
    )
    .option('--pre', 'check whether the product can be installed, before it is')
    .addOption(
      new Option('--wait [duration]', 'look again until all is well: 90s, 5m, 1h; without a duration 2m')
        .preset('2m')
        .argParser(duration),
    )
    .addOption(
      new Option('--fail-on <severity>', 'least severity of a finding that makes the exit code 1')
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

Each finding has a code, a hint and its place in docs/reference/checks.md. What cannot be looked at is "unknown", says
which right it needs, and counts like a finding of that check.

Exit codes: 0 no finding of that severity (by default: error); 1 there is one, or no cluster can be asked.`;

export function addUninstall(program: Command, context: CliContext, finish: Finish): void {
  const command = program
    .command('uninstall')
    .summary('show how the product is removed, and what is left of it')
    .description(
      'Shows the commands that remove the product and what they leave. With --verify it looks for what is left afterwards. It never removes anything itself.',
    )
    .option(
      '--verify',
      'look for what is left; what is meant to stay (crds.keep) is named and does not count',
    );
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

Pods that still have the sidecar count as left: they serve on, without a control plane, until they are replaced.

Exit codes: 0 shown, with --verify: nothing is left; 1 nothing is installed there, with --verify: something is left or
could not be looked at, or no cluster can be asked.`;

function addClusterOptions(command: Command): Command {
  return command
    .option('-n, --namespace <namespace>', 'of the release', 'platform-system')
    .option('--release <name>', 'of the release; wanted where a namespace has several')
    .option('--kubeconfig <file>', 'default: KUBECONFIG, ~/.kube/config, the account of the pod')
    .option('--context <name>', 'of the kubeconfig; default: its current one')
    .addOption(
      new Option('-o, --output <format>', 'how to print it').choices(['text', 'json']).default('text'),
    );
}
