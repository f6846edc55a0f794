import { access, constants, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { targetOf } from '../push/link-target.ts';

const MESSAGES: Readonly<Record<string, string>> = {
  EEXIST: 'a parent path is not a directory',
  ENOTDIR: 'a parent path is not a directory',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  ELOOP: 'symbolic link loop',
};

/** Why a command does not write to a file that it reads. */
export const OVERWRITES_INPUT = 'it is an input of this command; choose another file';

/** Describes a system error about a file. @param specific messages by error code that replace the general ones */
export function fileFailure(error: unknown, specific: Readonly<Record<string, string>>): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === undefined) return message;
  return specific[code] ?? MESSAGES[code] ?? code;
}

/** Why a file could not be read. */
export function readCauseOf(error: unknown): string {
  return fileFailure(error, { ENOENT: 'does not exist', EISDIR: 'is a directory' });
}

/** Why a file could not be written. */
export function causeOf(error: unknown): string {
  return fileFailure(error, { ENOENT: 'its directory does not exist', EISDIR: 'it is a directory' });
}

/** Whether two paths are one regular file, also through symbolic or hard links. */
export async function isSameFile(path: string, other: string): Promise<boolean> {
  const [one, two] = await Promise.all(
    [path, other].map((each) => stat(each, { bigint: true }).catch(() => null)),
  );
  return one?.isFile() === true && one.dev === two?.dev && one.ino === two.ino;
}

/**
 * Why `replaceFile` must not be called or would fail, as far as it can be checked in advance; null: no known reason.
 * @param inputs files that the command reads and must not replace
 */
export async function rejectionToWrite(path: string, inputs: readonly string[] = []): Promise<string | null> {
  for (const input of inputs) if (await isSameFile(path, input)) return OVERWRITES_INPUT;
  try {
    const target = await targetOf(path);
    const found = await stat(target).catch(() => null);
    if (found?.isDirectory()) return causeOf({ code: 'EISDIR' });
    if (found?.isFile()) await access(target, constants.W_OK);
    // A device or a pipe, such as /dev/stdout, is written in place; a file is replaced.
    if (found === null || found.isFile()) await access(dirname(target), constants.W_OK);
    return null;
  } catch (error) {
    return causeOf(error);
  }
}

/** Whether a path leads to something. */
export const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
