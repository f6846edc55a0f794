import { resolve } from 'node:path';
import { loadManifestFile, type LoadedManifest } from '../runtime/manifest-file.ts';
import type { CliContext } from './context.ts';

/** Reads a path as the person typed it, and keeps it that way in messages. */
export async function load(file: string, { cwd }: Pick<CliContext, 'cwd'>): Promise<LoadedManifest> {
  return { ...(await loadManifestFile(resolve(cwd, file))), file };
}
