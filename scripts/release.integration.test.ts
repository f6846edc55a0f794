// Runs `make release` twice and validates the result with the tools of its users.
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Ajv, type ValidateFunction } from 'ajv';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { imageOf, stagesOf } from '../e2e/images/dockerfile.ts';
import { clusterBinary, CLUSTER_CACHE } from '../testing/machine/cluster-binary.ts';
import { REQUIRED } from '../testing/cluster/rendered-chart.ts';

const run = promisify(execFile);
const ROOT = dirname(import.meta.dirname);
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
const IMAGES = ['sidecar', 'operator', 'webhook', 'control-plane'];
const SBOMS = [...IMAGES, 'npm'];
const EPOCH = '1700000000';

interface Sbom {
  metadata: { timestamp: string; component: { name: string; version: string } };
  components: { 'bom-ref': string; group?: string; name: string; version: string; purl: string }[];
  dependencies: { ref: string; dependsOn: string[] }[];
}

let folder: string;
const released = (...path: string[]) => join(folder, 'once', ...path);
const sbomOf = (part: string) =>
  JSON.parse(readFileSync(released(`${part}-${version}.cdx.json`), 'utf8')) as Sbom;
const release = (args: readonly string[], env: Record<string, string> = {}) =>
  run(process.execPath, [join(ROOT, 'scripts/release.ts'), ...args], { env: { ...process.env, ...env } });

/** Packages in the source maps of a bundle. The control plane contains the bundle of the dashboard. */
function packagesInMap(part: string): string[] {
  const directories = [part, ...(part === 'control-plane' ? ['dashboard'] : [])].map((each) =>
    join(ROOT, 'dist', each),
  );
  const maps = directories.flatMap((directory) =>
    readdirSync(directory)
      .filter((file) => file.endsWith('.map'))
      .map((file) => join(directory, file)),
  );
  const sources = maps.flatMap(
    (map) => (JSON.parse(readFileSync(map, 'utf8')) as { sources: string[] }).sources,
  );
  const folders = sources.map(
    (path) =>
      /node_modules\/.*node_modules\/(?:@[^/]+\/)?[^/]+|node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0],
  );
  return [...new Set(folders.filter((each) => each !== undefined))].sort();
}

/** Validator of the schema that CycloneDX publishes for version 1.6. */
function cyclonedx(): ValidateFunction {
  const schema = (file: string) =>
    JSON.parse(readFileSync(join(CLUSTER_CACHE, 'bin/cyclonedx', file), 'utf8')) as object;
  const formats = {
    'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/,
    'iri-reference': true,
    'idn-email': true,
    uri: true,
  } as const;
  const ajv = new Ajv({ strict: false, allErrors: true, formats });
  ajv
    .addSchema(schema('spdx.schema.json'))
    .addSchema(schema('jsf-0.82.schemax.json'), 'http://cyclonedx.org/schema/jsf-0.82.schema.json');
  return ajv.compile(schema('bom-1.6.schema.json'));
}

// Helm and the schemas are part of the test cluster's binaries.
(whyNoControlPlane() ? describe.skip : describe)('a release', () => {
  let validate: ValidateFunction;

  beforeAll(async () => {
    validate = cyclonedx();
    folder = mkdtempSync(join(tmpdir(), 'release-'));
    await release([released()], { SOURCE_DATE_EPOCH: EPOCH });
    await release([join(folder, 'again')], { SOURCE_DATE_EPOCH: EPOCH, TZ: 'Pacific/Auckland' });
  }, 180_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('has these files, and is byte-identical when it is created again', () => {
    const names = readdirSync(released()).sort();
    expect(names).toEqual([
      'SHA256SUMS',
      `agent-compliance-${version}.npm.tgz`,
      `agent-compliance-${version}.tgz`,
      ...SBOMS.toSorted().map((part) => `${part}-${version}.cdx.json`),
    ]);
    const differing = names.filter(
      (name) => !readFileSync(released(name)).equals(readFileSync(join(folder, 'again', name))),
    );
    expect(differing).toEqual([]);
  });

  test('has valid checksums for sha256sum', async () => {
    const { stdout } = await run('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: released() });
    expect(stdout.trim().split('\n')).toHaveLength(readdirSync(released()).length - 1);
  });

  test('has the complete chart, which helm renders like the source directory', async () => {
    const chart = released(`agent-compliance-${version}.tgz`);
    const template = [
      'template',
      'platform',
      '--namespace',
      'platform-system',
      '--kube-version',
      '1.36.0',
      ...REQUIRED,
    ];
    const [fromArchive, fromDirectory] = await Promise.all(
      [chart, join(ROOT, 'helm/agent-compliance')].map((each) =>
        run(clusterBinary('helm'), [...template, each]),
      ),
    );
    expect(fromArchive?.stdout).toBe(fromDirectory?.stdout);
    const { stdout } = await run('tar', ['-tvzf', chart], { env: { ...process.env, TZ: 'UTC' } });
    expect(
      stdout
        .trim()
        .split('\n')
        .filter((line) => !line.includes(' 2023-11-14 22:13 agent-compliance/')),
    ).toEqual([]);
  });

  test('has the npm package of this version', async () => {
    const { stdout } = await run('tar', [
      '-xzOf',
      released(`agent-compliance-${version}.npm.tgz`),
      'package/package.json',
    ]);
    expect(JSON.parse(stdout)).toMatchObject({ name: 'agent-compliance', version });
  });

  test.each(SBOMS)('has an SBOM for %s that is valid by the CycloneDX schema', (part) => {
    const sbom = sbomOf(part);
    expect({ valid: validate(sbom), errors: validate.errors }).toEqual({ valid: true, errors: null });
    expect(validate({ ...sbom, components: [{ type: 'nonsense' }] })).toBe(false);
    expect(sbom.metadata).toMatchObject({
      timestamp: '2023-11-14T22:13:20.000Z',
      component: { name: part === 'npm' ? 'agent-compliance' : `agent-compliance/${part}`, version },
    });
  });

  test.each(IMAGES)('lists in the SBOM of %s exactly the packages of its bundles', (part) => {
    const refs = sbomOf(part).components.map((each) => each['bom-ref']);
    const stages = stagesOf(readFileSync(join(ROOT, 'images/Dockerfile'), 'utf8'));
    const bundles = imageOf(stages, part).copies.flatMap(
      ({ source }) => /^dist\/([^/]+)\/main\.js$/.exec(source)?.[1] ?? [],
    );
    expect(refs).toEqual([...new Set(bundles.flatMap(packagesInMap))].sort());
    expect(refs).not.toContain('node_modules/typescript');
  });

  test('lists in the SBOM of the npm package the packages of all its bundles', async () => {
    const { stdout } = await run('tar', ['-tzf', released(`agent-compliance-${version}.npm.tgz`)]);
    const parts = [...new Set(Array.from(stdout.matchAll(/dist\/(.+)\/.*js$/gm), ([, part = '']) => part))];
    expect(parts).toEqual(expect.arrayContaining(['cli', 'sidecar', 'control-plane', 'reporter']));
    const refs = sbomOf('npm').components.map((each) => each['bom-ref']);
    expect(refs).toEqual([...new Set(parts.flatMap(packagesInMap))].sort());
  });

  test.each(SBOMS)('lists in the SBOM of %s the dependencies between its packages', (part) => {
    const { components, dependencies } = sbomOf(part);
    const refs = new Set(components.map((each) => each['bom-ref']));
    const [root, ...others] = dependencies;
    expect(new Set(root?.dependsOn)).toEqual(refs);
    expect(new Set(others.map(({ ref }) => ref))).toEqual(refs);
    expect(others.flatMap(({ dependsOn }) => dependsOn).filter((ref) => !refs.has(ref))).toEqual([]);
    expect(others.some(({ dependsOn }) => dependsOn.length > 0)).toBe(true);
  });

  test.each(IMAGES)('has a notice in the image of %s for each package of its SBOM', (part) => {
    const notices = readFileSync(join(ROOT, `dist/${part}/THIRD-PARTY-NOTICES`), 'utf8');
    const missing = sbomOf(part).components.filter(({ group, name, version: own }) => {
      const full = group === undefined ? name : `${group}/${name}`;
      return !notices.includes(`\n## ${full} ${own} (`);
    });
    expect(missing).toEqual([]);
  });
});

describe('a release with invalid input', () => {
  test('fails if the tag differs from the version', async () => {
    await expect(release(['--check', '--tag', 'v99.0.0'])).rejects.toMatchObject({
      code: 1,
      stderr: `release: package.json has version ${version}, but other places differ: the tag: v99.0.0\n`,
    });
  });

  test('fails for an invalid SOURCE_DATE_EPOCH', async () => {
    const result = release([join(tmpdir(), 'never-created')], { SOURCE_DATE_EPOCH: 'yesterday' });
    await expect(result).rejects.toMatchObject({
      code: 1,
      stderr: 'release: SOURCE_DATE_EPOCH must be in seconds since 1970, got yesterday\n',
    });
  });
});
