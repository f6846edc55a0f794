import { Command, CommanderError } from 'commander';
import { VERSION } from '../runtime/version.ts';
import type { AddCommand, CliContext } from './context.ts';
import { addDefaultManifest } from './manifest-argument.ts';
import { rejectEmptyValues } from './option-values.ts';
import { alignFormat, reportFileOf } from './output-options.ts';
import { json, refusal, type Rendered } from './rendered.ts';

type Load = () => Promise<AddCommand>;

/** By group, in help order. A command is loaded when it runs, so that no command starts more slowly because of another one. */
const GROUPS: Readonly<Record<string, Readonly<Record<string, Load>>>> = {
  'Observe and limit the calls of an agent:': {
    run: async () => (await import('./commands/run.ts')).addRun,
    observe: async () => (await import('./commands/observe.ts')).addObserve,
    'generate-egress': async () => (await import('./commands/generate-egress.ts')).addGenerateEgress,
  },
  'Write a first manifest:': {
    init: async () => (await import('./commands/init.ts')).addInit,
    scan: async () => (await import('./commands/scan.ts')).addScan,
  },
  'Check a manifest:': {
    validate: async () => (await import('./commands/validate.ts')).addValidate,
    audit: async () => (await import('./commands/audit.ts')).addAudit,
    diff: async () => (await import('./commands/diff.ts')).addDiff,
    'generate-policy': async () => (await import('./commands/generate-policy.ts')).addGeneratePolicy,
  },
  'Check a running agent:': {
    gap: async () => (await import('./commands/gap.ts')).addGap,
    health: async () => (await import('./commands/health.ts')).addHealth,
    evaluate: async () => (await import('./commands/evaluate.ts')).addEvaluate,
    evidence: async () => (await import('./commands/evidence.ts')).addEvidence,
    proof: async () => (await import('./commands/proof.ts')).addProof,
  },
  'Stop a running agent:': {
    stop: async () => (await import('./commands/stop.ts')).addStop,
    resume: async () => (await import('./commands/resume.ts')).addResume,
  },
  'Read the record of an agent:': {
    'audit-log': async () => (await import('./commands/audit-log.ts')).addAuditLog,
  },
  'Convert a manifest, or generate files:': {
    migrate: async () => (await import('./commands/migrate.ts')).addMigrate,
    export: async () => (await import('./commands/export.ts')).addExport,
    generate: async () => (await import('./commands/generate.ts')).addGenerate,
    'provider-status': async () => (await import('./commands/provider-status.ts')).addProviderStatus,
  },
  'Change workloads, or check a cluster:': {
    inject: async () => (await import('./commands/inject.ts')).addInject,
    uninject: async () => (await import('./commands/uninject.ts')).addUninject,
    register: async () => (await import('./commands/register.ts')).addRegister,
    check: async () => (await import('./commands/check.ts')).addCheck,
    uninstall: async () => (await import('./commands/uninstall.ts')).addUninstall,
  },
  'Use it in an editor, an assistant or a shell:': {
    mcp: async () => (await import('./commands/mcp.ts')).addMcp,
    completion: async () => (await import('./commands/completion.ts')).addCompletion,
  },
};

const HEADINGS = Object.keys(GROUPS);

const COMMANDS: Readonly<Record<string, Load>> = Object.fromEntries(
  Object.values(GROUPS).flatMap((group) => Object.entries(group)),
);

/** Names in help order. */
export const COMMAND_NAMES: readonly string[] = Object.keys(COMMANDS);

/** A command that reads the definitions of all commands. */
const COMPLETION = 'completion';

/**
 * Only the command of the first argument. All commands for help, for a name that is unknown (its error suggests one), and for the
 * completion scripts.
 */
function neededCommands([name = '']: readonly string[]): Promise<AddCommand[]> {
  const isOne = Object.hasOwn(COMMANDS, name) && name !== COMPLETION;
  const needed = isOne ? [name] : COMMAND_NAMES;
  return Promise.all(needed.flatMap((each) => COMMANDS[each]?.() ?? []));
}

/** Code of an error that is not about the usage, and therefore has no advice about the help. */
const PROBLEM = 'platform.problem';

/** Runs one command line. Returns every output, including help and usage errors. */
export async function runCommandLine(typed: readonly string[], context: CliContext): Promise<Rendered> {
  const args = withoutUnknownHelp(typed);
  const written = { output: '', errors: '' };
  let rendered: Rendered | undefined;
  let report = (result: Rendered): Rendered | Promise<Rendered> => result;
  const program = createProgram(await neededCommands(args), context, (result) => {
    rendered = result;
  });
  program.hook('preAction', async (_program, command) => {
    alignFormat(command);
    let problem = await addDefaultManifest(command, context);
    const name = reportFileOf(command);
    if (problem === null && name !== undefined) {
      const { reportProblem, writeReport } = await import('./report-file.ts');
      const file = { name, command, cwd: context.cwd };
      report = (result) => writeReport(file, result);
      problem = await reportProblem(file);
    }
    if (problem !== null) throw new CommanderError(1, PROBLEM, problem);
  });
  forEachCommand(program, (command) =>
    command.exitOverride().configureOutput({
      writeOut: (text) => (written.output += text),
      writeErr: (text) => (written.errors += text),
      getOutHelpWidth: () => 100,
      getErrHelpWidth: () => 100,
    }),
  );
  try {
    await program.parseAsync(args.length === 0 ? ['--help'] : args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.code === PROBLEM) return refusal(error.message, wantsJson(args));
    return usageResult(error, written, wantsJson(args));
  }
  if (rendered === undefined) return { ...written, exitCode: 0 };
  const { output, errors, exitCode } = await report(rendered);
  return { output, errors, exitCode };
}

/** `help foo` has the same error as `foo`: commander would print the help of all commands without a reason. */
function withoutUnknownHelp(args: readonly string[]): readonly string[] {
  const [first, name] = args;
  const isUnknown =
    first === 'help' && name !== undefined && !name.startsWith('-') && !Object.hasOwn(COMMANDS, name);
  return isUnknown ? args.slice(1) : args;
}

function wantsJson(args: readonly string[]): boolean {
  return args.includes('--json') || /(?:^| )(?:-o|--output|--format)[ =]?json(?: |$)/.test(args.join(' '));
}

/** Help and version are not errors. A usage error goes to standard error, with `--json` also to standard output as JSON. */
function usageResult(
  error: CommanderError,
  written: { output: string; errors: string },
  wantsJson: boolean,
): Rendered {
  if (error.exitCode === 0) return { ...written, exitCode: 0 };
  const output = wantsJson ? json({ error: error.message.replace(/^error: /, '') }) : written.output;
  return { output, errors: written.errors, exitCode: 1 };
}

function forEachCommand(command: Command, act: (command: Command) => void): void {
  act(command);
  for (const child of command.commands) forEachCommand(child, act);
}

function createProgram(
  commands: readonly AddCommand[],
  context: CliContext,
  finish: (rendered: Rendered) => void,
): Command {
  const program = new Command('platform')
    .description('Checks an AI agent against its manifest, agent.yaml, and the cluster in which it runs.')
    .version(VERSION, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .commandsGroup(HEADINGS.at(-1) ?? '')
    .helpCommand('help [command]', 'show help for a command')
    .showHelpAfterError('(run platform --help for a list of commands)')
    .addHelpText('after', ROOT_HELP);
  for (const add of commands) add(program, context, finish);
  for (const command of program.commands) {
    command.helpGroup(HEADINGS.find((heading) => Object.hasOwn(GROUPS[heading] ?? {}, command.name())) ?? '');
    forEachCommand(command, (each) => {
      each.showHelpAfterError(`(run ${pathOf(each)} --help for usage)`);
      rejectEmptyValues(each);
    });
  }
  return program;
}

/** The words of a command, for example `platform audit-log verify`. */
function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}

/** The names of all commands and subcommands in help order, for example `audit-log verify`. */
export async function commandPaths(context: CliContext): Promise<string[]> {
  const paths: string[] = [];
  const program = createProgram(await neededCommands([]), context, () => undefined);
  for (const each of program.commands)
    forEachCommand(each, (command) => paths.push(pathOf(command).replace('platform ', '')));
  return paths;
}

const ROOT_HELP = `
Examples:
  $ platform run -- python main.py
  $ platform init
  $ platform validate
  $ platform audit --url localhost:4001
  $ platform gap
  $ platform generate --deploy k8s
  $ platform check

A command that needs a manifest and gets none uses agent.yaml, agent.yml or agent.json in this directory.

Exit codes: 0 success; 1 a problem was found, or the command line is not valid.
Colours are used only on a terminal; NO_COLOR=1 or TERM=dumb disables them.`;
