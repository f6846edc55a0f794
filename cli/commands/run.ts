import { resolve } from 'node:path';
import { InvalidArgumentError, Option } from 'commander';
import { POLICY_MODES } from '../../core/policy/engine.ts';
import { replaceFile } from '../../push/replace-file.ts';
import type { AddCommand, CliContext } from '../context.ts';
import { gapText, matrixText } from '../egress/call-text.ts';
import type { ShownGap, ShownRow } from '../egress/reports.ts';
import { causeOf } from '../file-failure.ts';
import { invalidManifest, load } from '../load.ts';
import { failed, json, printable, type Rendered } from '../rendered.ts';
import { runAgent, type Ended } from '../run-agent/agent-process.ts';
import { lanesOfRun, type RunLanes } from '../run-agent/lanes-of-run.ts';
import { LastReport } from '../run-agent/last-report.ts';
import { SidecarProcess } from '../run-agent/sidecar-process.ts';
import { SidecarFailure } from '../sidecar-request.ts';
import { painter } from '../table.ts';

interface RunFlags {
  manifest: string;
  mode: (typeof POLICY_MODES)[number];
  lanes: boolean;
  agentPort: number;
  proxyPort: number;
  controlPort: number;
  egressPort: number;
  /** Path of a JSON file, as typed. */
  report?: string;
}

export const addRun: AddCommand = (program, context, finish) => {
  program
    .command('run')
    .summary('run an agent with a sidecar and lanes around it')
    .description(
      "Starts a sidecar, then the command of an agent with the variables that lead its model calls through the sidecar's lanes. When the command ends, prints score, issues, and what the agent declares, reports and does.",
    )
    .argument('<command...>', 'command of the agent with its arguments, after --')
    .option('--manifest <file>', 'path to the manifest', 'agent.yaml')
    .addOption(
      new Option('--mode <mode>', 'what happens to calls that the policy denies')
        .choices(POLICY_MODES)
        .default('track'),
    )
    .option('--no-lanes', "do not change the agent's variables, so that its calls are not observed")
    .option('--agent-port <port>', 'port on which the agent listens, if it is a server', port, 8000)
    .option('--proxy-port <port>', 'port for clients of the agent', port, 4000)
    .option('--control-port <port>', 'port of the control routes', port, 4001)
    .option('--egress-port <port>', 'port of the lanes', port, 4002)
    .option('--report <file>', 'also write {exitCode, gap, matrix[]} as JSON to a file')
    .addHelpText('after', HELP)
    .action(async (command: string[], flags: RunFlags) => finish(await run(command, flags, context)));
};

const HELP = `
Examples:
  $ platform run -- python main.py
  $ platform run --manifest agents/shop/agent.yaml --agent-port 8080 -- node dist/server.js
  $ platform run --mode enforce --report run.json -- python one_task.py

Only calls of libraries that read a base URL from a variable, such as OPENAI_BASE_URL, go through a lane. A variable that is
already set stays the address to which the lane sends the calls. docs/guide/egress.md lists the variables and libraries.
While the agent runs, platform observe prints its calls.

Exit codes: 0 the command ended with 0, else that of the command; 1 if it cannot start, or if the manifest or an option is
not valid.`;

function port(value: string): number {
  const number = /^\d{1,5}$/.test(value) ? Number(value) : Number.NaN;
  if (!(number >= 1 && number <= 65_535)) throw new InvalidArgumentError('Must be a port from 1 to 65535.');
  return number;
}

const NO_LANES: RunLanes = { egressLanes: '', variables: {}, problems: [] };

async function run(command: readonly string[], flags: RunFlags, context: CliContext): Promise<Rendered> {
  if (context.stdio === undefined) return failed('error: there is no standard output\n');
  const loaded = await load(flags.manifest, context);
  if (!loaded.ok) return invalidManifest(loaded, false);
  const { env, cwd } = context;
  const lanes = flags.lanes ? lanesOfRun(loaded.manifest, env, flags.egressPort) : NO_LANES;
  for (const problem of lanes.problems)
    context.warn?.(`note: ${printable(problem)}, so its calls are not observed`);
  const { stopped } = context.stdio();
  let sidecar: SidecarProcess;
  try {
    sidecar = await SidecarProcess.start(env, {
      manifest: resolve(cwd, flags.manifest),
      mode: flags.mode,
      lanes: lanes.egressLanes,
      ports: {
        proxy: flags.proxyPort,
        control: flags.controlPort,
        egress: flags.egressPort,
        agent: flags.agentPort,
      },
    });
  } catch (error) {
    return failed(`error: ${printable((error as Error).message)}\n`);
  }
  const control = new URL(`http://127.0.0.1:${flags.controlPort}`);
  try {
    const reports = new LastReport(control);
    const agentEnv = { PLATFORM_SIDECAR_URL: control.origin, ...env, ...lanes.variables };
    const ended = await runAgent(command, { env: agentEnv, cwd, stopped });
    return await withReport(await reports.finish(), ended, { flags, command, context });
  } catch (error) {
    if (!(error instanceof SidecarFailure)) throw error;
    return failed(`error: ${error.message}\n${printable(sidecar.output)}`);
  } finally {
    await sidecar.stop();
  }
}

async function withReport(
  { gap, rows }: { gap: ShownGap; rows: ShownRow[] },
  ended: Ended,
  { flags, command, context }: { flags: RunFlags; command: readonly string[]; context: CliContext },
): Promise<Rendered> {
  if (!ended.started) return failed(`error: ${printable(command[0] ?? '')}: ${ended.reason}\n`);
  const paint = painter(context.color);
  const { exitCode } = ended;
  const rendered = { output: `\n${gapText(gap, paint)}\n${matrixText(rows, paint)}`, errors: '', exitCode };
  if (flags.report === undefined) return rendered;
  try {
    await replaceFile(resolve(context.cwd, flags.report), json({ exitCode, gap, matrix: rows }), 0o666);
    return { ...rendered, errors: `wrote ${printable(flags.report)}\n` };
  } catch (error) {
    const reason = `error: cannot write ${printable(flags.report)}: ${causeOf(error)}\n`;
    return { ...rendered, errors: reason, exitCode: exitCode === 0 ? 1 : exitCode };
  }
}
