import { open, rm } from 'node:fs/promises';

/** Creates a file. After a failure there is no partial file. Rejects with the system's error, also if the file exists. */
export async function createFile(path: string, text: string): Promise<void> {
  await using file = await open(path, 'wx');
  try {
    await file.writeFile(text);
    await file.sync();
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
}
