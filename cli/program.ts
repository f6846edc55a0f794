import { Command, CommanderError } from 'commander';
import { VERSION } from '../runtime/version.ts';
import { addAudit } from './commands/audit.ts';
import { addCheck } from './commands/check.ts';
import { addCompletion } from './commands/completion.ts';
import { addDiff } from './commands/diff.ts';
import { addEvaluate } from './commands/evaluate.ts';
import { addExport } from './commands/export.ts';
import { addGeneratePolicy } from './commands/generate-policy.ts';
import { addHealth } from './commands/health.ts';
import { addInit } from './commands/init.ts';
import { addInject } from './commands/inject.ts';
import { addMigrate } from './commands/migrate.ts';
import { addRegister } from './commands/register.ts';
import { addScan } from './commands/scan.ts';
import { addUninject } from './commands/uninject.ts';
import { addUninstall } from './commands/uninstall.ts';
import { addValidate } from './commands/validate.ts';
import type { AddCommand, CliContext } from './context.ts';
import { rejectEmptyValues } from './option-values.ts';
import { json, type Rendered } from './rendered.ts';

/** In help order. */
const COMMANDS: readonly AddCommand[] = [
  addValidate,
  addInit,
  addScan,
  addHealth,
  addAudit,
  addEvaluate,
  addDiff,
  addMigrate,
  addExport,
  addGeneratePolicy,
  addRegister,
  addInject,
  addUninject,
  addCheck,
  addUninstall,
  addCompletion,
];

/** Runs one command line. Returns every output, including help and usage errors; writes nothing itself. */
export async function runCommandLine(args: readonly string[], context: CliContext): Promise<Rendered> {
  const written = { output: '', errors: '' };
  let rendered: Rendered | undefined;
  const program = createProgram(context, (result) => {
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

/** Command names in help order. */
export function commandNames(context: CliContext): string[] {
  return createProgram(context, () => undefined).commands.map((command) => command.name());
}

function createProgram(context: CliContext, finish: (rendered: Rendered) => void): Command {
  const program = new Command('platform')
    .description('Checks an AI agent against its manifest, agent.yaml, and the cluster in which it runs.')
    .version(VERSION, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand('help [command]', 'show help for a command')
    .showHelpAfterError('(run platform --help for a list of commands)')
    .addHelpText('after', ROOT_HELP);
  for (const add of COMMANDS) add(program, context, finish);
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
  $ platform generate-policy agent.yaml --out policy/my-agent
  $ platform check

Exit codes: 0 success; 1 a problem was found, or the command line is not valid.
Colours are used only on a terminal; NO_COLOR=1 or TERM=dumb disables them.`;
