import { InvalidArgumentError, Option, type Command } from 'commander';
import { FORMATS } from '../../core/manifest/schema-node.ts';
import { RUNTIMES, type Runtime } from '../../core/observation/runtimes.ts';
import type { CliContext } from '../context.ts';
import { load } from '../load.ts';
import { httpUrl } from '../option-values.ts';
import type { Rendered } from '../rendered.ts';
import { register, type RegisterOptions } from './register.ts';

type Typed = Omit<RegisterOptions, 'url' | 'json' | 'runtime'> & { url?: URL; json?: true; runtime: Runtime };

const URL_VARIABLE = 'PLATFORM_CONTROL_PLANE_URL';

export function addRegister(
  program: Command,
  context: CliContext,
  finish: (rendered: Rendered) => void,
): void {
  program
    .command('register')
    .summary('get a key for an agent outside the cluster')
    .description(
      'Registers an agent with the control plane and prints the environment variables that its sidecar or reporter needs to send heartbeats. Agents in the cluster need no key.',
    )
    .argument('[file]', 'path to the manifest, such as agent.yaml; or pass --name')
    .option('--name <name>', 'name of the agent; default: the name in the manifest', agentName)
    .option('--url <url>', `URL of the control plane; default: ${URL_VARIABLE}`, httpUrl)
    .addOption(new Option('--runtime <runtime>', 'where the agent runs').choices(RUNTIMES).default('local'))
    .option('--ca <file>', 'PEM file with the CA certificate of the control plane')
    .option('--admin-key-file <file>', 'file with the admin key; default: PLATFORM_ADMIN_KEY')
    .option('--out-file <file>', 'write the key to a file that only you can read, instead of printing it')
    .option('--json', 'print {agentId, agentName, expiresAt, isNew, settings}')
    .addHelpText('after', HELP)
    .action(async (file: string | undefined, typed: Typed, command: Command) => {
      const url = typed.url ?? urlOf(context.env[URL_VARIABLE], command);
      if (file === undefined && typed.name === undefined)
        command.error('error: pass a manifest file or --name');
      const options = { ...typed, url, json: typed.json === true };
      finish(await register(file === undefined ? null : await load(file, context), options, context));
    });
}

const HELP = `
Examples:
  $ platform register agent.yaml --url https://platform.example.com
  $ platform register --name shop --runtime docker --out-file shop.key
  $ platform register agent.yaml >> .env

The admin key comes from PLATFORM_ADMIN_KEY or a file, never from an option, because other processes can read options.
Standard output contains only PLATFORM_URL and PLATFORM_KEY. A sidecar renews PLATFORM_KEY while it runs, and renews a
file written by --out-file (PLATFORM_TOKEN_FILE) in place. Registering an agent again creates a new key and invalidates
the previous keys.

Exit codes: 0 registered; 1 not registered.`;

function agentName(value: string): string {
  if (!new RegExp(FORMATS.dnsLabel.pattern).test(value))
    throw new InvalidArgumentError(`Must be ${FORMATS.dnsLabel.wanted}.`);
  return value;
}

/** The value may contain a password, so it is not shown. */
function urlOf(value: string | undefined, command: Command): URL {
  if (value === undefined || value === '') command.error(`error: --url is required (or set ${URL_VARIABLE})`);
  try {
    return httpUrl(value);
  } catch {
    command.error(`error: ${URL_VARIABLE} must be an http(s) URL without a query`);
  }
}
