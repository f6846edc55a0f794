import { randomUUID } from 'node:crypto';
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { GeneratedFile } from '../../authoring/scaffold/generated-file.ts';
import { inFormOf, replaceFile, type FileMode } from '../../push/replace-file.ts';
import { fileFailure } from '../file-failure.ts';
import { makeDirectory } from '../make-directory.ts';
import { printable } from '../rendered.ts';

/** Paths are relative to the output directory. */
export type WrittenTree =
  | { ok: true; written: string[]; kept: string[] }
  /** `conflicts`: existing files with other content; nothing was written. */
  | { ok: false; conflicts: string[] }
  | { ok: false; reason: string };

/**
 * Writes generated files. A new directory appears with all its files or not at all. In an existing directory, each file is
 * replaced atomically, and a file with other content is a conflict unless `isForced`.
 */
export async function writeTree(
  files: readonly GeneratedFile[],
  directory: string,
  isForced: boolean,
): Promise<WrittenTree> {
  try {
    if ((await stat(directory).catch(() => null)) === null) {
      await createTree(files, directory);
      return { ok: true, written: files.map(({ path }) => path), kept: [] };
    }
    return await updateTree(files, directory, isForced);
  } catch (error) {
    return { ok: false, reason: fileFailure(error, FAILURES) };
  }
}

const FAILURES = {
  ENOENT: 'the directory cannot be created',
  EISDIR: 'a directory has the name of a generated file',
  ENOTEMPTY: 'another process created the directory at the same time',
};

/** The existing files that a generation would replace. `isPlanned`: the response of a model is not known yet. */
export async function replacedFiles(
  files: readonly GeneratedFile[],
  directory: string,
  isPlanned: boolean,
): Promise<{ ok: true; replaced: string[] } | { ok: false; reason: string }> {
  try {
    const { replaced } = await compare(files, directory, isPlanned);
    return { ok: true, replaced: replaced.map(({ path }) => path) };
  } catch (error) {
    return { ok: false, reason: fileFailure(error, FAILURES) };
  }
}

interface Comparison {
  added: GeneratedFile[];
  /** Existing files with other content. */
  replaced: GeneratedFile[];
  kept: GeneratedFile[];
}

async function compare(
  files: readonly GeneratedFile[],
  directory: string,
  isPlanned = false,
): Promise<Comparison> {
  const compared: Comparison = { added: [], replaced: [], kept: [] };
  for (const file of files) {
    const before = await contentAt(placeOf(file, directory));
    const isKnown = !isPlanned || file.fromModel !== true;
    if (before === null) compared.added.push(file);
    else if (isKnown && before.equals(Buffer.from(inFormOf(before, file.content)))) continue;
    else compared[file.kept === true ? 'kept' : 'replaced'].push(file);
  }
  return compared;
}

async function createTree(files: readonly GeneratedFile[], directory: string): Promise<void> {
  const temporary = `${directory}.${randomUUID()}.tmp`;
  try {
    for (const file of files) {
      const path = placeOf(file, temporary);
      await makeDirectory(dirname(path));
      await writeFile(path, file.content, { mode: modeOf(file) });
    }
    await rename(temporary, directory);
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

async function updateTree(
  files: readonly GeneratedFile[],
  directory: string,
  isForced: boolean,
): Promise<WrittenTree> {
  const { added, replaced, kept } = await compare(files, directory);
  if (replaced.length > 0 && !isForced) return { ok: false, conflicts: replaced.map(({ path }) => path) };
  const changed = files.filter((file) => added.includes(file) || replaced.includes(file));
  for (const file of changed) {
    const path = placeOf(file, directory);
    await makeDirectory(dirname(path));
    await replaceFile(path, file.content, added.includes(file) ? modeOf(file) : 0o666);
  }
  return { ok: true, written: changed.map(({ path }) => path), kept: kept.map(({ path }) => path) };
}

/** The path of a file; throws if the file would be outside the directory. */
function placeOf({ path }: GeneratedFile, directory: string): string {
  const place = resolve(directory, path);
  if (!place.startsWith(join(directory, '/')))
    throw new Error(`the generated path ${printable(path)} is outside the output directory`);
  return place;
}

/** Of a new file. */
const modeOf = ({ isSecret }: GeneratedFile): FileMode => (isSecret === true ? 0o600 : 0o666);

/** null: no such file. */
async function contentAt(path: string): Promise<Buffer | null> {
  try {
    return await readFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
