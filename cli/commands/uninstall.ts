import type { Leftover, LeftoverReport } from '../../authoring/diagnosis/leftovers.ts';
import { addClusterOptions, type ClusterFlags } from '../cluster-options.ts';
import type { AddCommand, CliContext } from '../context.ts';
import { printable, refusal, reported, type Rendered } from '../rendered.ts';
import { painter, plural, type Paint } from '../table.ts';

type UninstallFlags = ClusterFlags & {
  /** Whether leftovers affect the exit code; else only the uninstall commands are printed. */
  verify?: boolean;
};

export const addUninstall: AddCommand = (program, context, finish) => {
  const command = program
    .command('uninstall')
    .summary('print uninstall commands; --verify lists leftovers')
    .description(
      'Prints the commands that remove the product, and the objects that these commands keep. With --verify it lists what is left after the removal. It never removes anything itself.',
    )
    .option('--verify', 'list leftovers; objects kept on purpose (crds.keep) are listed but do not count');
  addClusterOptions(command, '{installed[], left[], kept[], unknown[]}')
    .addHelpText('after', HELP)
    .action(async (flags: UninstallFlags) => finish(await uninstall(flags, context)));
};

const HELP = `
Examples:
  $ platform uninstall
  $ helm uninstall agent-compliance -n platform-system --wait
  $ platform uninstall --verify

Pods with the sidecar count as leftovers. They continue to serve without a control plane until they are replaced.

Exit codes: 0 commands printed; 1 nothing is installed there, or the cluster is unreachable.
With --verify: 0 nothing is left; 1 something is left or could not be checked, or the cluster is unreachable.`;

/** Prints the uninstall commands, with `--verify` the leftovers. Removes nothing. */
async function uninstall(flags: UninstallFlags, context: CliContext): Promise<Rendered> {
  const { findLeftovers } = await import('../cluster/main.ts');
  const result = await findLeftovers(flags, context);
  return result.ok
    ? renderUninstall(result.report, flags, context)
    : refusal(printable(result.reason), flags.json);
}

/** Output and exit code of `platform uninstall`. */
export function renderUninstall(
  report: LeftoverReport,
  flags: Pick<UninstallFlags, 'verify' | 'json' | 'namespace'>,
  { color }: Pick<CliContext, 'color'>,
): Rendered {
  const { installed, left, unknown } = report;
  const isClean = installed.length === 0 && left.length === 0 && unknown.length === 0;
  const exitCode = (flags.verify ? isClean : installed.length > 0) ? 0 : 1;
  const paint = painter(color);
  const text = flags.verify ? verifyText(report, paint) : planText(report, paint, flags.namespace);
  return reported(flags, report, text, exitCode);
}

function planText(report: LeftoverReport, paint: Paint, namespace: string): string {
  const { installed, kept } = report;
  if (installed.length === 0)
    return `no release of the product is installed in ${namespace}; platform uninstall --verify lists leftovers\n`;
  return [
    `This command removes nothing. To remove ${installed.map(({ name }) => name).join(', ')}:\n`,
    `${installed.map(({ command }) => `  ${command}`).join('\n')}\n  platform uninstall --verify -n ${namespace}\n`,
    ...section('These objects are kept; to remove them:', kept, paint),
    ...unknownText(report, paint),
  ].join('\n');
}

function verifyText(report: LeftoverReport, paint: Paint): string {
  const { installed, left, kept } = report;
  const releases = installed.map(({ name, namespace, command }) => ({
    message: `release ${name} is still installed in ${namespace}`,
    command,
  }));
  const all = [...releases, ...left];
  const isClean = all.length === 0 && report.unknown.length === 0;
  return [
    ...(all.length > 0 ? section(`${plural(all.length, 'item')} left:`, all, paint) : []),
    ...unknownText(report, paint),
    ...section('Kept on purpose:', kept, paint),
    ...(isClean ? [`${paint('green', 'nothing is left')}\n`] : []),
  ].join('\n');
}

function section(
  title: string,
  things: readonly Pick<Leftover, 'message' | 'command'>[],
  paint: Paint,
): string[] {
  if (things.length === 0) return [];
  const lines = things.map(
    ({ message, command }) => `  ${printable(message)}\n    ${paint('dim', printable(command))}\n`,
  );
  return [`${title}\n${lines.join('')}`];
}

function unknownText({ unknown }: LeftoverReport, paint: Paint): string[] {
  if (unknown.length === 0) return [];
  const lines = unknown.map((why) => `  ${paint('yellow', 'unknown')}: ${printable(why)}\n`);
  return [`Not checked:\n${lines.join('')}`];
}
