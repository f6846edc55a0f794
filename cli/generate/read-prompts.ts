import { isUtf8 } from 'node:buffer';
import { readFile, realpath, stat } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import type { Manifest } from '../../core/manifest/manifest.ts';
import { declaredPromptPaths } from '../../authoring/scaffold/prompt-files.ts';
import { readCauseOf } from '../file-failure.ts';
import { printable } from '../rendered.ts';

/** The limit with which agents read files of the manifest. */
const MAX_BYTES = 1024 * 1024;

type Texts = { ok: true; texts: Map<string, string> } | { ok: false; reason: string };

/** Reads the prompt files next to the manifest. A file that does not exist is left out; one that an agent could not read is an error. */
export async function readPrompts(manifest: Manifest, manifestPath: string): Promise<Texts> {
  const texts = new Map<string, string>();
  for (const path of declaredPromptPaths(manifest)) {
    try {
      const text = await textOf(path, dirname(manifestPath));
      if (text !== null) texts.set(path, text);
    } catch (error) {
      return { ok: false, reason: `cannot read the prompt file ${printable(path)}: ${readCauseOf(error)}` };
    }
  }
  return { ok: true, texts };
}

/** null: there is no such file. */
async function textOf(path: string, folder: string): Promise<string | null> {
  const place = await realpath(join(folder, path)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
    throw error;
  });
  if (place === null) return null;
  const root = await realpath(folder);
  if (!place.startsWith(root.endsWith(sep) ? root : root + sep))
    throw new Error('it is outside the folder of the manifest');
  const stats = await stat(place);
  if (!stats.isFile()) throw new Error('it is not a file');
  if (stats.size > MAX_BYTES) throw new Error('it is larger than 1 MiB');
  const bytes = await readFile(place);
  if (!isUtf8(bytes)) throw new Error('it is not a UTF-8 text file');
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}
