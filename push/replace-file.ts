import { randomUUID } from 'node:crypto';
import { open, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';

/**
 * Replaces a file atomically: a reader sees the old or the new text, and a failure keeps the old text. A symbolic link is kept
 * and its target is replaced. Anything else than a regular file, such as a pipe, is written in place. Rejects with the system's
 * error, also if the directory is read-only, such as a mounted Secret.
 * @param mode 0666 gets the user's umask applied
 */
export async function replaceFile(path: string, text: string, mode: 0o600 | 0o666): Promise<void> {
  const target = await realpath(path).catch(() => path);
  const found = await stat(target).catch(() => null);
  if (found !== null && !found.isFile()) {
    await writeFile(target, text);
    return;
  }
  const temporary = `${target}.${randomUUID()}.tmp`;
  try {
    {
      await using file = await open(temporary, 'wx', mode);
      await file.writeFile(text);
      await file.sync();
    }
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
}
