import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { COMMAND_NAMES } from '../cli/program.ts';
import { makeConsumerProject, type ConsumerProject } from '../testing/machine/consumer-project.ts';
import { manifestText } from '../testing/manifests/manifest-text.ts';

const run = promisify(execFile);
const ROOT = dirname(import.meta.dirname);

let project: ConsumerProject;
beforeAll(async () => {
  project = await makeConsumerProject();
}, 120_000);
afterAll(() => project?.remove());

const installed = (...path: string[]): string =>
  join(project.folder, 'node_modules/agent-compliance', ...path);

/** Files that the commands read. */
const FILES: Readonly<Record<string, string>> = {
  'agent.py': 'from openai import OpenAI\nOpenAI().chat.completions.create(model="gpt-5")\n',
  'agent.yaml': manifestText(
    '    costControls: { maxTokensPerDay: 1000 }\n  evaluation: { datasets: [{ name: smoke, path: smoke.jsonl }] }\n',
  ),
  'other.yaml': manifestText('  tools: [{ name: search }]\n'),
  'old.yaml': manifestText()
    .replace('platform.io/v1', 'agentspec.io/v1')
    .replace('PlatformAgent', 'AgentSpec'),
  'smoke.jsonl': '{"input": "hello", "expected": "hello"}\n',
  'card.json':
    '{"name": "Shop", "version": "1.0.0", "url": "https://shop.example", "skills": [{"id": "buy"}]}',
  'audit.log': '',
  'admin.key': 'the-admin-key-of-a-test\n',
  'deployment.yaml':
    'apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: chat }\nspec: { template: { spec: { containers: [{ name: a, image: a, ports: [{ containerPort: 8000 }] }] } } }\n',
};

/** Nothing listens on it. */
const NOWHERE = 'http://127.0.0.1:9';

/** A run of every command in an empty project, by its name: exit code, and a part of its output or errors. */
/** Below the ports that the system assigns, and outside of those of other tests. */
const RUN_PORTS = ['--proxy-port', '21471', '--control-port', '21472', '--egress-port', '21473'];

const COMMANDS: Readonly<Record<string, { args: readonly string[]; code: 0 | 1; shows: string }>> = {
  validate: { args: ['agent.yaml'], code: 0, shows: 'agent.yaml is valid: minimal 1.0.0' },
  init: { args: ['shop', '--from', 'card.json'], code: 0, shows: 'wrote shop/agent.yaml' },
  scan: { args: ['--dir', '.', '--no-llm', '--dry-run'], code: 0, shows: 'kind: PlatformAgent' },
  health: { args: ['agent.yaml', '--no-model'], code: 1, shows: 'minimal is unhealthy' },
  audit: { args: ['agent.yaml', '--format', 'sarif'], code: 0, shows: '"version": "2.1.0"' },
  evaluate: {
    args: ['agent.yaml', '--url', NOWHERE, '--dataset', 'smoke'],
    code: 1,
    shows: 'no sample got a response to compare; the first: connection refused',
  },
  proof: { args: ['import', 'agent.yaml'], code: 1, shows: 'the file is not a complete JSON document' },
  evidence: {
    args: [
      'minimal',
      '--from',
      '2026-03-01',
      '--to',
      '2026-03-01',
      '--log',
      'audit.log',
      '--out',
      'evidence',
    ],
    code: 0,
    shows: 'wrote evidence.json, evidence.html to evidence',
  },
  diff: { args: ['agent.yaml', 'other.yaml', '--format', 'markdown'], code: 0, shows: '### platform diff' },
  migrate: { args: ['old.yaml', '--dry-run'], code: 0, shows: '+kind: PlatformAgent' },
  export: { args: ['agent.yaml', '--format', 'agentcard'], code: 0, shows: '"supportedInterfaces"' },
  generate: { args: ['agent.yaml', '--deploy', 'k8s', '--dry-run'], code: 0, shows: 'kind: Deployment' },
  'generate-policy': { args: ['agent.yaml', '--out', 'policy'], code: 0, shows: 'policy.rego' },
  'generate-egress': { args: ['agent.yaml'], code: 0, shows: 'kind: NetworkPolicy' },
  run: { args: [...RUN_PORTS, '--', 'node', '-e', '0'], code: 0, shows: '/100' },
  gap: { args: ['--url', '127.0.0.1:1'], code: 1, shows: 'cannot connect' },
  observe: { args: ['--url', 'http://127.0.0.1:1', '--once'], code: 1, shows: 'cannot connect' },
  'provider-status': { args: [], code: 1, shows: 'ANTHROPIC_API_KEY' },
  mcp: { args: ['--settings', 'none.json'], code: 1, shows: 'none.json' },
  register: {
    args: ['agent.yaml', '--url', NOWHERE, '--admin-key-file', 'admin.key'],
    code: 1,
    shows: `cannot connect to ${NOWHERE}: connection refused`,
  },
  stop: { args: ['shop', '--reason', 'leak'], code: 1, shows: 'no cluster configured' },
  resume: {
    args: ['shop', '--url', NOWHERE, '--admin-key-file', 'admin.key'],
    code: 1,
    shows: `cannot connect to ${NOWHERE}: connection refused`,
  },
  'audit-log': { args: ['columns'], code: 0, shows: 'actor.app_uid' },
  inject: { args: ['deployment.yaml'], code: 0, shows: 'agent-compliance/sidecar:' },
  uninject: { args: ['deployment.yaml'], code: 0, shows: 'kind: Deployment' },
  // These two need a cluster: the error shows that they are complete.
  check: { args: [], code: 1, shows: 'no cluster configured' },
  uninstall: { args: [], code: 1, shows: 'no cluster configured' },
  completion: { args: ['bash'], code: 0, shows: 'complete -o default' },
};

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
    const names = [
      'commander',
      'yaml',
      'express',
      'winston',
      'undici',
      'openai',
      '@modelcontextprotocol/sdk',
      '@kubernetes/client-node',
    ];
    for (const name of names) expect(notices).toMatch(new RegExp(`^## ${name} \\d+\\.\\d+\\.\\d+ \\(`, 'm'));
  });

  // The registry has a package "platform" of another owner, so the name of the package must be a command.
  test('provides npx agent-compliance', async () => {
    const npx = (...args: string[]) => project.run('npx', '-y', '--offline', 'agent-compliance', ...args);
    const { stdout, stderr } = await npx('--help');
    expect([stdout.split('\n')[0], stderr]).toEqual(['Usage: platform [options] [command]', '']);
    await npx('init', 'my-agent', '--yes');
    const validated = await npx('validate', 'my-agent/agent.yaml');
    expect(validated.stdout).toBe('my-agent/agent.yaml is valid: my-agent 0.1.0\n');
  });

  test('has every command of the table above, and no other', () => {
    expect(Object.keys(COMMANDS).sort()).toEqual([...COMMAND_NAMES].sort());
  });

  test.each(Object.entries(COMMANDS))('runs platform %s', async (name, { args, code, shows }) => {
    for (const [file, text] of Object.entries(FILES)) writeFileSync(join(project.folder, file), text);
    const ended = await project.run('node_modules/.bin/platform', name, ...args).then(
      (result) => ({ ...result, code: 0 }),
      (error: { code: number; stdout: string; stderr: string }) => error,
    );
    expect({ code: ended.code, text: ended.stdout + ended.stderr }).toEqual({
      code,
      text: expect.stringContaining(shows),
    });
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
