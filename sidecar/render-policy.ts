import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { policyFilesOf } from '../core/policy/generate.ts';
import { describeRefusal, loadManifestFile } from '../runtime/manifest-file.ts';

/**
 * `render-policy <directory>`: writes the manifest's policy rules into the directory of a policy engine. Used as an init
 * container of a pod whose engine runs next to the sidecar.
 * @returns null on success, else the errors, one per line
 */
export async function renderPolicy(manifestPath: string, directory: string): Promise<string | null> {
  const loaded = await loadManifestFile(manifestPath);
  if (!loaded.ok) return describeRefusal(loaded).join('\n');
  try {
    for (const [name, text] of Object.entries(policyFilesOf(loaded.manifest)))
      await writeFile(join(directory, name), text);
  } catch (error) {
    return `failed to write the policy rules: ${(error as Error).message}`;
  }
  return null;
}
