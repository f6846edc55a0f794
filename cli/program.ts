import { Command, CommanderError } from 'commander';
import { VERSION } from '../runtime/version.ts';
import type { AddCommand, CliContext } from './context.ts';
import { rejectEmptyValues } from './option-values.ts';
import { json, type Rendered } from './rendered.ts';

/** In help order. A command is loaded when it runs, so that no command starts more slowly because of another one. */
const COMMANDS: Readonly<Record<string, () => Promise<AddCommand>>> = {
  validate: async () => (await import('./commands/validate.ts')).addValidate,
  init: async () => (await import('./commands/init.ts')).addInit,
  scan: async () => (await import('./commands/scan.ts')).addScan,
  health: async () => (await import('./commands/health.ts')).addHealth,
  audit: async () => (await import('./commands/audit.ts')).addAudit,
  evaluate: async () => (await import('./commands/evaluate.ts')).addEvaluate,
  run: async () => (await import('./commands/run.ts')).addRun,
  observe: async () => (await import('./commands/observe.ts')).addObserve,
  diff: async () => (await import('./commands/diff.ts')).addDiff,
  migrate: async () => (await import('./commands/migrate.ts')).addMigrate,
  export: async () => (await import('./commands/export.ts')).addExport,
  generate: async () => (await import('./commands/generate.ts')).addGenerate,
  'generate-policy': async () => (await import('./commands/generate-policy.ts')).addGeneratePolicy,
  'generate-egress': async () => (await import('./commands/generate-egress.ts')).addGenerateEgress,
  'provider-status': async () => (await import('./commands/provider-status.ts')).addProviderStatus,
  mcp: async () => (await import('./commands/mcp.ts')).addMcp,
  register: async () => (await import('./commands/register.ts')).addRegister,
  inject: async () => (await import('./commands/inject.ts')).addInject,
  uninject: async () => (await import('./commands/uninject.ts')).addUninject,
  check: async () => (await import('./commands/check.ts')).addCheck,
  uninstall: async () => (await import('./commands/uninstall.ts')).addUninstall,
  completion: async () => (await import('./commands/completion.ts')).addCompletion,
};

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

/** Runs one command line. Returns every output, including help and usage errors; writes nothing itself. */
export async function runCommandLine(typed: readonly string[], context: CliContext): Promise<Rendered> {
  const args = withoutUnknownHelp(typed);
  const written = { output: '', errors: '' };
  let rendered: Rendered | undefined;
  const program = createProgram(await neededCommands(args), context, (result) => {
    rendered = result;
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
    return usageResult(error, written, wantsJson(args));
  }
  return rendered ?? { ...written, exitCode: 0 };
}

/** `help foo` has the same error as `foo`: commander would print the help of all commands without a reason. */
function withoutUnknownHelp(args: readonly string[]): readonly string[] {
  const [first, name] = args;
  const isUnknown =
    first === 'help' && name !== undefined && !name.startsWith('-') && !Object.hasOwn(COMMANDS, name);
  return isUnknown ? args.slice(1) : args;
}

function wantsJson(args: readonly string[]): boolean {
  return args.includes('--json') || /(?:^| )(?:-o|--output)[ =]?json(?: |$)/.test(args.join(' '));
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
    .helpCommand('help [command]', 'show help for a command')
    .showHelpAfterError('(run platform --help for a list of commands)')
    .addHelpText('after', ROOT_HELP);
  for (const add of commands) add(program, context, finish);
  for (const command of program.commands) {
    command.showHelpAfterError(`(run platform ${command.name()} --help for usage)`);
    rejectEmptyValues(command);
  }
  return program;
}

const ROOT_HELP = `
Examples:
  $ platform init my-agent
  $ platform validate agent.yaml
  $ platform health agent.yaml --fail-on warning
  $ platform audit agent.yaml --url http://localhost:4001
  $ platform generate agent.yaml --deploy k8s
  $ platform generate-policy agent.yaml --out policy/my-agent
  $ platform check

Exit codes: 0 success; 1 a problem was found, or the command line is not valid.
Colours are used only on a terminal; NO_COLOR=1 or TERM=dumb disables them.`;
