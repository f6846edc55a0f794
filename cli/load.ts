import { resolve } from 'node:path';
import { loadManifestFile, type LoadedManifest } from '../runtime/manifest-file.ts';
import type { CliContext } from './context.ts';

/** Loads a manifest; messages show the path as typed. */
export async function load(file: string, { cwd }: Pick<CliContext, 'cwd'>): Promise<LoadedManifest> {
  return { ...(await loadManifestFile(resolve(cwd, file))), file };
}
