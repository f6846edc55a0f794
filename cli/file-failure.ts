import { access, constants, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

const MESSAGES: Readonly<Record<string, string>> = {
  EEXIST: 'a parent path is not a directory',
  ENOTDIR: 'a parent path is not a directory',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  ELOOP: 'symbolic link loop',
};

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
