import { randomUUID } from 'node:crypto';
import { access, constants, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import type { Stats } from 'node:fs';
import { targetOf } from './link-target.ts';

/** 0600: a secret, which always gets this mode. 0666: a new file gets the user's umask, an existing one keeps its mode. */
export type FileMode = 0o600 | 0o666;

/** Replaces one file like `replaceFiles`. */
export async function replaceFile(path: string, text: string, mode: FileMode): Promise<void> {
  await replaceFiles([{ path, text }], mode);
}

/**
 * Replaces files atomically: a reader sees the old or the new text, and a failure keeps the old text. No file is replaced before
 * all new texts are stored. A symbolic link is kept and its target is replaced. Anything else than a regular file, such as a pipe,
 * is written in place. Mode, owner, line ends and byte order mark of an existing file are kept. If it has several names (hard links) or an owner that this
 * process cannot set, it is written in place too, and a reader may see a partial text. A secret is never written in place.
 * Rejects with the system's error, also if the file or its directory is read-only.
 */
export async function replaceFiles(
  files: readonly { path: string; text: string }[],
  mode: FileMode,
): Promise<void> {
  const temporaries: string[] = [];
  try {
    const steps: (() => Promise<void>)[] = [];
    for (const { path, text } of files) {
      const target = await targetOf(path);
      const found = await stat(target).catch(() => null);
      if (found !== null && !found.isFile()) {
        steps.push(() => writeFile(target, text));
        continue;
      }
      if (found !== null && mode !== 0o600) await access(target, constants.W_OK);
      const content = found === null || mode === 0o600 ? text : inFormOf(await beginningOf(target), text);
      const temporary = `${target}.${randomUUID()}.tmp`;
      temporaries.push(temporary);
      const isReplacement = await writeTemporary(temporary, content, { mode, found });
      steps.push(() => (isReplacement ? rename(temporary, target) : writeInPlace(target, content)));
    }
    for (const step of steps) await step();
  } finally {
    for (const temporary of temporaries) await rm(temporary, { force: true }).catch(() => undefined);
  }
}

/** `text` with the byte order mark and the line ends of the earlier content, unless it has them. */
export function inFormOf(before: Buffer, text: string): string {
  const isWithMark = before.subarray(0, 3).equals(MARK) && !text.startsWith('\ufeff');
  const lineEnd = before.indexOf('\n');
  const isCrlf = lineEnd > 0 && before[lineEnd - 1] === 0x0d && !text.includes('\r\n');
  return (isWithMark ? '\ufeff' : '') + (isCrlf ? text.replaceAll('\n', '\r\n') : text);
}

const MARK = Buffer.from('\ufeff');

/** Empty if the file cannot be read. */
async function beginningOf(path: string): Promise<Buffer> {
  try {
    await using file = await open(path, 'r');
    const { buffer, bytesRead } = await file.read(Buffer.alloc(64 * 1024));
    return buffer.subarray(0, bytesRead);
  } catch {
    return Buffer.alloc(0);
  }
}

/** Returns whether the file can take the place of the file that was found. */
async function writeTemporary(
  path: string,
  text: string,
  { mode, found }: { mode: FileMode; found: Stats | null },
): Promise<boolean> {
  // Others may be allowed to read the mode of a new file, but not that of the earlier file.
  await using file = await open(path, 'wx', found === null ? mode : 0o600);
  await file.writeFile(text);
  let isReplacement = true;
  if (found !== null) {
    const { uid, gid } = await file.stat();
    const isOwned =
      (uid === found.uid && gid === found.gid) ||
      (await file.chown(found.uid, found.gid).then(
        () => true,
        () => false,
      ));
    isReplacement = mode === 0o600 || (isOwned && found.nlink === 1);
    if (mode !== 0o600) await file.chmod(found.mode & 0o7777);
  }
  await file.sync();
  return isReplacement;
}

async function writeInPlace(path: string, text: string): Promise<void> {
  const before = await readFile(path);
  try {
    await overwrite(path, Buffer.from(text));
  } catch (error) {
    await overwrite(path, before);
    throw error;
  }
}

/** Without truncating first, so that the old text still has its space on a full disk. */
async function overwrite(path: string, content: Buffer): Promise<void> {
  await using file = await open(path, 'r+');
  await file.writeFile(content);
  await file.truncate(content.length);
  await file.sync();
}
