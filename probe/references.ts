import { constants } from 'node:fs';
import { access, open, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import type { SecretFacts } from '../core/facts/facts.ts';
import { referenceMistake } from '../core/manifest/reference-problems.ts';
import { functionValue, referenceOf, secretVariable } from '../core/manifest/references.ts';
import type { Reference, ReferenceFunction } from '../core/manifest/references.ts';
import { inTurn, LATE } from './in-turn.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Where references are looked up. */
export interface ReferenceSources {
  /** null: the agent's variables cannot be read from here, whatever is known of their names. */
  env: Environment | null;
  /** The manifest's folder; null: the agent's files cannot be seen from here. */
  folder: string | null;
  /** `PLATFORM_SECRET_DIR`; null: secrets are in the environment. */
  secretDir: string | null;
  now: () => Date;
}

/** `isLate`: the folder that holds it does not answer, so that nobody knows. */
export type Resolved = { ok: true; value: string } | { ok: false; reason: string; isLate?: true };

/** Bytes of one referenced file; a prompt or a key is far smaller. */
const MAX_FILE_BYTES = 1024 * 1024;

/** The value of a string of the manifest: what its reference refers to, or the string itself. The reason never holds a value. */
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

/** An empty variable counts as unset: that is what a chart renders for a value nobody gave. */
function fromVariable(name: string, env: Environment | null, reason: string): Resolved {
  if (env === null) return { ok: false, reason: `the agent's variable ${name} cannot be read from here` };
  const value = env[name];
  return value === undefined || value === '' ? { ok: false, reason } : { ok: true, value };
}

async function fromFile(name: string, folder: string | null): Promise<Resolved> {
  if (folder === null) return { ok: false, reason: `the file ${name} cannot be seen from here` };
  const value = await inTurn(folder, async () => {
    const path = await insideFolder(folder, name);
    return path === null ? null : textOf(path);
  });
  if (value === LATE) return late(`the file ${name}`);
  return value === null
    ? { ok: false, reason: `the file ${name} cannot be read inside the manifest's folder` }
    : { ok: true, value };
}

async function fromSecret(name: string, { env, secretDir }: ReferenceSources): Promise<Resolved> {
  if (secretDir === null) {
    const variable = secretVariable(name);
    return fromVariable(variable, env, `the secret ${name} is not there: ${variable} is not set`);
  }
  const value = await inTurn(secretDir, () => textOf(join(secretDir, name)));
  if (value === LATE) return late(`the secret ${name}`);
  // Whoever writes a secret with an editor or echo ends it with a line feed that is no part of it.
  const secret = value?.replace(/\r?\n$/, '') ?? '';
  return secret === ''
    ? { ok: false, reason: `the secret ${name} is not there: no such file in PLATFORM_SECRET_DIR` }
    : { ok: true, value: secret };
}

function late(what: string): Resolved {
  return { ok: false, reason: `${what} cannot be read in time`, isLate: true };
}

async function textOf(path: string): Promise<string | null> {
  try {
    if (!(await stat(path)).isFile()) return null;
    await using file = await open(path, 'r');
    const buffer = Buffer.alloc(MAX_FILE_BYTES + 1);
    let length = 0;
    while (length < buffer.length) {
      const { bytesRead } = await file.read(buffer, length, buffer.length - length);
      if (bytesRead === 0) return buffer.toString('utf8', 0, length);
      length += bytesRead;
    }
    return null;
  } catch {
    return null;
  }
}

/** The real path of a file under `folder`, or null: it is missing, no file, or a symbolic link takes it outside. */
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
 * `facts.files`: each `$file:` path to whether this process can read it inside the manifest's folder. Nothing is said of
 * one that does not come in time.
 */
export async function readableFiles(
  folder: string,
  references: readonly Reference[],
): Promise<ReadonlyMap<string, 'readable' | 'unreadable'>> {
  const names = [...new Set(references.filter(({ kind }) => kind === 'file').map(({ name }) => name))];
  const files = new Map<string, 'readable' | 'unreadable'>();
  const look = async (name: string): Promise<void> => {
    const readable = await inTurn(folder, () => isReadable(folder, name));
    if (readable !== LATE) files.set(name, readable ? 'readable' : 'unreadable');
  };
  await Promise.all(names.map(look));
  return files;
}

/**
 * `facts.secrets`: which `$secret:` names the backend has; the backend is `file` where a folder is given, else `env`, and
 * `none` while the folder does not answer.
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
