import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = dirname(import.meta.dirname);

/** An empty project of somebody else that has the package, as `npm pack` packs it, in its node_modules. */
export interface ConsumerProject {
  folder: string;
  remove(): void;
}

/** @param alsoInstalled packages of this repository that the project has too, by name */
export async function makeConsumerProject(alsoInstalled: readonly string[] = []): Promise<ConsumerProject> {
  const folder = mkdtempSync(join(tmpdir(), 'consumer-'));
  const target = join(folder, 'node_modules/agent-compliance');
  mkdirSync(target, { recursive: true });
  await run(process.execPath, ['scripts/build-types.ts'], { cwd: root });
  // The bundles are there already; prepack would build them again.
  const { stdout } = await run(
    'npm',
    ['pack', '--json', '--silent', '--ignore-scripts', '--pack-destination', folder],
    { cwd: root },
  );
  const [packed] = JSON.parse(stdout) as { filename: string }[];
  if (packed === undefined) throw new Error(`npm packed nothing: ${stdout}`);
  await run('tar', ['-xzf', join(folder, packed.filename), '-C', target, '--strip-components=1']);
  for (const name of alsoInstalled) {
    const link = join(folder, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), link);
  }
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
