import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { run } from '../e2e/cluster/run.ts';
import { COMMAND_BUNDLE, runBuiltCommand, type Ended } from '../testing/machine/built-command.ts';
import { clusterBinary } from '../testing/machine/cluster-binary.ts';
import { whyNoOpa } from '../testing/sidecar/opa.ts';
import { TestServers } from '../testing/http/sockets.ts';
import { manifestText } from '../testing/manifests/manifest-text.ts';

const ROOT = dirname(import.meta.dirname);

/** What the bundler records about the command. */
interface Metafile {
  inputs: Record<string, { imports: { path: string; kind: string }[] }>;
}

/** The modules that are evaluated with these ones, without what they import when it is needed. */
function loadedWith(entries: readonly string[]): string[] {
  const text = readFileSync(join(ROOT, 'dist/cli/meta.json'), 'utf8');
  const { inputs } = JSON.parse(text) as Metafile;
  const loaded = new Set<string>();
  const visit = (path: string): void => {
    if (loaded.has(path)) return;
    loaded.add(path);
    for (const { path: other, kind } of inputs[path]?.imports ?? [])
      if (kind !== 'dynamic-import' && other !== '<runtime>') visit(other);
  };
  for (const entry of entries) visit(entry);
  return [...loaded].sort();
}

let cwd: string;

beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), 'cli-bundle-'));
  writeFileSync(join(cwd, 'good.yaml'), manifestText());
  writeFileSync(
    join(cwd, 'limited.yaml'),
    manifestText(
      '    costControls: { maxMonthlyUSD: 75, maxTokensPerDay: 1000, usdPerMillionTokens: { input: 1, output: 2 } }\n',
    ),
  );
});

afterAll(() => rmSync(cwd, { recursive: true, force: true }));

const platform = (args: string[], env: Record<string, string> = {}): Promise<Ended> =>
  runBuiltCommand(args, { cwd, env });

describe('the built platform command', () => {
  test('prints the version of the package', async () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    expect(await platform(['--version'])).toEqual({ output: `${version}\n`, errors: '', exitCode: 0 });
  });

  test('--version loads nothing but the version', () => {
    expect(loadedWith(['cli/main.ts'])).toEqual([
      'cli/main.ts',
      'node:module',
      'node:path',
      'runtime/version.ts',
    ]);
  });

  test('validate loads neither another command nor what is for the network', () => {
    const loaded = loadedWith(['cli/run.ts', 'cli/commands/validate.ts']);
    expect(loaded).toEqual(expect.arrayContaining(['cli/program.ts', 'core/manifest/validate.generated.ts']));
    const rejected = /^cli\/commands\/|^probe\/|^node:(?:https?|http2|net|tls|crypto|dns|zlib|readline)\b/;
    expect(loaded.filter((path) => rejected.test(path))).toEqual(['cli/commands/validate.ts']);
  });

  test('writes a valid manifest without a terminal', async () => {
    expect(await platform(['init', 'new-agent'])).toMatchObject({ exitCode: 0, errors: '' });
    expect(await platform(['validate', 'new-agent/agent.yaml'])).toMatchObject({ exitCode: 0 });
    expect(await platform(['init', 'new-agent', '--yes'])).toMatchObject({ exitCode: 1, output: '' });
  });

  (whyNoOpa() ? test.skip : test)(
    'writes a policy that the real engine loads and whose tests pass',
    async () => {
      const ended = await platform(['generate-policy', 'limited.yaml', '--out', 'policy/limited']);
      expect(ended).toMatchObject({ errors: '', exitCode: 0 });
      const opa = (...args: string[]) => run([clusterBinary('opa'), ...args, join(cwd, 'policy/limited')]);
      expect(await opa('check', '--strict')).toEqual({ stdout: '', stderr: '', code: 0 });
      expect(await opa('fmt', '--list')).toEqual({ stdout: '', stderr: '', code: 0 });
      expect(await opa('test')).toEqual({ stdout: 'PASS: 28/28\n', stderr: '', code: 0 });
    },
  );

  test('prints no colour to a pipe', async () => {
    const { output } = await platform(['health', 'good.yaml', '--no-model'], { FORCE_COLOR: '1' });
    expect(output).toContain('env:OPENAI_API_KEY');
    expect(output).not.toContain('\u001b');
  });

  test('exits without an error message if the reader closes the pipe early', async () => {
    const shell = spawn('sh', ['-c', `"$NODE" "$BUNDLE" validate --schema | head -n 1`], {
      env: { ...process.env, NODE: process.execPath, BUNDLE: COMMAND_BUNDLE },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let errors = '';
    shell.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
    await new Promise((resolve) => shell.once('close', resolve));
    expect(errors).toBe('');
  });

  describe('observe, which prints until it is stopped', () => {
    const servers = new TestServers();
    let url: string;
    beforeAll(async () => {
      const call = {
        ...{ id: 1, at: '2026-03-01T12:00:01.000Z', lane: 'openai', method: 'POST', path: '/v1' },
        ...{ model: 'm'.repeat(1_000), stream: false, toolsOffered: [], toolsCalled: [], toolsExecuted: [] },
        ...{ usage: null, statusCode: 200, durationMs: 1, violations: [], blocked: false, requestId: null },
      };
      // More than a pipe holds.
      const calls = Array.from({ length: 1_000 }, (_, id) => ({ ...call, id }));
      const port = await servers.http((request, response) =>
        response.end(
          JSON.stringify(
            request.url?.startsWith('/egress')
              ? calls
              : { rows: [], egress: { lanes: ['openai'], connect: 'off' } },
          ),
        ),
      );
      url = `http://127.0.0.1:${port}`;
    });
    afterAll(() => servers.close());
    const observed = async (target: 'pipe' | number): Promise<[string, unknown]> => {
      const child = spawn(process.execPath, [COMMAND_BUNDLE, 'observe', '--url', url], {
        stdio: ['ignore', target, 'pipe'],
      });
      let errors = '';
      child.stderr!.on('data', (chunk: Buffer) => (errors += chunk.toString()));
      child.stdout?.once('data', () => child.stdout?.destroy());
      const exitCode = await new Promise((resolve) => child.once('close', resolve));
      return [errors, exitCode];
    };

    test('ends without an error message when the reader has gone', async () => {
      expect(await observed('pipe')).toEqual(['', 0]);
    });

    (existsSync('/dev/full') ? test : test.skip)('ends with one error message on a full disk', async () => {
      const full = openSync('/dev/full', 'w');
      const ended = observed(full);
      closeSync(full);
      expect(await ended).toEqual(['error: cannot write to standard output: the disk is full\n', 1]);
    });
  });

  (existsSync('/dev/full') ? test : test.skip)(
    'reports a full disk on standard output and exits with 1',
    async () => {
      const command = `"$NODE" "$BUNDLE" validate good.yaml > /dev/full`;
      const env = { PATH: process.env['PATH'], NODE: process.execPath, BUNDLE: COMMAND_BUNDLE };
      const shell = spawn('sh', ['-c', command], { cwd, env, stdio: ['ignore', 'ignore', 'pipe'] });
      let errors = '';
      shell.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
      const exitCode = await new Promise((resolve) => shell.once('close', resolve));
      expect([errors, exitCode]).toEqual(['error: cannot write to standard output: the disk is full\n', 1]);
    },
  );
});
