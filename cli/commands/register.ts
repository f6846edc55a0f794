import { resolve } from 'node:path';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { FORMATS } from '../../core/manifest/schema-node.ts';
import { RUNTIMES, type Runtime } from '../../core/shapes/values.ts';
import { isRecord } from '../../core/untrusted/fields.ts';
import { reasonOf } from '../../probe/reason.ts';
import { registerAgent, type RegistrationOutcome } from '../../push/register-agent.ts';
import { describeRefusal } from '../../runtime/manifest-file.ts';
import type { AddCommand, CliContext } from '../context.ts';
import { adminKey, readCa, URL_VARIABLE, urlOf, warnPlain } from '../control-plane-access.ts';
import { load, problemLines } from '../load.ts';
import { secretUrl } from '../option-values.ts';
import { ManifestArgument } from '../manifest-argument.ts';
import { Alias, formatOption, jsonOption, type FormatFlags } from '../output-options.ts';
import { failed, json, printable, refusal, type Rendered } from '../rendered.ts';
import { shownUrl } from '../sidecar-request.ts';
import { replaceFile } from '../../push/replace-file.ts';
import { causeOf, rejectionToWrite } from '../file-failure.ts';

interface RegisterFlags extends FormatFlags {
  /** Name of the agent; default: the name in the manifest. */
  name?: string;
  url?: URL;
  runtime: Runtime;
  /** PEM file with the CA certificate of the control plane, as typed. */
  ca?: string;
  adminKeyFile?: string;
  /** File for the key, instead of standard output. */
  output?: string;
}

type RegisterOptions = RegisterFlags & { url: URL };

export const addRegister: AddCommand = (program, context, finish) => {
  program
    .command('register')
    .summary('get a key for an agent outside the cluster')
    .description(
      'Registers an agent with the control plane and prints the environment variables that its sidecar or reporter needs to send heartbeats. Agents in the cluster need no key.',
    )
    .addArgument(
      new ManifestArgument({ what: 'path to the manifest, not needed with --name', unless: 'name' }),
    )
    .option('--name <name>', 'name of the agent; default: the name in the manifest', agentName)
    .option('--url <url>', `URL of the control plane; default: ${URL_VARIABLE}`, secretUrl)
    .addOption(new Option('--runtime <runtime>', 'where the agent runs').choices(RUNTIMES).default('local'))
    .option('--ca <file>', 'PEM file with the CA certificate of the control plane')
    .option('--admin-key-file <file>', 'file with the admin key; default: PLATFORM_ADMIN_KEY')
    .option('--output <file>', 'write the key to a file that only you can read, instead of printing it')
    .addOption(new Alias('--out-file <file>', 'output'))
    .addOption(jsonOption('{agentId, agentName, expiresAt, isNew, settings}'))
    .addOption(formatOption())
    .addHelpText('after', HELP)
    .action(async (file: string | undefined, flags: RegisterFlags, command: Command) => {
      const url = flags.url ?? urlOf(context.env[URL_VARIABLE], command);
      finish(await register(file, { ...flags, url }, context));
    });
};

const HELP = `
Examples:
  $ platform register --url https://platform.example.com
  $ platform register --name shop --runtime docker --output shop.key
  $ platform register agent.yaml >> .env

The admin key comes from PLATFORM_ADMIN_KEY or a file, never from an option, because other processes can read options.
Standard output contains only PLATFORM_URL and PLATFORM_KEY. A sidecar renews PLATFORM_KEY while it runs, and renews a
file written by --output (PLATFORM_TOKEN_FILE) in place. Registering an agent again creates a new key and invalidates
the previous keys.

Exit codes: 0 registered; 1 not registered.`;

function agentName(value: string): string {
  if (!new RegExp(FORMATS.dnsLabel.pattern).test(value))
    throw new InvalidArgumentError(`Must be ${FORMATS.dnsLabel.wanted}.`);
  return value;
}

const TIMEOUT_MS = 15_000;

/** Gets a key from the control plane for an agent outside the cluster. */
async function register(
  file: string | undefined,
  options: RegisterOptions,
  context: CliContext,
): Promise<Rendered> {
  const { url, runtime, ca: caFile, output: outFile } = options;
  const loaded = file === undefined ? null : await load(file, context);
  if (loaded?.ok === false)
    return failed(
      problemLines(loaded),
      options.json ? json({ error: describeRefusal(loaded).join('\n') }) : '',
    );
  const agentName = options.name ?? loaded?.manifest.metadata.name ?? '';
  const admin = await adminKey(options.adminKeyFile, context);
  if (!admin.ok) return refusal(admin.reason, options.json);
  const ca = await readCa(caFile, url, context);
  if (!ca.ok) return refusal(ca.reason, options.json);
  // Checked before the request, because a new key invalidates the old keys.
  const inputs = [file, options.adminKeyFile, caFile].flatMap((each) =>
    each === undefined ? [] : [resolve(context.cwd, each)],
  );
  const blocked =
    outFile === undefined ? null : await rejectionToWrite(resolve(context.cwd, outFile), inputs);
  if (blocked !== null) return refusal(`cannot write ${printable(outFile ?? '')}: ${blocked}`, options.json);
  warnPlain(url, 'the admin key and the new key are', context);
  const outcome = await registerAgent({
    base: url,
    adminKey: admin.value,
    agentName,
    runtime,
    manifest: loaded?.text ?? null,
    ca: ca.value,
    timeoutMs: TIMEOUT_MS,
  });
  if (outcome.kind !== 'registered') return refusal(failureReason(outcome, options), options.json);
  return granted({ ...outcome, agentName }, options, context);
}

function failureReason(
  outcome: Exclude<RegistrationOutcome, { kind: 'registered' }>,
  { url, ca }: RegisterOptions,
): string {
  const server = shownUrl(url);
  if (outcome.kind === 'failed')
    return `cannot connect to ${server}: ${connectionFailure(outcome.error, url, ca)}`;
  if (outcome.kind === 'unexpected')
    return `${server} returned ${outcome.status} without a valid key; check that it is a control plane`;
  const { status } = outcome;
  const detail = outcome.detail === '' ? '' : `: ${printable(outcome.detail)}`;
  switch (status) {
    case 401:
      return `${server} did not receive the admin key (401${detail}); check whether a proxy removes the header X-Admin-Key`;
    case 403:
      return `${server} rejected the admin key (403${detail}); it differs from the PLATFORM_ADMIN_KEY of this control plane`;
    case 404:
    case 405:
      return `${server} is not a control plane: POST /api/v1/register returned ${status}`;
    default:
      return `${server} did not register the agent (${status}${detail})`;
  }
}

const UNTRUSTED = new Set([
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'CERT_SIGNATURE_FAILURE',
]);

const INVALID: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet; check the clock of this machine',
};

/** Why a connection failed, and what to do. `caFile`: the `--ca` file, as typed. */
function connectionFailure(error: unknown, url: URL, caFile: string | undefined): string {
  const code = codeOf(error);
  if (UNTRUSTED.has(code))
    return caFile === undefined
      ? 'its certificate is not signed by a trusted CA; pass the CA file with --ca'
      : `its certificate is not signed by the CA in ${caFile}`;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `its certificate is not valid for the host name ${url.hostname}`;
  if (code === '') return error instanceof Error ? error.message : String(error);
  return INVALID[code] ?? reasonOf(error) + hint(code, url);
}

/** Using http for https, or the reverse, shows as a protocol error. */
function hint(code: string, { protocol }: URL): string {
  if (protocol === 'https:' && (code === 'EPROTO' || code.startsWith('ERR_SSL_')))
    return '; check whether the URL should start with http://';
  if (protocol === 'http:' && (code === 'ECONNRESET' || code.startsWith('HPE_')))
    return '; check whether the URL should start with https://';
  return '';
}

function codeOf(error: unknown): string {
  const code = isRecord(error) ? error['code'] : undefined;
  return typeof code === 'string' ? code : '';
}

type Granted = RegistrationOutcome & { kind: 'registered' } & { agentName: string };

/** Prints the variables to standard output as `NAME=value` lines, messages to standard error. The key is printed at most once. */
async function granted(key: Granted, options: RegisterOptions, context: CliContext): Promise<Rendered> {
  const { url, ca, output: outFile } = options;
  const path = outFile === undefined ? null : resolve(context.cwd, outFile);
  const messages = [
    `registered ${printable(key.agentName)} as ${printable(key.agentId)}; its key is valid until ${key.expiresAt}`,
    ...(key.isNew ? [] : ['the agent was already registered; its previous keys are no longer valid']),
  ];
  if (path !== null) {
    try {
      await replaceFile(path, `${key.apiKey}\n`, 0o600);
    } catch (error) {
      const reason = `the key is lost, register again: cannot write ${printable(outFile ?? '')}: ${causeOf(error)}`;
      return refusal(reason, options.json);
    }
    messages.push(`wrote the key to ${printable(outFile ?? '')}`);
  }
  const secret = path === null ? { PLATFORM_KEY: key.apiKey } : { PLATFORM_TOKEN_FILE: path };
  const settings = {
    PLATFORM_URL: shownUrl(url),
    ...secret,
    ...(ca !== undefined && { PLATFORM_CA_FILE: resolve(context.cwd, ca) }),
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`);
  const { agentId, agentName, expiresAt, isNew } = key;
  return {
    output: options.json ? json({ agentId, agentName, expiresAt, isNew, settings }) : lines.join(''),
    errors: messages.map((line) => `${line}\n`).join(''),
    exitCode: 0,
  };
}
