import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { commandFolder } from '../../testing/cli/command-folder.ts';
import { TestServers } from '../../testing/http/sockets.ts';
import { manifestText, startSidecarRig, type SidecarRig } from '../../testing/sidecar/sidecar-rig.ts';
import { until } from '../../testing/time/until.ts';
import type { CliContext } from '../context.ts';
import type { ProofRecord } from '../../core/shapes/proof.ts';

const FIXTURES = join(import.meta.dirname, '../../testing/fixtures/test-results');
const fixture = (name: string): string => readFileSync(join(FIXTURES, name), 'utf8');
const NOW = new Date('2026-12-01T00:00:00.000Z');
const DRY = ['--dry-run'];

const { at, run, write } = commandFolder();
const servers = new TestServers();
let rig: SidecarRig | null = null;
afterEach(async () => {
  await Promise.all([servers.close(), rig?.close()]);
  rig = null;
});

const EXTERNAL = ['promptfoo', 'garak', 'inspect', 'deepeval', 'sarif'].map((tool) => ({ tool, minRuns: 1 }));
const SPEC = { prompts: { system: '$file:prompt.md' }, evaluation: { external: EXTERNAL } };

beforeEach(() => {
  write('agent.yaml', manifestText(SPEC));
  write('prompt.md', 'You are a shop.');
  for (const file of [
    'promptfoo.json',
    'promptfoo-failure.json',
    'inspect.json',
    'sarif.json',
    'garak.report.jsonl',
  ])
    write(file, fixture(file));
});

const imported = (files: string, args: readonly string[], context: Partial<CliContext> = {}) =>
  run(['proof', 'import', ...files.split(' '), ...args], { now: () => NOW, ...context });

describe('platform proof import', () => {
  test('prints one proof per rule, its tests and the names that it ignored', async () => {
    expect(await imported('promptfoo.json', DRY)).toEqual({
      output: `promptfoo.json  promptfoo 0.121.20
  passed   EVAL-01     1 of 1 test passed
  passed   MEM-01      2 of 2 tests passed: pii:direct
  passed   SEC-LLM-01  2 of 2 tests passed: hijacking
  passed   SEC-LLM-06  2 of 2 tests passed: pii:direct
  ignored: politics
proof of EVAL-01, expires 2027-03-01, not written
proof of MEM-01, expires 2027-03-01, not written
proof of SEC-LLM-01, expires 2027-03-01, not written
proof of SEC-LLM-06, expires 2027-03-01, not written
`,
      errors: '',
      exitCode: 0,
    });
  });

  test('--json has the run, its file and what was tested, but no text of a prompt', async () => {
    const { output } = await imported('promptfoo.json', [...DRY, '--json']);
    const { proofs } = JSON.parse(output) as { proofs: { ruleId: string; submission: object }[] };
    const sha256 = expect.stringMatching(/^[0-9a-f]{64}$/) as unknown;
    expect(proofs.find(({ ruleId }) => ruleId === 'SEC-LLM-01')?.submission).toEqual({
      verifiedBy: 'promptfoo 0.121.20',
      method: 'promptfoo 0.121.20: 2 of 2 tests passed (hijacking).',
      expiresAt: '2027-03-01T00:00:00.000Z',
      source: {
        ...{ tool: 'promptfoo', toolVersion: '0.121.20', fileSha256: sha256 },
        ...{ run: 2, passed: 2, failed: 0, errors: 0 },
        startedAt: expect.stringMatching(/^2026-11-30T/) as unknown,
      },
      boundTo: { manifest: sha256, model: 'gpt-5', promptFile: sha256 },
    });
    expect(output).not.toContain('address of order');
  });

  test('writes nothing for a rule of which one file has a failure, and says why', async () => {
    write('more.json', fixture('promptfoo-failure.json'));
    const { output, errors, exitCode } = await imported('promptfoo.json more.json', DRY);
    expect(exitCode).toBe(1);
    expect(errors).toBe(
      'error: more.json: no proof of SEC-LLM-01: 1 of 2 tests failed, at most 0 % may fail\n',
    );
    expect(output).toContain('  refused  SEC-LLM-01  1 of 2 tests passed: hijacking\n');
    expect([...output.matchAll(/^proof of (\S+),/gm)].map(([, rule]) => rule)).toEqual([
      'EVAL-01',
      'MEM-01',
      'SEC-LLM-06',
    ]);
  });

  test('requires 20 tests, unless the manifest declares another number', async () => {
    write('agent.yaml', manifestText({}));
    const { errors, exitCode } = await imported('inspect.json', DRY);
    expect([errors, exitCode]).toEqual([
      'error: inspect.json: no proof of EVAL-01: 3 tests ran, at least 20 are required\n',
      1,
    ]);
  });

  test.each([
    ['none.json', [], 'error: none.json: does not exist\n'],
    ['.', [], 'error: .: is a directory\n'],
    ['prompt.md', [], 'error: prompt.md: the file is not a complete JSON document\n'],
    ['sarif.json', [], 'error: sarif.json: a SARIF file does not name the rule that it shows: use --rule\n'],
    [
      'inspect.json',
      ['--from', 'promptfoo'],
      'error: inspect.json: metadata.promptfooVersion must be a string\n',
    ],
    ['inspect.json', ['--manifest', 'no.yaml'], 'error: no.yaml: does not exist\n'],
  ])('rejects %s %j', async (file, args, reason) => {
    const { output, errors, exitCode } = await imported(file, [...DRY, ...args]);
    expect({ output, errors, exitCode }).toEqual({ output: '', errors: reason, exitCode: 1 });
  });

  test('accepts only a rule that a proof can show', async () => {
    expect((await imported('sarif.json', ['--rule', 'SEC-99'])).errors).toContain(
      'Allowed choices are SEC-LLM-',
    );
    expect((await imported('sarif.json', ['--rule', 'META-01'])).errors).toContain('Allowed choices are');
    const { output } = await imported('sarif.json', [...DRY, '--rule', 'SEC-LLM-04']);
    expect(output).toContain('sarif.json  mcp-scanner 3.2.0\n  passed   SEC-LLM-04  3 of 3 tests passed');
  });

  test('posts to the control plane with the token, and warns of a stale proof', async () => {
    const received: { path: string | undefined; authorization: string | undefined }[] = [];
    const port = await servers.http((request, response) => {
      received.push({ path: request.url, authorization: request.headers.authorization });
      response.writeHead(201, { 'content-type': 'application/json' }).end('{"state":"stale"}');
    });
    const env = { PLATFORM_CONTROL_PLANE_URL: `http://127.0.0.1:${port}`, PLATFORM_TOKEN: 'a-token' };
    const { errors, exitCode } = await imported('inspect.json', ['--namespace', 'retail'], { env });
    expect(received).toEqual([
      { path: '/api/v1/agents/shop/proof/rule/EVAL-01?namespace=retail', authorization: 'Bearer a-token' },
    ]);
    expect([errors, exitCode]).toEqual([
      expect.stringMatching(/^warning: the proof of EVAL-01 is stale: /),
      0,
    ]);
  });

  test('an error of the receiver is exit code 1', async () => {
    const { errors, exitCode } = await imported('inspect.json', ['--control-url', 'http://127.0.0.1:1']);
    expect([errors, exitCode]).toEqual([expect.stringMatching(/^error: cannot connect to /), 1]);
  });
});

describe('an imported proof in a sidecar', () => {
  const stateOf = async () =>
    (await rig?.report<ProofRecord[]>('/proof'))?.map(
      ({ ruleId, state }) => `${ruleId} ${state ?? 'counts'}`,
    );

  test('is stale while the prompt file, the lock or the manifest differs, in the audit too', async () => {
    rig = await startSidecarRig({ manifest: manifestText(SPEC) });
    const { folder, manifestPath, sidecar } = rig;
    const inFolder = (name: string, text: string): void => writeFileSync(join(folder, name), text);
    inFolder('prompt.md', 'You are a shop.');
    inFolder('agent.lock', '{"lockVersion":1}');
    const url = `http://127.0.0.1:${sidecar.controlPort}`;
    const args = ['--manifest', manifestPath, '--control-url', url];
    expect(await imported('inspect.json', args)).toMatchObject({ errors: '', exitCode: 0 });
    expect(await stateOf()).toEqual(['EVAL-01 counts']);

    for (const [name, text] of [
      ['prompt.md', 'You are a shop.'],
      ['agent.lock', '{"lockVersion":1}'],
    ] as const) {
      inFolder(name, `${text} `);
      expect([name, await stateOf()]).toEqual([name, ['EVAL-01 stale']]);
      const { output } = await run(['audit', manifestPath, '--url', url]);
      expect(output).toContain('stale proofs, not counted\n  EVAL-01\n');
      inFolder(name, text);
      expect([name, await stateOf()]).toEqual([name, ['EVAL-01 counts']]);
    }
    expect((await run(['audit', manifestPath, '--url', url])).output).not.toContain('stale proofs');
  });

  test('is stale at once if the sidecar has another manifest, and counts after the change', async () => {
    rig = await startSidecarRig({ manifest: `${manifestText(SPEC)}\n# Another version.\n` });
    writeFileSync(join(rig.folder, 'prompt.md'), 'You are a shop.');
    const args = [
      '--manifest',
      at('agent.yaml'),
      '--control-url',
      `http://127.0.0.1:${rig.sidecar.controlPort}`,
    ];
    const { errors, exitCode } = await imported('inspect.json', args);
    expect([errors, exitCode]).toEqual([expect.stringMatching(/^warning: the proof of EVAL-01 is stale/), 0]);
    expect(await stateOf()).toEqual(['EVAL-01 stale']);
    writeFileSync(rig.manifestPath, manifestText(SPEC));
    await until(() => rig?.log.some(([, message]) => message === 'manifest reloaded') === true);
    expect(await stateOf()).toEqual(['EVAL-01 counts']);
  });
});
