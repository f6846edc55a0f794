import type { Command } from 'commander';
import type { AddCommand, CliContext } from '../context.ts';
import { printable, refusal, reported, type Rendered } from '../rendered.ts';
import { addStopOptions, problemOfAll, withStops, type StopFlags } from '../stop/options.ts';
import { runResume, type ResumeReport } from '../stop/run-resume.ts';
import { plural } from '../table.ts';

export const addResume: AddCommand = (program, context, finish) => {
  const command = program
    .command('resume')
    .summary('end stops of agents')
    .description(
      'Ends stops: deletes the AgentStops of the selected agents, and with a kubeconfig removes the annotation platform.io/stop from their pods. A stop that also concerns other agents is ended only by its id or by --all.',
    )
    .argument('[agents or stops...]', 'names of agents, or ids of stops such as shop-team/stop-1a2b3c4d');
  addStopOptions(command, '{resumed[], pods, remaining[], problems[]}')
    .addHelpText('after', HELP)
    .action(async (names: string[], flags: StopFlags) =>
      finish(await resume(names, flags, context, command)),
    );
};

const HELP = `
Examples:
  $ platform resume shop
  $ platform resume shop-team/stop-1a2b3c4d
  $ platform resume --namespace shop-team
  $ platform resume --all

platform stop --list shows the ids. Agents accept requests again as soon as their sidecars know it, usually within a second.

Exit codes: 0 resumed; 1 nothing was resumed, or a stop remains that also concerns other agents.`;

async function resume(
  names: readonly string[],
  flags: StopFlags,
  context: CliContext,
  command: Command,
): Promise<Rendered> {
  const { namespace: namespaces = [], all = false, releaseNamespace: rootNamespace } = flags;
  if (!all && names.length + namespaces.length === 0)
    command.error('error: pass names of agents, ids of stops, --namespace or --all');
  if (all && names.length + namespaces.length > 0)
    command.error('error: --all excludes names, ids and --namespace');
  const problem = await problemOfAll(flags, 'ends every stop', context);
  if (problem !== null) return refusal(problem, flags.json);
  const ids = names.filter((name) => name.includes('/'));
  const agents = names.filter((name) => !name.includes('/'));
  const scope = { agents, namespaces, all, rootNamespace };
  const result = await withStops(flags, context, (stops) => runResume(stops, scope, ids));
  return typeof result === 'string' ? refusal(printable(result), flags.json) : renderResume(result, flags);
}

/** Output and exit code of `platform resume`. */
function renderResume(report: ResumeReport, flags: Pick<StopFlags, 'json'>): Rendered {
  const { resumed, pods, remaining, problems } = report;
  const lines = [
    ...resumed.map(({ id, reason }) => `deleted ${id}: ${reason}`),
    ...(pods > 0 ? [`removed the annotation of ${plural(pods, 'pod')}`] : []),
  ];
  const warnings = [
    ...problems,
    ...remaining.map(
      ({ id, reason }) =>
        `${id} still applies (${reason}), and also concerns other agents; to end it for all of them: platform resume ${id}`,
    ),
  ];
  const text = lines.map((line) => `${printable(line)}\n`).join('');
  const rendered = reported(flags, report, text, warnings.length > 0 ? 1 : 0);
  return { ...rendered, errors: warnings.map((each) => `warning: ${printable(each)}\n`).join('') };
}
