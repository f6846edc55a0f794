import { constants, createReadStream } from 'node:fs';
import { access, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { SecretFacts } from '../core/facts/facts.ts';
import { referenceMistake } from '../core/manifest/reference-problems.ts';
import { functionValue, referenceOf, secretVariable } from '../core/manifest/references.ts';
import type { Reference, ReferenceFunction } from '../core/manifest/references.ts';
import { inTurn, LATE } from './in-turn.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Sources for resolving references. */
export interface ReferenceSources {
  /** null: the values of the agent's variables cannot be read from here, even if their names are known. */
  env: Environment | null;
  /** The manifest's directory; null: the agent's files cannot be read from here. */
  folder: string | null;
  /** `PLATFORM_SECRET_DIR`; null: secrets are in the environment. */
  secretDir: string | null;
  now: () => Date;
}

/** `isLate`: reading the directory timed out, so it is unknown whether the value exists. */
export type Resolved = { ok: true; value: string } | { ok: false; reason: string; isLate?: true };

/** Maximum bytes of a referenced file; a prompt or a key is far smaller. */
const MAX_FILE_BYTES = 1024 * 1024;

/** The value of a manifest string: the target of its reference, or the string itself. `reason` never contains a value. */
export async function resolveReference(text: string, sources: ReferenceSources): Promise<Resolved> {
  const reference = referenceOf(text);
  if (reference === null) return { ok: true, value: text };
  const mistake = referenceMistake(text);
  if (mistake !== null) return { ok: false, reason: mistake.message };
  const { kind, name } = reference;
  switch (kind) {
    case 'env':
      return fromVariable(name, sources.env, `the variable ${name} is not set`);
    case 'func':
      return { ok: true, value: functionValue(name as ReferenceFunction, sources.now()) };
    case 'file':
      return fromFile(name, sources.folder);
    case 'secret':
      return fromSecret(name, sources);
  }
}

/** An empty variable counts as unset, because charts render a missing value as an empty string. */
function fromVariable(name: string, env: Environment | null, reason: string): Resolved {
  if (env === null) return { ok: false, reason: `the agent's variable ${name} cannot be read from here` };
  const value = env[name];
  return value === undefined || value === '' ? { ok: false, reason } : { ok: true, value };
}

async function fromFile(name: string, folder: string | null): Promise<Resolved> {
  if (folder === null) return { ok: false, reason: `the file ${name} cannot be read from here` };
  const value = await inTurn(folder, async () => {
    const path = await insideFolder(folder, name);
    return path === null ? null : textOf(path);
  });
  if (value === LATE) return timedOut(`the file ${name}`);
  return value === null
    ? { ok: false, reason: `the file ${name} cannot be read inside the manifest's directory` }
    : { ok: true, value };
}

async function fromSecret(name: string, { env, secretDir }: ReferenceSources): Promise<Resolved> {
  if (secretDir === null) {
    const variable = secretVariable(name);
    return fromVariable(variable, env, `the secret ${name} was not found: ${variable} is not set`);
  }
  const value = await inTurn(secretDir, () => textOf(join(secretDir, name)));
  if (value === LATE) return timedOut(`the secret ${name}`);
  // Editors and `echo` append a line feed that is not part of the secret.
  const secret = value?.replace(/\r?\n$/, '') ?? '';
  return secret === ''
    ? { ok: false, reason: `the secret ${name} was not found: no such file in PLATFORM_SECRET_DIR` }
    : { ok: true, value: secret };
}

function timedOut(what: string): Resolved {
  return { ok: false, reason: `reading ${what} timed out`, isLate: true };
}

async function textOf(path: string): Promise<string | null> {
  try {
    if (!(await stat(path)).isFile()) return null;
    // One byte more than allowed, so that a larger file is only detected.
    const bytes = await buffer(createReadStream(path, { end: MAX_FILE_BYTES }));
    return bytes.length > MAX_FILE_BYTES ? null : bytes.toString('utf8');
  } catch {
    return null;
  }
}

/** The real path of a file under `folder`; null: missing, not a file, or a symbolic link to a path outside `folder`. */
async function insideFolder(folder: string, name: string): Promise<string | null> {
  try {
    const [root, path] = await Promise.all([realpath(folder), realpath(join(folder, name))]);
    const prefix = root.endsWith(sep) ? root : root + sep;
    return path.startsWith(prefix) && (await stat(path)).isFile() ? path : null;
  } catch {
    return null;
  }
}

async function isReadable(folder: string, name: string): Promise<boolean> {
  if (referenceMistake(`$file:${name}`) !== null) return false;
  const path = await insideFolder(folder, name);
  if (path === null) return false;
  return access(path, constants.R_OK).then(
    () => true,
    () => false,
  );
}

/**
 * `facts.files`: maps each `$file:` path to whether this process can read it inside the manifest's directory. A path whose
 * read times out is left out.
 */
export async function readableFiles(
  folder: string,
  references: readonly Reference[],
): Promise<ReadonlyMap<string, 'readable' | 'unreadable'>> {
  const names = [...new Set(references.filter(({ kind }) => kind === 'file').map(({ name }) => name))];
  const files = new Map<string, 'readable' | 'unreadable'>();
  const checkFile = async (name: string): Promise<void> => {
    const readable = await inTurn(folder, () => isReadable(folder, name));
    if (readable !== LATE) files.set(name, readable ? 'readable' : 'unreadable');
  };
  await Promise.all(names.map(checkFile));
  return files;
}

/**
 * `facts.secrets`: the `$secret:` names that the backend has. The backend is `file` if a directory is given, else `env`. It
 * is `none` while reads of the directory time out.
 */
export async function foundSecrets(
  env: ReferenceSources['env'],
  secretDir: string | null,
  references: readonly Reference[],
): Promise<SecretFacts> {
  const names = [...new Set(references.filter(({ kind }) => kind === 'secret').map(({ name }) => name))];
  const sources: ReferenceSources = { env, secretDir, folder: null, now: () => new Date(0) };
  const resolved = await Promise.all(
    names.map(async (name) => ({ name, ...(await resolveReference(`$secret:${name}`, sources)) })),
  );
  if (resolved.some((each) => !each.ok && each.isLate)) return { backend: 'none' };
  const found = new Set(resolved.filter(({ ok }) => ok).map(({ name }) => name));
  return { backend: secretDir === null ? 'env' : 'file', found };
}
