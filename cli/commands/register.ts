import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Runtime } from '../../core/observation/runtimes.ts';
import { registerAgent, type RegistrationOutcome } from '../../push/register-agent.ts';
import type { LoadedManifest } from '../../runtime/manifest-file.ts';
import { adminKey } from '../admin-key.ts';
import { connectionFailure } from '../connection-failure.ts';
import type { CliContext } from '../context.ts';
import { failed, json, printable, type Rendered } from '../rendered.ts';
import { shownUrl } from '../sidecar-evidence.ts';
import { replaceFile } from '../../push/replace-file.ts';
import { causeOf, rejectionToWrite } from '../write-file.ts';
import { problemLines, problemText } from './validate.ts';

export interface RegisterOptions {
  /** Name of the agent; default: the name in the manifest. */
  name?: string;
  url: URL;
  runtime: Runtime;
  json: boolean;
  /** PEM file with the CA certificate of the control plane, as typed. */
  ca?: string;
  adminKeyFile?: string;
  /** File for the key, instead of standard output. */
  outFile?: string;
}

const TIMEOUT_MS = 15_000;

/** `register [file]`: gets a key from the control plane for an agent outside the cluster. */
export async function register(
  loaded: LoadedManifest | null,
  options: RegisterOptions,
  context: CliContext,
): Promise<Rendered> {
  const { url, runtime, ca: caFile, outFile } = options;
  if (loaded?.ok === false)
    return failed(problemLines(loaded), options.json ? json({ error: problemText(loaded) }) : '');
  const agentName = options.name ?? loaded?.manifest.metadata.name ?? '';
  const admin = await adminKey(options.adminKeyFile, context);
  if (!admin.ok) return rejection(admin.reason, options);
  const ca = await readCa(caFile, url, context);
  if (!ca.ok) return rejection(ca.reason, options);
  // Checked before the request, because a new key invalidates the old keys.
  const blocked = outFile === undefined ? null : await rejectionToWrite(resolve(context.cwd, outFile));
  if (blocked !== null) return rejection(`cannot write ${printable(outFile ?? '')}: ${blocked}`, options);
  if (isUnencrypted(url))
    context.warn?.(
      `warning: the admin key and the new key are sent unencrypted to ${shownUrl(url)}; use https://`,
    );
  const outcome = await registerAgent({
    base: url,
    adminKey: admin.key,
    agentName,
    runtime,
    manifest: loaded?.text ?? null,
    ca: ca.pem,
    timeoutMs: TIMEOUT_MS,
  });
  if (outcome.kind !== 'registered') return rejection(failureReason(outcome, options), options);
  return granted({ ...outcome, agentName }, options, context);
}

function rejection(reason: string, options: Pick<RegisterOptions, 'json'>): Rendered {
  return failed(`error: ${reason}\n`, options.json ? json({ error: reason }) : '');
}

type Ca = { ok: true; pem: string | null } | { ok: false; reason: string };

async function readCa(file: string | undefined, url: URL, { cwd }: CliContext): Promise<Ca> {
  if (file === undefined) return { ok: true, pem: null };
  if (url.protocol !== 'https:')
    return { ok: false, reason: `--ca requires an https:// URL, got ${shownUrl(url)}` };
  try {
    const pem = await readFile(resolve(cwd, file), 'utf8');
    // Node.js would accept a file without a certificate as an empty list.
    void new X509Certificate(pem);
    return { ok: true, pem };
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    const why = code.startsWith('ERR_') ? 'it contains no PEM certificate' : code;
    return { ok: false, reason: `cannot read the CA from ${printable(file)}: ${why}` };
  }
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

type Granted = RegistrationOutcome & { kind: 'registered' } & { agentName: string };

/** Prints the variables to standard output as `NAME=value` lines, messages to standard error. The key is printed at most once. */
async function granted(key: Granted, options: RegisterOptions, context: CliContext): Promise<Rendered> {
  const { url, ca, outFile } = options;
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
      return rejection(reason, options);
    }
    messages.push(`wrote the key to ${printable(outFile ?? '')}`);
  }
  const secret = path === null ? { PLATFORM_KEY: key.apiKey } : { PLATFORM_TOKEN_FILE: path };
  const settings = {
    PLATFORM_URL: shownUrl(url),
    ...secret,
    ...(ca === undefined ? {} : { PLATFORM_CA_FILE: resolve(context.cwd, ca) }),
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`);
  const { agentId, agentName, expiresAt, isNew } = key;
  return {
    output: options.json ? json({ agentId, agentName, expiresAt, isNew, settings }) : lines.join(''),
    errors: messages.map((line) => `${line}\n`).join(''),
    exitCode: 0,
  };
}

/** Plain HTTP to another host. */
function isUnencrypted(url: URL): boolean {
  return url.protocol === 'http:' && !/^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(url.hostname);
}
