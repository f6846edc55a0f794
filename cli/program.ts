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
import { rejectEmptyValues } from './option-values.ts';
import { json, type Rendered } from './rendered.ts';

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

function addValidate(program: Command, context: CliContext, finish: (rendered: Rendered) => void): void {
  program
    .command('validate')
    .summary('check a manifest against the schema')
    .description(
      'Checks a manifest against the schema, without network or environment. Lists all problems, and warns about declarations that cannot be checked.',
    )
    .argument('[file]', 'path to the manifest, such as agent.yaml')
    .option('--json', 'print {valid, agentName, version, apiVersion, problems[], warnings[]}')
    .option('--schema', 'print the JSON Schema of manifests instead')
    .addHelpText(
      'after',
      `
Examples:
  $ platform validate agent.yaml
  $ platform validate agent.yaml --json
  $ platform validate --schema > agent.schema.json

Exit codes: 0 valid; 1 not valid, or the file cannot be read.`,
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
    .description('Writes a first agent.yaml to a directory. Never overwrites an existing file.')
    .argument('[dir]', 'target directory', '.')
    .option('--yes', 'use the defaults without prompts (implied without a terminal)')
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
    .summary('check the requirements of a manifest from this machine')
    .description(
      'Checks from this machine the requirements of a manifest: variables, files, secrets, the model, services, MCP servers, memory.',
    )
    .argument('<file>', 'path to the manifest, such as agent.yaml')
    .option('--json', 'same as --format json')
    .addOption(new Option('--format <format>', 'output format').choices(FORMATS).default('table'))
    .addOption(
      new Option('--fail-on <severity>', 'exit with 1 if a failed check has at least this severity')
        .choices(SEVERITIES)
        .default('error'),
    )
    .option('--no-model', 'do not query the model provider')
    .option('--no-mcp', 'do not connect to MCP servers')
    .option('--no-memory', 'do not connect to memory stores')
    .addHelpText(
      'after',
      `
Examples:
  $ platform health agent.yaml
  $ platform health agent.yaml --json --no-model
  $ platform health agent.yaml --fail-on warning

Redis is checked with PING, PostgreSQL with a startup packet, other services with a TCP connection. No password is sent.
PLATFORM_SECRET_DIR is the directory with the $secret: values. Without it they are read from PLATFORM_SECRET_<NAME>.
<PROVIDER>_BASE_URL, such as OPENAI_BASE_URL, changes the address of the model check.

Exit codes: 0 no failed check of that severity or above (default: error); 1 at least one such check, or the manifest is not
valid.`,
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
    .summary('generate policy engine rules from a manifest')
    .description(
      'Generates rules for Open Policy Agent from the behavior that a manifest declares, one rule per declaration. Without --out it prints them.',
    )
    .argument('<file>', 'path to the manifest, such as agent.yaml')
    .option(
      '--out <dir>',
      'write policy.rego, data.json and policy_test.rego to a directory, which should contain nothing else',
    )
    .option('--json', 'print {agentName, package, denyPath, rules[], config}; with --out also files[]')
    .addHelpText(
      'after',
      `
Examples:
  $ platform generate-policy agent.yaml
  $ platform generate-policy agent.yaml --out policy/my-agent
  $ opa test policy/my-agent
  $ opa run --server --ignore '.*' policy/my-agent policy/other-agent

The engine listens on localhost:8181; set POLICY_URL=http://localhost:8181 for the sidecar. For several agents on one
engine, list each directory, as above. Listing only the parent directory would change the paths of their data.
--ignore '.*' is needed for directories mounted from a ConfigMap. A new policy replaces an older policy of the same agent;
other files are not changed.

Exit codes: 0 printed or written; 1 the manifest is not valid, or nothing was written.`,
    )
    .action(async (file: string, options: { out?: string; json?: true }) =>
      finish(
        await generatePolicy(await load(file, context), { ...options, json: options.json === true }, context),
      ),
    );
}
