// Creates the release files except the images: the npm package, the chart, an SBOM for each image and for the npm package, and
// the checksums. The same sources produce the same bytes.
// `make release`, or `node scripts/release.ts [DIR] [--tag vX.Y.Z] [--check]`. Default of DIR: dist/release. With --check only
// the versions are compared. dist/ must be built. SOURCE_DATE_EPOCH (seconds) is the time in the files; default: the time of
// the last commit.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { CLUSTER_CACHE } from '../testing/machine/cluster-binary.ts';
import { archiveOf } from './release/archive.ts';
import { bundledPackages } from './release/bundled-packages.ts';
import { sbomOf } from './release/sbom.ts';
import { releaseVersion } from './release/version.ts';

const root = dirname(import.meta.dirname);
const IMAGES = ['sidecar', 'operator', 'webhook', 'control-plane'];

function run(command: string, args: readonly string[]): string {
  // Falls back to the helm of the test cluster.
  const PATH = [process.env['PATH'], join(CLUSTER_CACHE, 'bin')].join(delimiter);
  return execFileSync(command, args, {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, PATH },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

function sourceDateEpoch(): number {
  const text = process.env['SOURCE_DATE_EPOCH'] ?? run('git', ['log', '-1', '--format=%ct']).trim();
  if (!/^\d{1,11}$/.test(text))
    throw new Error(`SOURCE_DATE_EPOCH must be in seconds since 1970, got ${text}`);
  return Number(text);
}

/** The archive of `helm package` with a reproducible time. */
function packChart(directory: string, version: string, epoch: number): void {
  const scratch = mkdtempSync(join(tmpdir(), 'chart-'));
  try {
    run('helm', ['package', 'helm/agent-compliance', '--destination', scratch]);
    const name = `agent-compliance-${version}.tgz`;
    run('tar', ['-xmzf', join(scratch, name), '-C', scratch]);
    const files = readdirSync(join(scratch, 'agent-compliance'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => ({ path: relative(scratch, path).replaceAll('\\', '/'), content: readFileSync(path) }));
    writeFileSync(join(directory, name), archiveOf(files, epoch));
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Renames the archive, which otherwise has the same name as the chart. Returns its bundles. */
function packPackage(directory: string, version: string): string[] {
  const packed = run(process.execPath, ['scripts/pack.ts', directory]).trim();
  const archive = join(directory, `agent-compliance-${version}.npm.tgz`);
  renameSync(packed, archive);
  const programs = run('tar', ['-tzf', archive]).matchAll(/^package\/dist\/([^/]+)\/\w+\.m?js$/gm);
  return [...new Set([...programs].map(([, part = '']) => part))];
}

function writeSboms(directory: string, version: string, packaged: readonly string[], epoch: number): void {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { integrity?: string }>;
  };
  const integrity = Object.fromEntries(
    Object.entries(lock.packages).map(([path, { integrity }]) => [path, integrity]),
  );
  const write = (part: string, name: string, parts: readonly string[], kind: 'container' | 'library') => {
    const packages = bundledPackages(root, parts);
    const sbom = sbomOf({ name, version, kind, packages, integrity, epoch });
    writeFileSync(join(directory, `${part}-${version}.cdx.json`), `${JSON.stringify(sbom, null, 2)}\n`);
  };
  for (const part of IMAGES) write(part, `agent-compliance/${part}`, [part], 'container');
  write('npm', 'agent-compliance', packaged, 'library');
}

function writeChecksums(directory: string): void {
  const sums = readdirSync(directory)
    .sort()
    .map((name) => {
      const sum = createHash('sha256').update(readFileSync(join(directory, name)));
      return `${sum.digest('hex')}  ${name}\n`;
    });
  writeFileSync(join(directory, 'SHA256SUMS'), sums.join(''));
}

function release(directory: string, version: string): void {
  const epoch = sourceDateEpoch();
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  const packaged = packPackage(directory, version);
  packChart(directory, version, epoch);
  writeSboms(directory, version, packaged, epoch);
  writeChecksums(directory);
  process.stdout.write(readFileSync(join(directory, 'SHA256SUMS'), 'utf8'));
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { tag: { type: 'string' }, check: { type: 'boolean', default: false } },
});
try {
  const version = releaseVersion(root, values.tag);
  if (values.check) process.stdout.write(`${version}\n`);
  else release(resolve(positionals[0] ?? join(root, 'dist/release')), version);
} catch (error) {
  process.stderr.write(`release: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
