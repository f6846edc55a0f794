import { InvalidArgumentError, Option, type Command } from 'commander';
import type { AddCommand, CliContext } from '../context.ts';
import { duration } from '../option-values.ts';
import { printable, refusal, reported, type Rendered } from '../rendered.ts';
import { addStopOptions, problemOfAll, withStops, type StopFlags } from '../stop/options.ts';
import { isPattern, planResume } from '../stop/scope.ts';
import { runStop, type StopReport } from '../stop/run-stop.ts';
import { listText, stopText, warningsOf } from '../stop/stop-text.ts';
import { painter } from '../table.ts';

interface Flags extends StopFlags {
  reason?: string;
  /** Milliseconds. */
  for?: number;
  direct?: true;
  list?: true;
  /** Milliseconds; 0: do not wait. */
  wait: number;
}

export const addStop: AddCommand = (program, context, finish) => {
  const command = program
    .command('stop')
    .summary('stop agents now, or list the stops')
    .description(
      'Stops agents: their sidecars reject every request and every call through an egress lane, and end open connections. With a kubeconfig it creates AgentStop objects, with --url it uses the routes of a control plane.',
    )
    .argument('[agents...]', 'names of agents; patterns such as shop-* require --namespace')
    .option(
      '--reason <text>',
      'why; required. Agents and operators see it, clients of the agents do not',
      reason,
    )
    .addOption(
      new Option('--for <duration>', 'end the stop after 30s, 2h or 7d, for example').argParser(
        duration('smhd'),
      ),
    )
    .option('--direct', 'also annotate the pods, which needs no process of the product except the sidecar')
    .option('--list', 'list the stops, with --namespace those that apply there')
    .addOption(
      new Option(
        '--wait <duration>',
        'wait at most this long until every instance has confirmed; 0s: do not wait',
      )
        .default(30_000, '30s')
        .argParser((value) => (value === '0s' ? 0 : duration('smh')(value))),
    );
  addStopOptions(
    command,
    '{stops[], agents[]{namespace, name, state, instances, confirmed}, pods, warnings[], confirmed}; with --list {stops[]}',
  )
    .addHelpText('after', HELP)
    .action(async (agents: string[], flags: Flags) => finish(await stop(agents, flags, context, command)));
};

const HELP = `
Examples:
  $ platform stop shop --reason 'leak of order data'
  $ platform stop --namespace shop-team --reason 'leak of order data' --for 2h
  $ platform stop --all --reason 'incident 42'
  $ platform stop shop -n shop-team --reason 'leak of order data' --direct
  $ platform stop shop --reason 'leak of order data' --url https://platform.example.com
  $ platform stop --list

One namespace gets an AgentStop of its own; several namespaces, patterns and --all get one in the namespace of the release.
A token or an admin key never comes from an option, because other processes can read options.
State: Stopped; IngressOnly (no egress lanes: the agent's own calls continue); Stopping; Idle (no instance runs); Unknown.

Exit codes: 0 every instance has confirmed the stop, or --wait 0s or --list; 1 not stopped, or not confirmed in time.`;

const MAX_REASON = 500;

function reason(value: string): string {
  const text = value.trim();
  if (text === '' || text.length > MAX_REASON || /[\r\n]/.test(text))
    throw new InvalidArgumentError(`Must have 1 to ${MAX_REASON} characters in one line.`);
  return text;
}

async function stop(
  agents: readonly string[],
  flags: Flags,
  context: CliContext,
  command: Command,
): Promise<Rendered> {
  const { namespace: namespaces = [], all = false, releaseNamespace: rootNamespace } = flags;
  if (flags.list && (all || agents.length > 0 || flags.reason !== undefined))
    command.error('error: --list excludes names of agents, --all and --reason; --namespace selects stops');
  if (flags.list) return list(flags, context);
  if (!all && agents.length + namespaces.length === 0)
    command.error('error: pass names of agents, --namespace or --all, and --reason');
  if (all && agents.length + namespaces.length > 0)
    command.error('error: --all excludes names of agents and --namespace');
  if (flags.reason === undefined) command.error('error: --reason is required');
  const problem = await problemOfAll(flags, 'stops every agent of every namespace', context);
  if (problem !== null) return refusal(problem, flags.json);
  const until =
    flags.for === undefined ? undefined : new Date(context.now().getTime() + flags.for).toISOString();
  const wish = {
    scope: { agents: [...new Set(agents)], namespaces: [...new Set(namespaces)], all, rootNamespace },
    reason: flags.reason,
    ...(until !== undefined && { until }),
    direct: flags.direct === true,
    waitMs: flags.wait,
  };
  const result = await withStops(flags, context, (stops) => runStop(stops, wish, context));
  return typeof result === 'string'
    ? refusal(printable(result), flags.json)
    : renderStop(result, flags, context);
}

/** Output and exit code of `platform stop`. */
function renderStop(
  stopped: StopReport,
  flags: Pick<Flags, 'json' | 'direct'>,
  { color }: Pick<CliContext, 'color'>,
): Rendered {
  const report = { ...stopped, warnings: warningsOf(stopped, flags.direct === true) };
  const isNothing = report.stops.length + report.pods === 0;
  const text = stopText(report, painter(color));
  const rendered = reported(flags, report, text, report.confirmed === false || isNothing ? 1 : 0);
  return { ...rendered, errors: report.warnings.map((each) => `warning: ${printable(each)}\n`).join('') };
}

async function list(flags: Flags, context: CliContext): Promise<Rendered> {
  const { namespace: namespaces = [], releaseNamespace: rootNamespace } = flags;
  const isAnywhere = namespaces.length === 0 || namespaces.some(isPattern);
  const found = await withStops(flags, context, (all) => all.list(isAnywhere ? null : namespaces));
  if (typeof found === 'string') return refusal(printable(found), flags.json);
  const { chosen, wider } = planResume({ agents: [], namespaces, all: false, rootNamespace }, found);
  const stops = found.filter((stop) => chosen.includes(stop) || wider.includes(stop));
  return reported(flags, { stops }, listText(stops, rootNamespace, painter(context.color)));
}
