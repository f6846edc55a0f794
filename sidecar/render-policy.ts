import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { policyFilesOf } from '../core/policy/generate.ts';
import { describeRefusal, loadManifestFile } from '../runtime/manifest-file.ts';

/**
 * `render-policy <folder>`: writes the rules of the manifest into a folder of a policy engine, as an init step of a pod
 * whose engine runs beside the sidecar.
 * @returns null when they are written, else why not, a line each
 */
export async function renderPolicy(manifestPath: string, folder: string): Promise<string | null> {
  const loaded = await loadManifestFile(manifestPath);
  if (!loaded.ok) return describeRefusal(loaded).join('\n');
  try {
    for (const [name, text] of Object.entries(policyFilesOf(loaded.manifest)))
      await writeFile(join(folder, name), text);
  } catch (error) {
    return `the rules cannot be written: ${(error as Error).message}`;
  }
  return null;
}
