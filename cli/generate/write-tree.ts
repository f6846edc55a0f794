import { randomUUID } from 'node:crypto';
import { chmod, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { ENV_PLATFORM } from '../../core/scaffold/env-platform.ts';
import type { GeneratedFile } from '../../core/scaffold/generated-file.ts';
import { replaceFile } from '../../push/replace-file.ts';
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

async function createTree(files: readonly GeneratedFile[], directory: string): Promise<void> {
  const temporary = `${directory}.${randomUUID()}.tmp`;
  try {
    for (const file of files) {
      const path = placeOf(file, temporary);
      await makeDirectory(dirname(path));
      await writeFile(path, file.content);
      await setMode(file, path);
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
  const changed: GeneratedFile[] = [];
  const [conflicts, kept]: [string[], string[]] = [[], []];
  for (const file of files) {
    const before = await contentAt(placeOf(file, directory));
    if (before?.equals(Buffer.from(file.content)) === true) continue;
    if (before !== null && file.path === ENV_PLATFORM) kept.push(file.path);
    else if (before !== null && !isForced) conflicts.push(file.path);
    else changed.push(file);
  }
  if (conflicts.length > 0) return { ok: false, conflicts };
  for (const file of changed) {
    const path = placeOf(file, directory);
    await makeDirectory(dirname(path));
    await replaceFile(path, file.content, 0o666);
    await setMode(file, path);
  }
  return { ok: true, written: changed.map(({ path }) => path), kept };
}

/** The path of a file; throws if the file would be outside the directory. */
function placeOf({ path }: GeneratedFile, directory: string): string {
  const place = resolve(directory, path);
  if (!place.startsWith(join(directory, '/')))
    throw new Error(`the generated path ${printable(path)} is outside the output directory`);
  return place;
}

async function setMode({ executable }: GeneratedFile, path: string): Promise<void> {
  if (executable === true) await chmod(path, 0o755);
}

/** null: no such file. */
async function contentAt(path: string): Promise<Buffer | null> {
  try {
    return await readFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
