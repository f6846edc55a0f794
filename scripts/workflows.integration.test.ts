// The workflows cannot run here: they are linted, and held to what they promise.
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { stagesOf, targetsOf } from '../e2e/images/dockerfile.ts';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { clusterBinary } from '../testing/cluster-binary.ts';

const run = promisify(execFile);
const ROOT = dirname(import.meta.dirname);
const FOLDER = join(ROOT, '.github/workflows');
const FILES = readdirSync(FOLDER).sort();
const textOf = (file: string) => readFileSync(join(FOLDER, file), 'utf8');

interface Workflow {
  permissions: object;
  defaults: { run: { shell: string } };
  jobs: Record<
    string,
    {
      needs?: string | string[];
      permissions?: Record<string, string>;
      'timeout-minutes'?: number;
      steps: { uses?: string; run?: string; with?: Record<string, unknown> }[];
    }
  >;
}
const workflow = (file: string) => parse(textOf(file)) as Workflow;

test('there are two', () => {
  expect(FILES).toEqual(['ci.yaml', 'release.yaml']);
});

describe.each(FILES)('%s', (file) => {
  // The linter comes with the binaries of the test cluster.
  (whyNoControlPlane() ? test.skip : test)('is clean for actionlint', async () => {
    const { stdout } = await run(clusterBinary('actionlint'), ['-no-color', join(FOLDER, file)]);
    expect(stdout).toBe('');
  });

  test('pins every action by the commit of a released version, and leaves no credentials behind', () => {
    const uses = [...textOf(file).matchAll(/uses: (.*)/g)].map(([, each = '']) => each);
    expect(uses.length).toBeGreaterThan(0);
    for (const each of uses) expect(each).toMatch(/^actions\/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
    for (const { steps } of Object.values(workflow(file).jobs))
      for (const step of steps.filter((each) => each.uses?.startsWith('actions/checkout@')))
        expect(step.with).toMatchObject({ 'persist-credentials': false });
  });

  test('gives no right that a job does not name, and no job all the time in the world', () => {
    const { permissions, jobs, defaults } = workflow(file);
    expect(permissions).toEqual({});
    expect(defaults.run.shell).toBe('bash');
    for (const job of Object.values(jobs)) {
      expect(job.permissions).toBeDefined();
      expect(job['timeout-minutes']).toBeLessThanOrEqual(60);
    }
  });

  test('puts nothing of an event into a script', () => {
    const scripts = Object.values(workflow(file).jobs).flatMap(({ steps }) =>
      steps.map((step) => step.run ?? ''),
    );
    expect(scripts.filter((script) => script.includes('${{'))).toEqual([]);
    expect(scripts.some((script) => script.includes('.ci/run'))).toBe(true);
  });
});

describe('release.yaml', () => {
  const { jobs } = workflow('release.yaml');

  test('writes only where it has to, after the tests', () => {
    expect(Object.fromEntries(Object.entries(jobs).map(([name, job]) => [name, job.permissions]))).toEqual({
      test: { contents: 'read' },
      publish: { contents: 'read', packages: 'write', 'id-token': 'write' },
      release: { contents: 'write', 'id-token': 'write' },
    });
    expect(jobs['publish']?.needs).toBe('test');
    expect(jobs['release']?.needs).toEqual(['test', 'publish']);
  });

  test('believes no cache', () => {
    expect(textOf('release.yaml')).not.toContain('actions/cache@');
  });

  test('builds every image of the product', () => {
    const [, parts = ''] = /for part in (.*); do/.exec(textOf('release.yaml')) ?? [];
    const targets = targetsOf(stagesOf(readFileSync(join(ROOT, 'images/Dockerfile'), 'utf8')));
    expect(parts.split(' ').sort()).toEqual(targets.filter((target) => target !== 'example-agents').sort());
  });
});
