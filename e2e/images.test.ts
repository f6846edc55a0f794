// Checks that the archive of build.sh has the content that images/Dockerfile declares, above the Node.js layer.
import { beforeAll, describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { imageOf, stagesOf, targetsOf, type Image } from './images/dockerfile.ts';

interface Descriptor {
  digest: string;
  annotations?: Record<string, string>;
}

const root = join(import.meta.dirname, '..');
const archive = join(root, 'node_modules/.cache/images/app.tar');
const stages = stagesOf(readFileSync(join(root, 'images/Dockerfile'), 'utf8'));

const chart = readFileSync(join(root, 'helm/agent-compliance/Chart.yaml'), 'utf8');
const appVersion = /^appVersion: (\S+)$/m.exec(chart)?.[1] ?? 'none';

const entry = (path: string) => execFileSync('tar', ['-xOf', archive, path], { maxBuffer: 2 ** 30 });
const blob = ({ digest }: Descriptor) => entry(`blobs/${digest.replace(':', '/')}`);
const json = <T>(bytes: Buffer) => JSON.parse(bytes.toString()) as T;

/** `mode owner path` of every entry of a layer */
function listing(layer: Buffer): string[] {
  const lines = execFileSync('tar', ['--numeric-owner', '-tvf', '-'], { input: layer })
    .toString()
    .trim()
    .split('\n');
  return lines.map((line) => line.replace(/^(\S+) (\S+) .* \.(\/.*)$/, '$1 $2 $3'));
}

/** The files of a COPY: the file itself, or the files of the directory. */
function filesOf({ source, destination }: Image['copies'][number]): Image['copies'] {
  return globSync(source.endsWith('/') ? `${source}**` : source, { cwd: root })
    .filter((path) => statSync(join(root, path)).isFile())
    .map((path) => ({
      source: path,
      destination: path === source ? destination : join(destination, relative(source, path)),
    }));
}

/** The parent directories of a path, outermost first. */
const parentsOf = (path: string) =>
  path
    .split('/')
    .slice(1, -1)
    .map((_, index, parts) => `/${parts.slice(0, index + 1).join('/')}/`);

// The images for an external cluster are not built here.
const whereBuilt = (process.env['E2E_KUBECONFIG'] ?? '') === '' ? describe : describe.skip;

whereBuilt('the images built without Docker', () => {
  let manifests: Descriptor[];
  beforeAll(() => {
    manifests = json<{ manifests: Descriptor[] }>(entry('index.json')).manifests;
  });

  const named = (target: string, tag: string) =>
    manifests.find(
      ({ annotations }) =>
        annotations?.['io.containerd.image.name'] === `localhost/agent-compliance/${target}:${tag}`,
    );

  test('are one per target of the Dockerfile, with the tag dev for the suites and the version for the chart', () => {
    for (const target of targetsOf(stages)) {
      expect(named(target, 'dev')?.digest).toMatch(/^sha256:/);
      expect(named(target, appVersion)?.digest).toBe(named(target, 'dev')?.digest);
    }
    expect(manifests).toHaveLength(2 * targetsOf(stages).length);
  });

  test.each(targetsOf(stages))('%s has exactly the configuration and the files of its target', (target) => {
    const declared = imageOf(stages, target);
    const manifest = json<{ config: Descriptor; layers: Descriptor[] }>(blob(named(target, 'dev')!));
    const config = json<{ config: Image['config']; rootfs: { diff_ids: string[] } }>(blob(manifest.config));
    expect(config.config).toEqual(declared.config);
    expect(config.rootfs.diff_ids).toEqual(manifest.layers.map(({ digest }) => digest));

    const layer = blob(manifest.layers[1]!);
    expect(`sha256:${createHash('sha256').update(layer).digest('hex')}`).toBe(manifest.layers[1]!.digest);
    const copied = declared.copies.flatMap(filesOf);
    const files = copied.map(({ destination }) => destination);
    const directories = new Set(['/', ...files.flatMap(parentsOf)]);
    expect(listing(layer).sort()).toEqual(
      [
        ...[...directories].map((path) => `drwxr-xr-x 0/0 ${path}`),
        ...files.map((path) => `-rw-r--r-- 0/0 ${path}`),
      ].sort(),
    );
    for (const { source, destination } of copied) {
      const inLayer = execFileSync('tar', ['-xOf', '-', `.${destination}`], {
        input: layer,
        maxBuffer: 2 ** 30,
      });
      expect(inLayer.equals(readFileSync(join(root, source)))).toBe(true);
    }
  });
});
