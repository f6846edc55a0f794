import { resolve } from 'node:path';
import { InvalidArgumentError, Option } from 'commander';
import { POLICY_MODES } from '../../core/shapes/values.ts';
import type { Manifest } from '../../core/manifest/manifest.ts';
import type { AddCommand, CliContext } from '../context.ts';
import { gapText, matrixText } from '../egress/call-text.ts';
import type { ShownCall, ShownGap, ShownRow } from '../egress/reports.ts';
import { exists, isSameFile, OVERWRITES_INPUT } from '../file-failure.ts';
import { writeProblem } from '../write-problem.ts';
import { invalidManifest, load } from '../load.ts';
import { DEFAULT_MANIFEST, defaultManifest } from '../manifest-argument.ts';
import { formatOption, jsonOption, ReportOption, type FormatFlags } from '../output-options.ts';
import { failed, json, printable, printableLines, refusal, shellWord, type Rendered } from '../rendered.ts';
import { runAgent, type Ended } from '../run-agent/agent-process.ts';
import { lanesOfRun, type RunLanes } from '../run-agent/lanes-of-run.ts';
import { lastReport } from '../run-agent/last-report.ts';
import type { Learning } from '../run-agent/learn.ts';
import { LiveCalls } from '../run-agent/live-calls.ts';
import { choosePorts, type PortName, type Ports, type WantedPort } from '../run-agent/ports.ts';
import { noCallText, seenText, startLines } from '../run-agent/run-text.ts';
import { SidecarProcess, StartFailure } from '../run-agent/sidecar-process.ts';
import { SidecarFailure } from '../sidecar-request.ts';
import { painter } from '../table.ts';

interface RunFlags extends FormatFlags {
  manifest: string;
  mode: (typeof POLICY_MODES)[number];
  lanes: boolean;
  learn?: true;
  agentPort?: number;
  proxyPort?: number;
  controlPort?: number;
  egressPort?: number;
  /** Path of a JSON file, as typed. */
  report?: string;
  output?: string;
}

export const addRun: AddCommand = (program, context, finish) => {
  program
    .command('run')
    .summary('run an agent with a sidecar and lanes around it')
    .description(
      "Starts a sidecar, then the command of an agent with the variables that lead its model calls through the sidecar's lanes. When the command ends, prints score, issues, and what the agent declares, reports and does.",
    )
    .argument('<command...>', 'command of the agent with its arguments, after --')
    .option('--manifest <file>', 'path to the manifest', DEFAULT_MANIFEST)
    .addOption(
      new Option('--mode <mode>', 'what happens to calls that the policy denies')
        .choices(POLICY_MODES)
        .default('track'),
    )
    .option('--no-lanes', "do not change the agent's variables, so that its calls are not observed")
    .option('--learn', 'run without a manifest, and write one of what the agent did')
    .option(
      '--agent-port <port>',
      'port on which the agent listens, if it is a server; default: PORT, spec.api.port or 8000',
      port,
    )
    .option('--proxy-port <port>', 'port for clients of the agent; default: 4000', port)
    .option('--control-port <port>', 'port of the control routes; default: 4001', port)
    .option('--egress-port <port>', 'port of the lanes; default: 4002', port)
    .addOption(jsonOption('{exitCode, gap, matrix[]} at the end'))
    .addOption(formatOption())
    .addOption(new ReportOption())
    .addOption(
      new Option('--report <file>', 'also write {exitCode, gap, matrix[]} as JSON to a file').hideHelp(),
    )
    .addHelpText('after', HELP)
    .action(async (command: string[], flags: RunFlags) => finish(await run(command, flags, context)));
};

const HELP = `
Examples:
  $ platform run --learn -- python main.py
  $ platform run -- python main.py
  $ platform run --mode enforce --output run.json -- node dist/server.js

Only calls of libraries that read a base URL from a variable, such as OPENAI_BASE_URL, go through a lane. A variable that is
already set stays the address to which the lane sends the calls. docs/guide/clients.md lists the variables and libraries.
Instead of a default port that is in use, the next free one in steps of ten is used; the agent gets its port as PORT.
--learn writes the manifest given by --manifest, or a new file next to it if it exists: models, tools and hosts of the calls that succeeded.

Exit codes: 0 the command ended with 0, else that of the command; 1 if it cannot start, if the manifest or an option is
not valid, or if --learn saw no call that succeeded.`;

function port(value: string): number {
  const number = portOf(value);
  if (number === null) throw new InvalidArgumentError('Must be a port from 1 to 65535.');
  return number;
}

function portOf(value: string): number | null {
  const number = /^\d{1,5}$/.test(value) ? Number(value) : 0;
  return number >= 1 && number <= 65_535 ? number : null;
}

const NO_LANES: RunLanes = { lanes: [], variables: {}, problems: [] };

/** What is run: a manifest, or without one what the code shows. */
interface Subject {
  manifest: Manifest;
  path: string;
  learning: Learning | null;
}

async function run(command: readonly string[], flags: RunFlags, context: CliContext): Promise<Rendered> {
  if (context.stdio === undefined) return failed('error: there is no standard output\n');
  if (command[0] === '') return refusal('the command is empty', flags.json);
  if (flags.learn && flags.mode !== 'track') return refusal('--learn runs in the mode track', flags.json);
  const overwritten = await overwrittenBy(flags, context);
  if (overwritten !== null)
    return refusal(`cannot write ${printable(overwritten)}: ${OVERWRITES_INPUT}`, flags.json);
  const subject = await subjectOf(command, flags, context);
  if ('exitCode' in subject) return subject;
  try {
    return await runSubject(subject, command, { flags, context, stopped: context.stdio().stopped });
  } finally {
    await subject.learning?.remove();
  }
}

/** The file of --output or --report that is the manifest of this run, also one that --learn would write; null: none is. */
async function overwrittenBy(
  { manifest, output, report }: RunFlags,
  context: CliContext,
): Promise<string | null> {
  const usual = manifest === DEFAULT_MANIFEST ? await defaultManifest(context) : null;
  for (const name of [output, report])
    for (const input of [manifest, usual]) {
      if (name === undefined || input === null) continue;
      const [file, read] = [resolve(context.cwd, name), resolve(context.cwd, input)];
      if (file === read || (await isSameFile(file, read))) return name;
    }
  return null;
}

async function subjectOf(
  command: readonly string[],
  flags: RunFlags,
  context: CliContext,
): Promise<Subject | Rendered> {
  const { manifest: wanted } = flags;
  if (flags.learn) {
    // The patterns of a scan are needed by no other run.
    const { startLearning } = await import('../run-agent/learn.ts');
    const learning = await startLearning(context);
    return { ...learning, learning };
  }
  const file = wanted === DEFAULT_MANIFEST ? ((await defaultManifest(context)) ?? wanted) : wanted;
  const loaded = await load(file, context);
  if (loaded.ok) return { manifest: loaded.manifest, path: resolve(context.cwd, file), learning: null };
  const rejected = invalidManifest(loaded, flags.json);
  if (await exists(resolve(context.cwd, file))) return rejected;
  return refusal(
    `${printable(file)} does not exist\n  platform run --learn -- ${shellWords(command)}\n    runs the command without a manifest, and writes one of what it did\n  platform scan --dir . --no-llm\n    writes one from the code`,
    flags.json,
  );
}

const shellWords = (words: readonly string[]): string => words.map(shellWord).join(' ');

interface RunInput {
  flags: RunFlags;
  context: CliContext;
  stopped: AbortSignal;
}

/** Starts of a sidecar, because another process may take a port between its choice and its use. */
const STARTS = 3;

async function runSubject(
  subject: Subject,
  command: readonly string[],
  { flags, context, stopped }: RunInput,
): Promise<Rendered> {
  const { env, cwd } = context;
  const paint = painter(context.color);
  const print = (line: string): void => context.warn?.(`${paint('dim', 'platform |')} ${line}`);
  const wanted = wantedPorts(flags, subject.manifest, env);
  const started = await startSidecar(subject, wanted, { flags, context });
  if ('exitCode' in started) return started;
  const { sidecar, ports, lanes } = started;
  let exitCode = 0;
  try {
    if (stopped.aborted) return { output: '', errors: '', exitCode: 130 };
    for (const problem of lanes.problems) print(`${printable(problem)}, so its calls are not observed`);
    for (const line of startLines({ ports, lanes: lanes.lanes, wanted })) print(line);
    const control = new URL(`http://127.0.0.1:${ports.control}`);
    const finishReports = lastReport(control);
    const live = new LiveCalls({
      ...{ control, paint, print },
      manifest: subject.learning === null ? subject.manifest : null,
    });
    const agentEnv = {
      ...{ PLATFORM_SIDECAR_URL: control.origin, ...env, ...lanes.variables },
      ...(ports.agent !== wanted.agent.port && { PORT: String(ports.agent) }),
    };
    const ended = await runAgent(command, { env: agentEnv, cwd, stopped });
    if (ended.started) exitCode = ended.exitCode;
    // The calls last: the reports wait until no client is connected to a lane.
    const report = { ...(await finishReports()), calls: await live.finish() };
    if (!ended.started) return refusal(`${printable(command[0] ?? '')}: ${ended.reason}`, flags.json);
    const run = { command, subject, lanes, report, ended, agentPort: ports.agent };
    return await withReport(run, { flags, context });
  } catch (error) {
    if (!(error instanceof SidecarFailure)) throw error;
    const failure = refusal(`${error.message}\n${printableLines(sidecar.output).trimEnd()}`, flags.json);
    return { ...failure, exitCode: exitCode || 1 };
  } finally {
    await sidecar.stop();
  }
}

function wantedPorts(
  flags: RunFlags,
  manifest: Manifest,
  env: CliContext['env'],
): Record<PortName, WantedPort> {
  const wanted = (given: number | undefined, usual: number): WantedPort => ({
    port: given ?? usual,
    isGiven: given !== undefined,
  });
  const own = portOf(env['PORT'] ?? '') ?? manifest.spec.api?.port;
  return {
    agent: wanted(flags.agentPort, own ?? 8000),
    proxy: wanted(flags.proxyPort, 4000),
    control: wanted(flags.controlPort, 4001),
    egress: wanted(flags.egressPort, 4002),
  };
}

async function startSidecar(
  { manifest, path }: Subject,
  wanted: Record<PortName, WantedPort>,
  { flags, context: { env } }: Omit<RunInput, 'stopped'>,
): Promise<{ sidecar: SidecarProcess; ports: Ports; lanes: RunLanes } | Rendered> {
  for (let start = 1; ; start += 1) {
    const chosen = await choosePorts(wanted);
    if (!chosen.ok) return refusal(chosen.reason, flags.json);
    const { ports } = chosen;
    const lanes = flags.lanes ? lanesOfRun(manifest, env, ports.egress) : NO_LANES;
    try {
      const sidecar = await SidecarProcess.start(env, {
        ...{ manifest: path, mode: flags.mode, ports },
        lanes: lanes.lanes.map(({ lane, upstream }) => `${lane}=${upstream}`).join(','),
      });
      return { sidecar, ports, lanes };
    } catch (error) {
      if (error instanceof StartFailure && error.isPortTaken && start < STARTS) continue;
      return refusal(printableLines((error as Error).message), flags.json);
    }
  }
}

interface EndedRun {
  command: readonly string[];
  subject: Subject;
  lanes: RunLanes;
  report: { gap: ShownGap; rows: ShownRow[]; calls: readonly ShownCall[] };
  ended: Ended & { started: true };
  agentPort: number;
}

async function withReport(run: EndedRun, { flags, context }: Omit<RunInput, 'stopped'>): Promise<Rendered> {
  const { gap, rows } = run.report;
  const { exitCode } = run.ended;
  const asJson = json({ exitCode, gap, matrix: rows });
  const rendered = { ...(await endOf(run, { flags, context })), json: asJson };
  if (flags.json) {
    rendered.errors = `${run.subject.learning === null ? '' : rendered.output}${rendered.errors}`;
    rendered.output = asJson;
  }
  const { report } = flags;
  if (report === undefined) return rendered;
  const problem = await writeProblem(resolve(context.cwd, report), report, asJson);
  if (problem === null) return { ...rendered, errors: `${rendered.errors}wrote ${printable(report)}\n` };
  return { ...rendered, errors: `${rendered.errors}error: ${problem}\n`, exitCode: exitCode || 1 };
}

async function endOf(
  { command, subject, lanes, report, ended: { exitCode }, agentPort }: EndedRun,
  { flags, context }: Omit<RunInput, 'stopped'>,
): Promise<Rendered> {
  const { gap, rows, calls } = report;
  const { cwd, color } = context;
  const paint = painter(color);
  const noCall = calls.length > 0 ? '' : await noCallText(lanes.lanes, { cwd, withLanes: flags.lanes });
  if (subject.learning !== null) {
    const { finishLearning } = await import('../run-agent/learn.ts');
    const observation = { lanes: lanes.lanes, calls };
    const learned = await finishLearning(subject.learning, observation, { file: flags.manifest, cwd });
    if (!learned.ok)
      return { output: noCall, errors: `error: ${printable(learned.reason)}\n`, exitCode: exitCode || 1 };
    const option = learned.file === DEFAULT_MANIFEST ? '' : `--manifest ${shellWord(learned.file)} `;
    const next = `wrote ${printable(learned.file)}\nReview it, then: platform run ${option}--mode enforce -- ${shellWords(command)}\n`;
    return { output: `\n${next}`, errors: '', exitCode };
  }
  const silent = `The agent never listened on port ${agentPort}, so its endpoints are not checked.\n`;
  const seen = seenText({ calls, rows }, subject.manifest);
  const output = [
    gapText(gap, paint) + (gap.listened === false ? silent : ''),
    seen,
    noCall,
    matrixText(rows, paint),
  ];
  return { output: `\n${output.filter(Boolean).join('\n')}`, errors: '', exitCode };
}
