import { access, constants, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileFailure } from './file-failure.ts';

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
