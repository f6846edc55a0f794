// The workflows cannot run here, so they are linted and checked for their security properties.
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { stagesOf, targetsOf } from '../e2e/images/dockerfile.ts';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { clusterBinary } from '../testing/machine/cluster-binary.ts';

const run = promisify(execFile);
const ROOT = dirname(import.meta.dirname);
const DIRECTORY = join(ROOT, '.github/workflows');
const FILES = readdirSync(DIRECTORY).sort();
const textOf = (file: string) => readFileSync(join(DIRECTORY, file), 'utf8');

interface Workflow {
  permissions: object;
  defaults: { run: { shell: string } };
  jobs: Record<
    string,
    {
      needs?: string | string[];
      permissions?: Record<string, string>;
      'timeout-minutes'?: number;
      steps: { name?: string; uses?: string; run?: string; with?: Record<string, unknown> }[];
    }
  >;
}
const workflow = (file: string) => parse(textOf(file)) as Workflow;

test('there are three workflows', () => {
  expect(FILES).toEqual(['ci.yaml', 'docs.yaml', 'release.yaml']);
});

describe.each(FILES)('%s', (file) => {
  // The linter is part of the test cluster's binaries.
  (whyNoControlPlane() ? test.skip : test)('passes actionlint', async () => {
    const { stdout } = await run(clusterBinary('actionlint'), ['-no-color', join(DIRECTORY, file)]);
    expect(stdout).toBe('');
  });

  test('pins every action to the commit of a release, and persists no credentials', () => {
    const uses = [...textOf(file).matchAll(/uses: (.*)/g)].map(([, each = '']) => each);
    expect(uses.length).toBeGreaterThan(0);
    for (const each of uses) expect(each).toMatch(/^actions\/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
    for (const { steps } of Object.values(workflow(file).jobs))
      for (const step of steps.filter((each) => each.uses?.startsWith('actions/checkout@')))
        expect(step.with).toMatchObject({ 'persist-credentials': false });
  });

  test('grants permissions only per job, and limits the time of each job', () => {
    const { permissions, jobs, defaults } = workflow(file);
    expect(permissions).toEqual({});
    expect(defaults.run.shell).toBe('bash');
    for (const job of Object.values(jobs)) {
      expect(job.permissions).toBeDefined();
      expect(job['timeout-minutes']).toBeLessThanOrEqual(60);
    }
  });

  test('inserts no event data into scripts', () => {
    const scripts = Object.values(workflow(file).jobs).flatMap(({ steps }) =>
      steps.map((step) => step.run ?? ''),
    );
    expect(scripts.filter((script) => script.includes('${{'))).toEqual([]);
    const command = file === 'docs.yaml' ? 'make docs' : '.ci/run';
    expect(scripts.some((script) => script.includes(command))).toBe(true);
  });
});

test('docs.yaml publishes what was built without an error, and only after a push', () => {
  const { publish, build } = workflow('docs.yaml').jobs;
  expect(build?.permissions).toEqual({ contents: 'read' });
  expect(publish).toMatchObject({
    needs: 'build',
    if: "github.event_name == 'push'",
    permissions: { contents: 'write' },
  });
});

describe('release.yaml', () => {
  const { jobs } = workflow('release.yaml');

  test('has write permissions only where needed, and runs after the tests', () => {
    expect(Object.fromEntries(Object.entries(jobs).map(([name, job]) => [name, job.permissions]))).toEqual({
      test: { contents: 'read' },
      publish: { contents: 'read', packages: 'write', 'id-token': 'write' },
      release: { contents: 'write', 'id-token': 'write' },
    });
    expect(jobs['publish']?.needs).toBe('test');
    expect(jobs['release']?.needs).toEqual(['test', 'publish']);
  });

  test('uses no cache', () => {
    expect(textOf('release.yaml')).not.toContain('actions/cache@');
  });

  test('builds every image of the product', () => {
    const [, parts = ''] = /for part in (.*); do/.exec(textOf('release.yaml')) ?? [];
    const targets = targetsOf(stagesOf(readFileSync(join(ROOT, 'images/Dockerfile'), 'utf8')));
    expect(parts.split(' ').sort()).toEqual(targets.filter((target) => target !== 'example-agents').sort());
  });

  test('resolves each base image tag to a digest once, and records the digests', async () => {
    const step = jobs['publish']?.steps.find(({ name }) => name === 'Resolve the base images to digests');
    const directory = mkdtempSync(join(tmpdir(), 'base-images-'));
    const digest = `sha256:${'a'.repeat(64)}`;
    // Replaces docker: returns the registry's response for one image.
    writeFileSync(
      join(directory, 'docker'),
      `#!/bin/sh\necho "$*" >> "${directory}/arguments"; echo ${digest}\n`,
      {
        mode: 0o755,
      },
    );
    const env = {
      PATH: `${directory}:${process.env['PATH']}`,
      RUNNER_TEMP: directory,
      GITHUB_OUTPUT: join(directory, 'output'),
      GITHUB_STEP_SUMMARY: join(directory, 'summary'),
    };
    await run('bash', ['-eo', 'pipefail', '-c', step?.run ?? 'false'], { cwd: ROOT, env });
    const read = (file: string) => readFileSync(join(directory, file), 'utf8');
    const from = readFileSync(join(ROOT, 'images/Dockerfile'), 'utf8').matchAll(
      /^FROM (?:--\S+ )?(\S+) AS/gm,
    );
    const named = [...from].map(([, image = '']) => image).filter((image) => image.includes(':'));
    const images = [...new Set(named)];
    const base = images.at(-1) ?? '';
    expect(images).toEqual([
      expect.stringMatching(/^node:/),
      expect.stringMatching(/^gcr\.io\/distroless\//),
    ]);
    expect(
      read('arguments')
        .trim()
        .split('\n')
        .map((line) => line.split(' ')[3]),
    ).toEqual(images);
    expect(read('base.txt').trim().split('\n')).toEqual([
      ...images.map((image) => `--build-context=${image}=docker-image://${image}@${digest}`),
      `--label=org.opencontainers.image.base.name=${base}`,
      `--label=org.opencontainers.image.base.digest=${digest}`,
    ]);
    for (const file of ['summary', 'output']) expect(read(file)).toContain(`- base \`${base}@${digest}\``);
    rmSync(directory, { recursive: true });
    const build = jobs['publish']?.steps.find(({ run: script }) => script?.includes('docker buildx build'));
    expect(build?.run).toContain('"${base[@]}"');
  });
});
