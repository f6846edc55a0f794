import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Makes a folder and those above it. Node's own `recursive` never ends where a parent exists and takes no folders, as
 * under `/proc`. Rejects with the system's error.
 */
export async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Some file systems answer EACCES or EROFS, and not EEXIST, for a folder that is there.
    if (code !== 'ENOENT') {
      if ((await stat(path).catch(() => null))?.isDirectory()) return;
      throw error;
    }
    const parent = dirname(path);
    if ((await stat(parent).catch(() => null))?.isDirectory()) throw error;
    await makeFolder(parent);
    await makeFolder(path);
  }
}
