import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = dirname(dirname(import.meta.dirname));

/** A project of a user, with an npm that has an empty cache and no registry. */
export interface ConsumerProject {
  folder: string;
  /** Runs `npm` or an installed command in the project with the Node.js of this process. Rejects on a non-zero exit code. */
  run(command: string, ...args: string[]): Promise<{ stdout: string; stderr: string }>;
  remove(): void;
}

/** The environment of a user, without the variables of the npm that runs these tests, because they point to this repository. */
export const userEnvironment = (home: string): Record<string, string> => ({
  HOME: home,
  PATH: [dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin'].join(delimiter),
});

/** An empty project with the package of `npm run package` installed by `npm install`. */
export async function makeConsumerProject(): Promise<ConsumerProject> {
  const home = mkdtempSync(join(tmpdir(), 'consumer-'));
  const folder = join(home, 'project');
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), '{ "name": "shop", "private": true }\n');
  const env = { ...userEnvironment(home), npm_config_registry: 'http://127.0.0.1:9' };
  const inFolder = (command: string, ...args: string[]): ReturnType<ConsumerProject['run']> =>
    run(command, args, { cwd: folder, env, timeout: 100_000 });
  await inFolder('npm', 'install', '--offline', '--no-fund', '--no-audit', await packedPackage());
  return { folder, run: inFolder, remove: () => rmSync(home, { recursive: true, force: true }) };
}

const KEPT = join(root, 'node_modules/.cache/packed-package');
const KEPT_MS = 3_600_000;
/** All input files of the package. */
const MADE_OF = [
  'dist/**/*.{js,mjs,json}',
  '{core,reporter,runtime,probe,push,scripts}/**/*.{ts,mjs}',
  '{package,package-lock,tsconfig}.json',
  '{LICENSE,CHANGELOG.md,docs/package.md,reporter/README.md}',
];

/** Path of the archive of `npm run package`; created once for all test files. */
async function packedPackage(): Promise<string> {
  const hash = createHash('sha256');
  for (const file of globSync(MADE_OF, { cwd: root }).sort()) {
    const { size, mtimeMs } = statSync(join(root, file));
    hash.update(`${file} ${size} ${mtimeMs}\n`);
  }
  const folder = join(KEPT, hash.digest('hex'));
  if (!existsSync(folder)) {
    mkdirSync(KEPT, { recursive: true });
    forgetOlder();
    const scratch = mkdtempSync(`${folder}-`);
    await run(process.execPath, ['scripts/pack.ts', scratch], { cwd: root });
    try {
      renameSync(scratch, folder);
    } catch (error) {
      // Another worker created the archive first.
      if (!existsSync(folder)) throw error;
      rmSync(scratch, { recursive: true });
    }
  }
  return join(folder, readdirSync(folder)[0] ?? '');
}

/** Removes archives that can no longer be in use. */
function forgetOlder(): void {
  for (const name of readdirSync(KEPT)) {
    const kept = join(KEPT, name);
    if (Date.now() - statSync(kept).mtimeMs > KEPT_MS) rmSync(kept, { recursive: true, force: true });
  }
}

/** Links packages of this repository into the project, as if they were installed. */
export function linkPackages({ folder }: ConsumerProject, names: readonly string[]): void {
  for (const name of names) {
    const link = join(folder, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), link);
  }
}
