import type { Environment } from '../../runtime/env.ts';
import { notFound, type Found } from '../admin-key.ts';

const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const VALUE = /^[\t\x20-\x7e]*$/;
const REFERENCE = /\$env:([A-Za-z_][A-Za-z0-9_]*)/g;
/** Headers that belong to the body, to the connection or to the formats of the response that are read. */
const RESERVED: readonly string[] = [
  'accept',
  'accept-encoding',
  'connection',
  'content-length',
  'content-type',
  'transfer-encoding',
];

/** Collects the values of `--header`. They are checked later, because the message of a usage error would show the value. */
export function collectHeader(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}

/**
 * Reads `Name: value` texts. `$env:VAR` in a value stands for a variable of the environment, so that a token is neither in the
 * history of the shell nor in the list of processes. A reason never contains a value.
 */
export function requestHeaders(given: readonly string[], env: Environment): Found<Record<string, string>> {
  const headers: Record<string, string> = {};
  for (const [index, text] of given.entries()) {
    const colon = text.indexOf(':');
    const name = text.slice(0, Math.max(0, colon)).trim().toLowerCase();
    if (!NAME.test(name)) return notFound(`--header number ${index + 1} must be "Name: value"`);
    if (RESERVED.includes(name)) return notFound(`--header cannot set ${name}`);
    const value = text.slice(colon + 1).trim();
    const variables = Array.from(value.matchAll(REFERENCE), ([, variable = '']) => variable);
    const unset = variables.find((variable) => (env[variable] ?? '') === '');
    if (unset !== undefined) return notFound(`--header ${name}: the variable ${unset} is not set`);
    const resolved = value.replaceAll(REFERENCE, (_, variable: string) => env[variable] ?? '');
    if (!VALUE.test(resolved)) return notFound(`--header ${name}: the value must be printable ASCII`);
    headers[name] = resolved;
  }
  return { ok: true, value: headers };
}
