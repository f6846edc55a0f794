import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { selectedNameOf } from '../../authoring/diagnosis/opted-in.ts';
import { changePods } from '../../core/injection/inject-text.ts';

/**
 * Whether a pod in the Kubernetes files of a directory will have the label with the agent's name; null: the files have no pod. A
 * file that cannot be read, such as the template of a chart, is left out.
 */
export async function hasAgentPod(directory: string, agentName: string): Promise<boolean | null> {
  let found: boolean | null = null;
  for (const name of await readdir(directory)) {
    if (!/\.ya?ml$/.test(name)) continue;
    const text = await readFile(join(directory, name), 'utf8').catch(() => '');
    changePods(text, (place) => {
      found = found === true || selectedNameOf(place) === agentName;
      return { action: 'skipped', code: '', message: '' };
    });
  }
  return found;
}
