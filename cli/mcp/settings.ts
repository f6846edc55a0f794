import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { isRecord, jsonOf, own } from '../../core/untrusted/fields.ts';
import type { Environment } from '../../runtime/env.ts';
import { notFound, type Found } from '../admin-key.ts';
import { readCauseOf } from '../file-failure.ts';
import { printable } from '../rendered.ts';
import { decodeText } from '../source-files.ts';
import { VARIABLES } from './target.ts';

/** The settings of an editor, and the variables that override them. */
const SETTINGS: Readonly<Record<string, string>> = {
  sidecarUrl: VARIABLES.sidecarUrl,
  'cluster.controlPlaneUrl': VARIABLES.controlPlaneUrl,
  'cluster.adminKey': VARIABLES.adminKey,
};
/** Prefix of the settings in a file that other programs also use, such as .vscode/settings.json. */
const PREFIX = 'agentCompliance';

/** The environment, completed by the settings in a JSON file. Errors do not contain values. */
export async function withSettings(
  file: string | undefined,
  cwd: string,
  env: Environment,
): Promise<Found<Environment>> {
  if (file === undefined) return { ok: true, value: env };
  const shown = printable(file);
  let text: string;
  try {
    text = decodeText(await readFile(resolve(cwd, file)));
  } catch (error) {
    return notFound(`cannot read ${shown}: ${readCauseOf(error)}`);
  }
  const settings = jsonOf(text);
  if (!isRecord(settings)) return notFound(`${shown} must contain a JSON object, without comments`);
  const complete: Record<string, string | undefined> = { ...env };
  for (const [name, variable] of Object.entries(SETTINGS)) {
    const value = settingIn(settings, name);
    if (value !== undefined && typeof value !== 'string') return notFound(`${shown}: ${name} must be a text`);
    if (isUnset(env, variable) && !isUnsafe(variable, env)) complete[variable] = value;
  }
  return { ok: true, value: complete };
}

const isUnset = (env: Environment, variable: string): boolean => (env[variable] ?? '').trim() === '';

/** The file can come from a repository, so it must not direct the key of the environment to another address. */
const isUnsafe = (variable: string, env: Environment): boolean =>
  variable === VARIABLES.controlPlaneUrl && !isUnset(env, VARIABLES.adminKey);

/** `cluster.adminKey` as one key or as objects, with or without the prefix. */
function settingIn(settings: Record<string, unknown>, name: string): unknown {
  for (const full of [`${PREFIX}.${name}`, name]) {
    const nested = full
      .split('.')
      .reduce<unknown>((value, key) => (isRecord(value) ? own(value, key) : undefined), settings);
    const value = own(settings, full) ?? nested;
    if (value !== undefined) return value;
  }
  return undefined;
}
