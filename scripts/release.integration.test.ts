// What `make release` makes: run twice, and judged by the tools of those who get it.
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Ajv, type ValidateFunction } from 'ajv';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { clusterBinary, CLUSTER_CACHE } from '../testing/cluster-binary.ts';
import { REQUIRED } from '../testing/rendered-chart.ts';

const run = promisify(execFile);
const ROOT = dirname(import.meta.dirname);
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
const IMAGES = ['sidecar', 'operator', 'webhook', 'control-plane'];
const BILLS = [...IMAGES, 'npm'];
const EPOCH = '1700000000';

interface Bill {
  metadata: { timestamp: string; component: { name: string; version: string } };
  components: { 'bom-ref': string; group?: string; name: string; version: string; purl: string }[];
  dependencies: { ref: string; dependsOn: string[] }[];
}

let folder: string;
const made = (...path: string[]) => join(folder, 'once', ...path);
const billOf = (part: string) =>
  JSON.parse(readFileSync(made(`${part}-${version}.cdx.json`), 'utf8')) as Bill;
const release = (args: readonly string[], env: Record<string, string> = {}) =>
  run(process.execPath, [join(ROOT, 'scripts/release.ts'), ...args], { env: { ...process.env, ...env } });

/** The packages whose sources the source map of a bundle names. */
function packagesInMap(part: string): string[] {
  const file = part === 'reporter' ? 'index.mjs' : 'main.js';
  const { sources } = JSON.parse(readFileSync(join(ROOT, `dist/${part}/${file}.map`), 'utf8')) as {
    sources: string[];
  };
  const folders = sources.map(
    (path) =>
      /node_modules\/.*node_modules\/(?:@[^/]+\/)?[^/]+|node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0],
  );
  return [...new Set(folders.filter((each) => each !== undefined))].sort();
}

/** By the schema that CycloneDX publishes for version 1.6. */
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

// Helm and the schemas come with the binaries of the test cluster.
(whyNoControlPlane() ? describe.skip : describe)('a release', () => {
  let validate: ValidateFunction;

  beforeAll(async () => {
    validate = cyclonedx();
    folder = mkdtempSync(join(tmpdir(), 'release-'));
    await release([made()], { SOURCE_DATE_EPOCH: EPOCH });
    await release([join(folder, 'again')], { SOURCE_DATE_EPOCH: EPOCH, TZ: 'Pacific/Auckland' });
  }, 180_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('has these files, and is the same byte for byte when it is made again', () => {
    const names = readdirSync(made()).sort();
    expect(names).toEqual([
      'SHA256SUMS',
      `agent-compliance-${version}.npm.tgz`,
      `agent-compliance-${version}.tgz`,
      ...BILLS.toSorted().map((part) => `${part}-${version}.cdx.json`),
    ]);
    const differing = names.filter(
      (name) => !readFileSync(made(name)).equals(readFileSync(join(folder, 'again', name))),
    );
    expect(differing).toEqual([]);
  });

  test('has checksums that sha256sum finds right', async () => {
    const { stdout } = await run('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: made() });
    expect(stdout.trim().split('\n')).toHaveLength(readdirSync(made()).length - 1);
  });

  test('has the chart, with every file that it is made of, which helm takes', async () => {
    const chart = made(`agent-compliance-${version}.tgz`);
    const template = [
      'template',
      'platform',
      '--namespace',
      'platform-system',
      '--kube-version',
      '1.36.0',
      ...REQUIRED,
    ];
    const [fromArchive, fromFolder] = await Promise.all(
      [chart, join(ROOT, 'helm/agent-compliance')].map((each) =>
        run(clusterBinary('helm'), [...template, each]),
      ),
    );
    expect(fromArchive?.stdout).toBe(fromFolder?.stdout);
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
      made(`agent-compliance-${version}.npm.tgz`),
      'package/package.json',
    ]);
    expect(JSON.parse(stdout)).toMatchObject({ name: 'agent-compliance', version });
  });

  test.each(BILLS)('has a bill of materials for %s that is valid by the schema of CycloneDX', (part) => {
    const bill = billOf(part);
    expect({ valid: validate(bill), errors: validate.errors }).toEqual({ valid: true, errors: null });
    expect(validate({ ...bill, components: [{ type: 'nonsense' }] })).toBe(false);
    expect(bill.metadata).toMatchObject({
      timestamp: '2023-11-14T22:13:20.000Z',
      component: { name: part === 'npm' ? 'agent-compliance' : `agent-compliance/${part}`, version },
    });
  });

  test.each(IMAGES)(
    'names in the bill of %s the packages that its source map names, and no other',
    (part) => {
      const refs = billOf(part).components.map((each) => each['bom-ref']);
      expect(refs).toEqual(packagesInMap(part));
      expect(refs).not.toContain('node_modules/typescript');
    },
  );

  test('names in the bill of the npm package those of all its bundles', async () => {
    const { stdout } = await run('tar', ['-tzf', made(`agent-compliance-${version}.npm.tgz`)]);
    const parts = [...new Set(Array.from(stdout.matchAll(/dist\/(.+)\/.*js$/gm), ([, part = '']) => part))];
    expect(parts).toEqual(expect.arrayContaining(['cli', 'sidecar', 'control-plane', 'reporter']));
    const refs = billOf('npm').components.map((each) => each['bom-ref']);
    expect(refs).toEqual([...new Set(parts.flatMap(packagesInMap))].sort());
  });

  test.each(BILLS)('says in the bill of %s who uses whom, of what it names', (part) => {
    const { components, dependencies } = billOf(part);
    const refs = new Set(components.map((each) => each['bom-ref']));
    const [root, ...others] = dependencies;
    expect(new Set(root?.dependsOn)).toEqual(refs);
    expect(new Set(others.map(({ ref }) => ref))).toEqual(refs);
    expect(others.flatMap(({ dependsOn }) => dependsOn).filter((ref) => !refs.has(ref))).toEqual([]);
    expect(others.some(({ dependsOn }) => dependsOn.length > 0)).toBe(true);
  });

  test.each(IMAGES)('has a notice in the image of %s for each package of its bill', (part) => {
    const notices = readFileSync(join(ROOT, `dist/${part}/THIRD-PARTY-NOTICES`), 'utf8');
    const missing = billOf(part).components.filter(({ group, name, version: own }) => {
      const full = group === undefined ? name : `${group}/${name}`;
      return !notices.includes(`\n## ${full} ${own} (`);
    });
    expect(missing).toEqual([]);
  });
});

describe('a release that must not be', () => {
  test('is refused where the tag is not the version', async () => {
    await expect(release(['--check', '--tag', 'v99.0.0'])).rejects.toMatchObject({
      code: 1,
      stderr: `release: package.json has version ${version}, and others have another: the tag: v99.0.0\n`,
    });
  });

  test('is refused for a time that is none', async () => {
    const refused = release([join(tmpdir(), 'never-made')], { SOURCE_DATE_EPOCH: 'yesterday' });
    await expect(refused).rejects.toMatchObject({
      code: 1,
      stderr: 'release: SOURCE_DATE_EPOCH is yesterday; wanted are seconds since 1970\n',
    });
  });
});
