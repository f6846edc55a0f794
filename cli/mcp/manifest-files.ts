import type { Dirent } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve } from 'node:path';
import {
  loadManifestFile,
  parseManifestBytes,
  unreadableManifest,
  type LoadedManifest,
} from '../../runtime/manifest-file.ts';
import { notFound, type Found } from '../admin-key.ts';
import { readCauseOf } from '../file-failure.ts';
import { printable } from '../rendered.ts';
import { loadRevision } from '../revision.ts';
import type { CallContext } from './tool.ts';

/** A directory below which manifests may be read: as given, and without symbolic links. */
export interface Root {
  path: string;
  real: string;
}

/** Where a manifest of a call comes from. */
export interface ManifestSource {
  path?: string | undefined;
  /** Git revision in which `path` is read. */
  revision?: string | undefined;
  text?: string | undefined;
}

type FileContext = Pick<CallContext, 'cwd' | 'roots'>;

/** Resolves the directories of `--root`. */
export async function openRoots(paths: readonly string[], cwd: string): Promise<Found<Root[]>> {
  const roots: Root[] = [];
  for (const typed of paths) {
    const path = resolve(cwd, typed);
    try {
      const real = await realpath(path);
      if (!(await stat(real)).isDirectory()) return notFound(`${printable(typed)} is not a directory`);
      roots.push({ path, real });
    } catch (error) {
      return notFound(`cannot read ${printable(typed)}: ${readCauseOf(error)}`);
    }
  }
  return { ok: true, value: roots };
}

const isBelow = (path: string, directory: string): boolean => {
  const inner = relative(directory, path);
  return inner !== '' && inner !== '..' && !inner.startsWith('../') && !isAbsolute(inner);
};

/** The root that contains the path by its name, without access to the file system. */
function rootOf(path: string, { cwd, roots }: FileContext): { root: Root; inner: string } | null {
  const absolute = resolve(cwd, path);
  for (const root of roots)
    for (const directory of [root.path, root.real])
      if (isBelow(absolute, directory)) return { root, inner: relative(directory, absolute) };
  return null;
}

const ADVICE = 'start the server with --root <dir> to allow another directory';
const NAME = /\.(?:ya?ml|json)$/i;

/** The real path of a readable file below a root. A symbolic link must not lead to the outside. */
export async function allowedFile(path: string, context: FileContext): Promise<Found<string>> {
  const found = rootOf(path, context);
  if (found === null) return notFound(`is outside of the allowed directories; ${ADVICE}`);
  try {
    const real = await realpath(join(found.root.real, found.inner));
    if (!context.roots.some((root) => isBelow(real, root.real)))
      return notFound(`is a symbolic link to the outside of the allowed directories; ${ADVICE}`);
    if (!NAME.test(path) || !NAME.test(real)) return notFound('is not a .yaml, .yml or .json file');
    if (!(await stat(real)).isFile()) return notFound('is not a regular file');
    return { ok: true, value: real };
  } catch (error) {
    return notFound(readCauseOf(error));
  }
}

/** Loads the manifest of a call; a rejected source is an unreadable manifest. Never rejects. */
export async function loadSource(source: ManifestSource, context: CallContext): Promise<LoadedManifest> {
  const { path, revision, text } = source;
  if ((path === undefined) === (text === undefined))
    return unreadableManifest('manifest', 'pass either path or text');
  if (text !== undefined)
    return revision === undefined
      ? parseManifestBytes('text', Buffer.from(text))
      : unreadableManifest('text', 'revision needs path');
  const name = path ?? '';
  if (revision !== undefined) return await loadAtRevision(name, revision, context);
  const allowed = await allowedFile(name, context);
  return allowed.ok
    ? { ...(await loadManifestFile(allowed.value)), file: name }
    : unreadableManifest(name, allowed.reason);
}

/** The path is relative to its root, so that git reads nothing outside; the file need not exist in the working tree. */
async function loadAtRevision(path: string, revision: string, context: CallContext): Promise<LoadedManifest> {
  const file = `${revision}:${path}`;
  const found = rootOf(path, context);
  if (found === null) return unreadableManifest(file, `is outside of the allowed directories; ${ADVICE}`);
  const { root, inner } = found;
  const name = `${revision}:./${inner}`;
  return { ...(await loadRevision(name, { cwd: root.real, env: context.env })), file };
}

/** Names of files that probably are manifests: agent.yaml, shop.agent.yaml, agent-shop.yml. */
const MANIFEST_NAME = /(?:^|[._-])agent(?:[._-].*)?\.ya?ml$/i;
const SKIPPED = /^(?:\..*|node_modules|dist|build|vendor|venv|coverage)$/;
/** Directories that are read at most, and files that are listed at most. */
const [MAX_DIRECTORIES, MAX_FILES] = [2_000, 100];

/** Probable manifests below the roots, nearest first. Follows no symbolic links. */
export async function findManifests(roots: readonly Root[]): Promise<string[]> {
  const files: string[] = [];
  const queue = roots.map(({ path }) => path);
  for (let read = 0; read < MAX_DIRECTORIES && files.length < MAX_FILES; read += 1) {
    const directory = queue.shift();
    if (directory === undefined) break;
    // A directory without permission is skipped.
    const entries: Dirent[] = await readdir(directory, { withFileTypes: true }).catch(() => []);
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = join(directory, entry.name);
      if (entry.isFile() && MANIFEST_NAME.test(entry.name)) files.push(path);
      if (entry.isDirectory() && !SKIPPED.test(entry.name)) queue.push(path);
    }
  }
  return [...new Set(files)].slice(0, MAX_FILES);
}
