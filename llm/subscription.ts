import { describeError } from '../core/untrusted/describe-error.ts';
import type { Environment } from '../runtime/env.ts';
import { ResponseText, resultOf, type Usage } from './response.ts';
import { ResponseFailure, attempt, LIMITS, type Limits } from './attempt.ts';
import {
  notReady,
  type CompletionOptions,
  type CompletionRequest,
  type CompletionResult,
  type Provider,
  type ProviderName,
  type Readiness,
} from './provider.ts';
import { findCommand, inEmptyDirectory, runCli, type CliEnd } from './run-cli.ts';
import { modelOverride } from './settings.ts';

/** A vendor's command that responds to requests with the login of a subscription. */
export interface Cli {
  provider: Extract<ProviderName, 'claude-subscription' | 'codex-subscription'>;
  command: string;
  /** Name of the product, for people who have to install or update it. */
  product: string;
  /** Arguments that print the options for a request. */
  help: readonly string[];
  /** What the help must contain. An older command could take the login check for a prompt, or run tools. */
  required: readonly RegExp[];
  /** Arguments of the login check; its exit code is 0 if there is a login. */
  status: readonly string[];
  /** The command that logs in. */
  login: string;
  /** Variables that the command must not see, such as keys that it would use instead of the login. */
  hidden: readonly string[];
  /** @param hasOption whether the installed version has an option */
  callOf(
    request: CompletionRequest,
    model: string | null,
    hasOption: (option: string) => boolean,
  ): { args: string[]; input: string; env?: Record<string, string> };
  read: (end: CliEnd) => CliResponse;
}

export type CliResponse =
  | { ok: true; text: string; model: string | null; usage: Usage }
  | { ok: false; reason: string };

/** Milliseconds for each command of the check. */
const CHECK_MS = 15_000;
const MAX_CHECK_BYTES = 2 ** 20;

/** Runs the command's own login check, which makes no request to a model. Never rejects. */
export function checkSubscription(cli: Cli, env: Environment, limits: Limits = LIMITS): Promise<Readiness> {
  return readinessOf(cli, env, limits).catch((error: unknown) =>
    notReady(
      `${cli.command} cannot be checked: ${describeError(error)}`,
      'Check the directory for temporary files (TMPDIR).',
    ),
  );
}

async function readinessOf(cli: Cli, env: Environment, limits: Limits): Promise<Readiness> {
  const { command, product, login } = cli;
  const file = await findCommand(command, env['PATH']);
  if (file === null)
    return notReady(`the command ${command} is not on PATH`, `Install ${product} and run: ${login}.`);
  const visible = Object.fromEntries(Object.entries(env).filter(([name]) => !cli.hidden.includes(name)));
  const installed = { file, env: visible, model: modelOverride(env), limits };
  const help = await runCheck(installed, cli.help);
  if (help.exitCode !== 0 || !cli.required.every((pattern) => pattern.test(help.stdout)))
    return notReady(`${file} does not have the required options`, `Update ${product}.`);
  const { exitCode, stdout } = await runCheck(installed, cli.status);
  if (exitCode !== 0 || /"loggedIn":\s*false/.test(stdout))
    return notReady(`${command} is not logged in`, `Run: ${login}.`);
  return { ready: true, provider: subscriptionProvider(cli, { ...installed, help: help.stdout }) };
}

interface Installed {
  file: string;
  env: Environment;
  model: string | null;
  limits: Limits;
}

/** A command that does not end in time has no exit code, so it counts as not ready. */
function runCheck({ file, env }: Installed, args: readonly string[]): Promise<CliEnd> {
  return inEmptyDirectory((cwd) =>
    runCli({
      ...{ file, args, env, cwd, input: '' },
      maxBytes: MAX_CHECK_BYTES,
      signal: AbortSignal.timeout(CHECK_MS),
    }),
  );
}

/** @param installed with the text that lists the options */
function subscriptionProvider(cli: Cli, installed: Installed & { help: string }): Provider {
  const { file, env, model, limits, help } = installed;
  const { command } = cli;
  const options = new Set(help.match(/--[a-z][a-z-]*/g));
  const about = {
    vendor: command,
    limits,
    secrets: [],
    reasonOf: (error: unknown) =>
      error instanceof ResponseFailure ? error.message : `${command} failed: ${describeError(error)}`,
  };
  return {
    name: cli.provider,
    model,
    complete: (request, completion) =>
      attempt(about, completion, (signal) =>
        inEmptyDirectory(async (cwd) => {
          const call = cli.callOf(request, model, (option) => options.has(option));
          const { args, input } = call;
          const end = await runCli({
            ...{ file, args, input, cwd, signal },
            env: { ...env, ...call.env },
            maxBytes: limits.transferBytes,
          });
          return resultFrom(cli, end, installed, completion);
        }),
      ),
  };
}

function resultFrom(
  { command, read }: Cli,
  end: CliEnd,
  { model, limits }: Installed,
  options: CompletionOptions,
): CompletionResult {
  if (end.isTooLarge)
    return {
      ok: false,
      reason: `the output of ${command} is larger than the limit of ${limits.transferBytes} bytes`,
    };
  const response = read(end);
  if (!response.ok) return response;
  const text = new ResponseText(limits, options);
  text.add(response.text);
  const used = response.model ?? model ?? `default of ${command}`;
  return resultOf(command, 'complete', { text: text.value, model: used, usage: response.usage });
}

/** Why a command ended without a result. */
export function failureOf(command: string, { exitCode, stderr }: CliEnd): string {
  const ended = exitCode === null ? 'could not be started or was ended' : `ended with exit code ${exitCode}`;
  const details = stderr.trim();
  return `${command} ${ended} without a response${details === '' ? '' : `: ${details}`}`;
}
