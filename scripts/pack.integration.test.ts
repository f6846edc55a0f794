import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { makeConsumerProject, type ConsumerProject } from '../testing/consumer-project.ts';

const run = promisify(execFile);
const ROOT = dirname(import.meta.dirname);

let project: ConsumerProject;
beforeAll(async () => {
  project = await makeConsumerProject();
}, 120_000);
afterAll(() => project?.remove());

const installed = (...path: string[]): string =>
  join(project.folder, 'node_modules/agent-compliance', ...path);

describe('npm install of the package, without a registry', () => {
  test('installs only this package, without dependencies', () => {
    expect(readdirSync(join(project.folder, 'node_modules')).sort()).toEqual([
      '.bin',
      '.package-lock.json',
      'agent-compliance',
    ]);
    const about = JSON.parse(readFileSync(installed('package.json'), 'utf8')) as Record<string, unknown>;
    expect(Object.keys(about).filter((key) => /dependencies|scripts/i.test(key))).toEqual([]);
    const root = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<string, unknown>;
    expect(about['version']).toBe(root['version']);
  });

  test('contains no source map and no reference to a source map', () => {
    const files = readdirSync(installed('dist'), { recursive: true, encoding: 'utf8' });
    expect(files.filter((file) => file.endsWith('.map') || file.endsWith('meta.json'))).toEqual([]);
    const programs = files.filter((file) => /\.m?js$/.test(file));
    expect(programs.length).toBeGreaterThan(4);
    const referring = programs.filter((file) =>
      readFileSync(installed('dist', file), 'utf8').slice(-200).includes('sourceMappingURL'),
    );
    expect(referring).toEqual([]);
  });

  test('contains the licence of every bundled library', () => {
    const notices = readFileSync(installed('THIRD-PARTY-NOTICES'), 'utf8');
    const names = ['commander', 'yaml', 'express', 'winston', 'undici', 'openai', '@kubernetes/client-node'];
    for (const name of names) expect(notices).toMatch(new RegExp(`^## ${name} \\d+\\.\\d+\\.\\d+ \\(`, 'm'));
  });

  test('provides npx platform', async () => {
    const { stdout, stderr } = await project.run('npx', '--offline', 'platform', '--help');
    expect([stdout.split('\n')[0], stderr]).toEqual(['Usage: platform [options] [command]', '']);
    await project.run('npx', '--offline', 'platform', 'init', 'my-agent', '--yes');
    const validated = await project.run('npx', '--offline', 'platform', 'validate', 'my-agent/agent.yaml');
    expect(validated.stdout).toBe('my-agent/agent.yaml is valid: my-agent 0.1.0\n');
  });

  test('exports the schema', () => {
    const fromProject = createRequire(join(project.folder, 'index.js'));
    expect(fromProject('agent-compliance/schema.json')).toMatchObject({ type: 'object' });
    expect(fromProject('agent-compliance/package.json')).toMatchObject({ name: 'agent-compliance' });
  });

  test.each(['sidecar', 'control-plane'])('the %s starts and validates its configuration', async (part) => {
    const wrong = ['PORT=x', 'PROXY_PORT=x'];
    const started = project.run('env', ...wrong, process.execPath, installed('dist', part, 'main.js'));
    await expect(started).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('PORT') });
  });

  test('its pages link only to files of the package', () => {
    for (const page of ['README.md', 'REPORTER.md']) {
      const links = [...readFileSync(installed(page), 'utf8').matchAll(/\]\(([^)\s#]+)/g)];
      const targets = links.map(([, target = '']) => target).filter((target) => !/^[a-z]+:/.test(target));
      expect(targets.filter((target) => !readdirSync(installed()).includes(target))).toEqual([]);
    }
  });
});

test.each(['pack', 'publish'])('npm %s in the repository fails', async (command) => {
  const result = run('npm', [command, '--dry-run', '--offline'], { cwd: ROOT });
  await expect(result).rejects.toMatchObject({
    stderr: expect.stringMatching(/npm run package makes|private/),
  });
});

test('npm run package still works: there is no prepackage script', () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  expect(scripts['package']).toContain('scripts/pack.ts');
  expect(Object.keys(scripts)).not.toContain('prepackage');
});
