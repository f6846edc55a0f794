import { randomUUID } from 'node:crypto';
import { open, realpath, rename, rm } from 'node:fs/promises';

/**
 * Replaces the file atomically with one that only its owner can read. A symbolic link is kept and its target is replaced.
 * Rejects if the directory is read-only, such as a mounted Secret.
 */
export async function writeKeyFile(path: string, key: string): Promise<void> {
  const target = await realpath(path).catch(() => path);
  const temporary = `${target}.${randomUUID()}.tmp`;
  try {
    const file = await open(temporary, 'wx', 0o600);
    try {
      await file.writeFile(`${key}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
}
