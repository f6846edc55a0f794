import { access, constants, open, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileFailure } from './file-failure.ts';

export interface WriteOptions {
  /** File mode; default: 0666 with the user's umask applied. */
  mode?: number;
}

/**
 * Replaces a file atomically: a reader sees the old or the new text, and a failure keeps the old text. Anything else
 * than a regular file, such as a pipe, is written in place. Rejects with the system's error; `causeOf` describes it.
 */
export async function replaceFile(
  path: string,
  text: string,
  { mode = 0o666 }: WriteOptions = {},
): Promise<void> {
  const target = await realpath(path).catch(() => path);
  const found = await stat(target).catch(() => null);
  if (found !== null && !found.isFile()) {
    await writeFile(target, text);
    return;
  }
  const temporary = `${target}.${process.pid}.tmp`;
  try {
    {
      await using file = await open(temporary, 'wx', mode);
      await file.writeFile(text);
      await file.sync();
    }
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Why a file could not be written. */
export function causeOf(error: unknown): string {
  return fileFailure(error, { ENOENT: 'its directory does not exist', EISDIR: 'it is a directory' });
}

/** Why `replaceFile` would fail, as far as it can be checked in advance; null: no known reason. */
export async function rejectionToWrite(path: string): Promise<string | null> {
  try {
    const found = await stat(path).catch(() => null);
    if (found?.isDirectory()) return causeOf({ code: 'EISDIR' });
    await access(dirname(path), constants.W_OK);
    return null;
  } catch (error) {
    return causeOf(error);
  }
}
