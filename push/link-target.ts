import { readlink, realpath } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/** The file to which symbolic links lead. It may not exist. */
export async function targetOf(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    const link = await readlink(path).catch(() => null);
    return link === null ? path : targetOf(resolve(await realpath(dirname(path)), link));
  }
}
