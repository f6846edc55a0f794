import { randomUUID } from 'node:crypto';
import { open, realpath, rename, rm } from 'node:fs/promises';

/**
 * Replaces the file by one that only its owner can read: a crash leaves the old key or the new one. A link is kept, and what
 * it points at is replaced. Rejects where the folder takes no files, as that of a mounted Secret.
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
