import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = dirname(import.meta.dirname);

/** A project of somebody else, beside an npm that has an empty cache and no registry. */
export interface ConsumerProject {
  folder: string;
  /** Runs `npm`, or what it installed, in the project, with the Node.js of this process. Rejects on an exit code. */
  run(command: string, ...args: string[]): Promise<{ stdout: string; stderr: string }>;
  remove(): void;
}

/** An empty project into which `npm install` has put the package that `npm run package` makes. */
export async function makeConsumerProject(): Promise<ConsumerProject> {
  const home = mkdtempSync(join(tmpdir(), 'consumer-'));
  const folder = join(home, 'project');
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), '{ "name": "shop", "private": true }\n');
  // Nothing of the npm that runs these tests: its variables would point into this repository.
  const env = {
    HOME: home,
    PATH: [dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin'].join(delimiter),
    npm_config_registry: 'http://127.0.0.1:9',
  };
  const inFolder = (command: string, ...args: string[]): ReturnType<ConsumerProject['run']> =>
    run(command, args, { cwd: folder, env, timeout: 60_000 });
  // The bundles are there already; `npm run package` would build them again.
  const { stdout } = await run(process.execPath, ['scripts/pack.ts', home], { cwd: root });
  await inFolder('npm', 'install', '--offline', '--no-fund', '--no-audit', stdout.trim());
  return { folder, run: inFolder, remove: () => rmSync(home, { recursive: true, force: true }) };
}

/** Puts packages of this repository into the project, as if it had installed them too. */
export function linkPackages({ folder }: ConsumerProject, names: readonly string[]): void {
  for (const name of names) {
    const link = join(folder, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), link);
  }
}
