import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Creates a directory and its parents. Node's own `recursive` never returns if an existing parent accepts no directories,
 * such as `/proc`. Rejects with the system's error.
 */
export async function makeDirectory(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // For an existing directory some file systems return EACCES or EROFS instead of EEXIST.
    if (code !== 'ENOENT') {
      if ((await stat(path).catch(() => null))?.isDirectory()) return;
      throw error;
    }
    const parent = dirname(path);
    if ((await stat(parent).catch(() => null))?.isDirectory()) throw error;
    await makeDirectory(parent);
    await makeDirectory(path);
  }
}
