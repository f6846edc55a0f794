import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { notFound, usableKey, type Found } from './admin-key.ts';
import type { CliContext } from './context.ts';
import { parseHttpUrl } from './http-url.ts';
import { isLoopback } from './option-values.ts';
import { printable } from './rendered.ts';
import { shownUrl } from './sidecar-request.ts';

export const URL_VARIABLE = 'PLATFORM_CONTROL_PLANE_URL';
const ADMIN_KEY_VARIABLE = 'PLATFORM_ADMIN_KEY';
const TOKEN_VARIABLE = 'PLATFORM_TOKEN';

/** The value may contain a password, so it is not shown. */
export function urlOf(value: string | undefined, command: Command): URL {
  if (value === undefined || value === '') command.error(`error: --url is required (or set ${URL_VARIABLE})`);
  const url = parseHttpUrl(value);
  return url ?? command.error(`error: ${URL_VARIABLE} must be an http(s) URL without a query`);
}

/** From a file, else from the environment. Never from the command line: other processes on the machine can read it. */
export async function adminKey(
  file: string | undefined,
  { env, cwd }: Pick<CliContext, 'env' | 'cwd'>,
): Promise<Found<string>> {
  if (file === undefined) {
    const value = env[ADMIN_KEY_VARIABLE] ?? '';
    return value.trim() === ''
      ? notFound(`no admin key of the control plane: set ${ADMIN_KEY_VARIABLE} or pass --admin-key-file`)
      : usableKey(value, ADMIN_KEY_VARIABLE);
  }
  try {
    return usableKey(await readFile(resolve(cwd, file), 'utf8'), printable(file));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return notFound(`cannot read the admin key from ${printable(file)}: ${code ?? String(error)}`);
  }
}

/** The header of a caller: its own token from the environment, which names the caller in records, else the admin key. */
export async function credentialHeader(
  file: string | undefined,
  context: Pick<CliContext, 'env' | 'cwd'>,
): Promise<Found<Record<string, string>>> {
  const token = context.env[TOKEN_VARIABLE] ?? '';
  const isToken = file === undefined && token.trim() !== '';
  if (file === undefined && !isToken && (context.env[ADMIN_KEY_VARIABLE] ?? '').trim() === '')
    return notFound(
      `no credential for the control plane: set ${TOKEN_VARIABLE} or ${ADMIN_KEY_VARIABLE}, or pass --admin-key-file`,
    );
  const found = isToken ? usableKey(token, TOKEN_VARIABLE, 'token') : await adminKey(file, context);
  if (!found.ok) return found;
  return {
    ok: true,
    value: isToken ? { authorization: `Bearer ${found.value}` } : { 'x-admin-key': found.value },
  };
}

export async function readCa(
  file: string | undefined,
  url: URL,
  { cwd }: Pick<CliContext, 'cwd'>,
): Promise<Found<string | null>> {
  if (file === undefined) return { ok: true, value: null };
  if (url.protocol !== 'https:') return notFound(`--ca requires an https:// URL, got ${shownUrl(url)}`);
  try {
    const value = await readFile(resolve(cwd, file), 'utf8');
    // Node.js would accept a file without a certificate as an empty list.
    void new X509Certificate(value);
    return { ok: true, value };
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    const why = code.startsWith('ERR_') ? 'it contains no PEM certificate' : code;
    return notFound(`cannot read the CA from ${printable(file)}: ${why}`);
  }
}

/** Warns before a secret is sent to another machine without TLS. @param what the secrets, with their verb */
export function warnPlain(url: URL, what: string, context: Pick<CliContext, 'warn'>): void {
  if (url.protocol === 'http:' && !isLoopback(url))
    context.warn?.(`warning: ${what} sent unencrypted to ${shownUrl(url)}; use https://`);
}
