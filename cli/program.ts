import { Command, CommanderError, Option } from 'commander';
import { VERSION } from '../runtime/version.ts';
import { addAudit } from './commands/add-audit.ts';
import { addCheck, addUninstall } from './commands/add-check.ts';
import { addInject, addUninject } from './commands/add-inject.ts';
import { addRegister } from './commands/add-register.ts';
import { generatePolicy } from './commands/generate-policy.ts';
import { FORMATS, health, SEVERITIES, type HealthOptions } from './commands/health.ts';
import { init } from './commands/init.ts';
import { renderSchema, renderValidation } from './commands/validate.ts';
import type { CliContext } from './context.ts';
import { load } from './load.ts';
import { refuseEmptyValues } from './option-values.ts';
import { json, type Rendered } from './rendered.ts';

/** Runs one command line. Every outcome, help and usage errors too, is returned; nothing is written from in here. */
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

/** Help and version are no errors. A usage error goes to standard error; a program that reads JSON gets JSON. */
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

/** The commands in the order of the help. */
export function commandNames(context: CliContext): string[] {
  return createProgram(context, () => undefined).commands.map((command) => command.name());
}

function createProgram(context: CliContext, finish: (rendered: Rendered) => void): Command {
  const program = new Command('platform')
    .description('Checks an agent against its manifest, agent.yaml, and the cluster that it runs in.')
    .version(VERSION, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand('help [command]', 'show help for a command')
    .showHelpAfterError('(platform --help shows every command)')
    .addHelpText('after', ROOT_HELP);
  addValidate(program, context, finish);
  addInit(program, context, finish);
  addHealth(program, context, finish);
  addAudit(program, context, finish);
  addGeneratePolicy(program, context, finish);
  addRegister(program, context, finish);
  addInject(program, context, finish);
  addUninject(program, context, finish);
  addCheck(program, context, finish);
  addUninstall(program, context, finish);
  for (const command of program.commands) {
    command.showHelpAfterError(`(platform ${command.name()} --help shows what it takes)`);
    refuseEmptyValues(command);
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

Exit codes: 0 as asked; 1 a problem was found, or the command line is wrong.
Colours show on a terminal only; NO_COLOR=1 or TERM=dumb turns them off.`;

function addValidate(program: Command, context: CliContext, finish: (rendered: Rendered) => void): void {
  program
    .command('validate')
    .summary('check a manifest against the schema')
    .description(
      'Checks a manifest against the schema: no network, no environment. Lists all problems, and warns of what is declared and cannot be checked.',
    )
    .argument('[file]', 'the manifest, such as agent.yaml')
    .option('--json', 'print {valid, agentName, version, apiVersion, problems[], warnings[]}')
    .option('--schema', 'print the JSON Schema of manifests instead')
    .addHelpText(
      'after',
      `
Examples:
  $ platform validate agent.yaml
  $ platform validate agent.yaml --json
  $ platform validate --schema > agent.schema.json

Exit codes: 0 valid; 1 not valid, or not readable.`,
    )
    .action(async (file: string | undefined, options: { json?: true; schema?: true }, command: Command) => {
      if (options.schema === true) finish(renderSchema());
      else if (file === undefined) command.error("error: missing required argument 'file'");
      else finish(renderValidation(await load(file, context), { json: options.json === true }));
    });
}

function addInit(program: Command, context: CliContext, finish: (rendered: Rendered) => void): void {
  program
    .command('init')
    .summary('write a first manifest')
    .description('Writes a first agent.yaml into a folder. An existing file is never overwritten.')
    .argument('[dir]', 'the folder', '.')
    .option('--yes', 'take the defaults, ask nothing (also when there is no terminal)')
    .addHelpText(
      'after',
      `
Examples:
  $ platform init
  $ platform init agents/travel --yes

Exit codes: 0 written; 1 not written.`,
    )
    .action(async (dir: string, options: { yes?: true }) =>
      finish(await init(dir, { yes: options.yes === true }, context)),
    );
}

function addHealth(program: Command, context: CliContext, finish: (rendered: Rendered) => void): void {
  program
    .command('health')
    .summary('check what a manifest needs, from this machine')
    .description(
      'Checks from this machine what a manifest needs: variables, files, secrets, the model, services, MCP servers, memory.',
    )
    .argument('<file>', 'the manifest, such as agent.yaml')
    .option('--json', 'the same as --format json')
    .addOption(new Option('--format <format>', 'how to print the report').choices(FORMATS).default('table'))
    .addOption(
      new Option('--fail-on <severity>', 'least severity of a failed check that makes the exit code 1')
        .choices(SEVERITIES)
        .default('error'),
    )
    .option('--no-model', 'do not ask the model provider')
    .option('--no-mcp', 'do not connect to MCP servers')
    .option('--no-memory', 'do not connect to memory stores')
    .addHelpText(
      'after',
      `
Examples:
  $ platform health agent.yaml
  $ platform health agent.yaml --json --no-model
  $ platform health agent.yaml --fail-on warning

Redis is asked for a PING, PostgreSQL with a startup packet, anything else by a TCP connection; no password is sent.
PLATFORM_SECRET_DIR names the folder of $secret: values; without it they are in PLATFORM_SECRET_<NAME>.
<PROVIDER>_BASE_URL, such as OPENAI_BASE_URL, moves the model check to another address.

Exit codes: 0 no failed check of that severity (by default: healthy or degraded); 1 there is one, or the manifest is not valid.`,
    )
    .action(async (file: string, options: HealthOptions & { json?: true }) => {
      const format = options.json === true ? 'json' : options.format;
      finish(await health(await load(file, context), { ...options, format }, context));
    });
}

function addGeneratePolicy(
  program: Command,
  context: CliContext,
  finish: (rendered: Rendered) => void,
): void {
  program
    .command('generate-policy')
    .summary('turn a manifest into rules for a policy engine')
    .description(
      'Turns what a manifest declares about behavior into rules for Open Policy Agent, one for each declaration. Without --out it shows them.',
    )
    .argument('<file>', 'the manifest, such as agent.yaml')
    .option(
      '--out <dir>',
      'write policy.rego, data.json and policy_test.rego into a folder, which should hold nothing else',
    )
    .option('--json', 'print {agentName, package, denyPath, rules[], config}, with --out files[] too')
    .addHelpText(
      'after',
      `
Examples:
  $ platform generate-policy agent.yaml
  $ platform generate-policy agent.yaml --out policy/my-agent
  $ opa test policy/my-agent
  $ opa run --server --ignore '.*' policy/my-agent policy/other-agent

The engine listens on localhost:8181; a sidecar asks it with POLICY_URL=http://localhost:8181. Several agents share one
engine when each folder is named by itself, as above: naming the folder above them would move their data.
--ignore '.*' is for folders mounted from a ConfigMap. A newer policy of the same agent replaces an older one; any
other file stays as it is.

Exit codes: 0 shown or written; 1 the manifest is not valid, or nothing was written.`,
    )
    .action(async (file: string, options: { out?: string; json?: true }) =>
      finish(
        await generatePolicy(await load(file, context), { ...options, json: options.json === true }, context),
      ),
    );
}
