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
import { causeOf, rejectionToWrite, replaceFile } from '../write-file.ts';
import { problemLines } from './validate.ts';

export interface RegisterOptions {
  /** Name of the agent; default: the manifest's. */
  name?: string;
  url: URL;
  runtime: Runtime;
  json: boolean;
  /** PEM file with the CA of the control plane, as it was typed. */
  ca?: string;
  adminKeyFile?: string;
  /** File for the key, which then is not shown. */
  outFile?: string;
}

const TIMEOUT_MS = 15_000;

/** `register [file]`: a key for an agent outside the cluster, from the control plane. */
export async function register(
  loaded: LoadedManifest | null,
  options: RegisterOptions,
  context: CliContext,
): Promise<Rendered> {
  const { url, runtime, ca: caFile, outFile } = options;
  if (loaded?.ok === false) return rejection(problemLines(loaded).trimEnd(), options);
  const agentName = options.name ?? loaded?.manifest.metadata.name ?? '';
  const admin = await adminKey(options.adminKeyFile, context);
  if (!admin.ok) return rejection(admin.reason, options);
  const ca = await readCa(caFile, url, context);
  if (!ca.ok) return rejection(ca.reason, options);
  // Before anything is asked: the old keys are gone once there is a new one.
  const blocked = outFile === undefined ? null : await rejectionToWrite(resolve(context.cwd, outFile));
  if (blocked !== null) return rejection(`${printable(outFile ?? '')} cannot be written: ${blocked}`, options);
  if (isReadableOnTheWay(url))
    context.warn?.(
      `warning: the admin key and the new key go to ${shownUrl(url)} unencrypted: whoever reads the network gets them; use https://`,
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
  if (outcome.kind !== 'registered') return rejection(`${shownUrl(url)} ${whyNot(outcome, options)}`, options);
  return granted({ ...outcome, agentName }, options, context);
}

function rejection(reason: string, options: Pick<RegisterOptions, 'json'>): Rendered {
  return failed(`${reason}\n`, options.json ? json({ error: reason }) : '');
}

type Ca = { ok: true; pem: string | null } | { ok: false; reason: string };

async function readCa(file: string | undefined, url: URL, { cwd }: CliContext): Promise<Ca> {
  if (file === undefined) return { ok: true, pem: null };
  if (url.protocol !== 'https:')
    return { ok: false, reason: `--ca is for an address that begins with https://, not ${shownUrl(url)}` };
  try {
    const pem = await readFile(resolve(cwd, file), 'utf8');
    // Node.js would take a file without a certificate for an empty list of them.
    void new X509Certificate(pem);
    return { ok: true, pem };
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    const why = code.startsWith('ERR_') ? 'it holds no certificate in PEM form' : code;
    return { ok: false, reason: `the CA cannot be read from ${printable(file)}: ${why}` };
  }
}

function whyNot(
  outcome: Exclude<RegistrationOutcome, { kind: 'registered' }>,
  { url, ca }: RegisterOptions,
): string {
  if (outcome.kind === 'failed') return `cannot be asked: ${connectionFailure(outcome.error, url, ca)}`;
  if (outcome.kind === 'strange') return `answers ${outcome.status} without a key: is it a control plane?`;
  const { status } = outcome;
  const detail = outcome.detail === '' ? '' : `: ${printable(outcome.detail)}`;
  switch (status) {
    case 401:
      return `does not see the admin key (401${detail}): does something before it drop the header X-Admin-Key?`;
    case 403:
      return `refuses the admin key (403${detail}): it is not the PLATFORM_ADMIN_KEY of this control plane`;
    case 404:
    case 405:
      return `is no control plane: it answers POST /api/v1/register with ${status}`;
    default:
      return `does not register the agent (${status}${detail})`;
  }
}

type Granted = RegistrationOutcome & { kind: 'registered' } & { agentName: string };

/** What to set: on standard output as `NAME=value` lines, the rest on standard error. The key is shown once, or never. */
async function granted(key: Granted, options: RegisterOptions, context: CliContext): Promise<Rendered> {
  const { url, ca, outFile } = options;
  const path = outFile === undefined ? null : resolve(context.cwd, outFile);
  const said = [
    `registered ${printable(key.agentName)} as ${printable(key.agentId)}; its key is valid until ${key.expiresAt}`,
    ...(key.isNew ? [] : ['it was registered before: its older keys no longer work']),
  ];
  if (path !== null) {
    try {
      await replaceFile(path, `${key.apiKey}\n`, { mode: 0o600 });
    } catch (error) {
      const reason = `the key is lost, register again: ${printable(outFile ?? '')} cannot be written: ${causeOf(error)}`;
      return rejection(reason, options);
    }
    said.push(`wrote the key to ${printable(outFile ?? '')}`);
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
    errors: said.map((line) => `${line}\n`).join(''),
    exitCode: 0,
  };
}

/** Plain HTTP to another host. */
function isReadableOnTheWay(url: URL): boolean {
  return url.protocol === 'http:' && !/^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(url.hostname);
}
