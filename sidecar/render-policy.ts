import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { policyFilesOf } from '../core/policy/generate.ts';
import { loadManifestFile } from '../runtime/manifest-file.ts';
import { StartProblem } from '../runtime/start-problem.ts';
import { invalidManifest } from './manifest/invalid-manifest.ts';

/**
 * `render-policy <directory>`: writes the manifest's policy rules into the directory of a policy engine. Used as an init
 * container of a pod whose engine runs next to the sidecar.
 * @returns null on success
 */
export async function renderPolicy(manifestPath: string, directory: string): Promise<StartProblem | null> {
  const loaded = await loadManifestFile(manifestPath);
  if (!loaded.ok) return invalidManifest(manifestPath, loaded);
  try {
    for (const [name, text] of Object.entries(policyFilesOf(loaded.manifest)))
      await writeFile(join(directory, name), text);
  } catch (error) {
    const explanation = `failed to write the policy rules: ${(error as Error).message}`;
    return new StartProblem(explanation, { exitCode: 1, explanation });
  }
  return null;
}
