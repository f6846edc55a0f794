import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const ROOT = dirname(import.meta.dirname);
const OWN_NODE = resolved(`node-${process.platform}-${process.arch}/bin/node`);

function resolved(path: string): string | null {
  try {
    return createRequire(import.meta.url).resolve(path);
  } catch {
    return null;
  }
}

let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'node-guard-'));
});

afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Runs a bundle in a Node.js process that reports `version` and another executable path. */
function runAs(version: string, part: string, args: string[] = []): ReturnType<typeof spawnSync> {
  const preload = join(directory, `as-${version}.cjs`);
  writeFileSync(
    preload,
    `Object.defineProperty(process.versions, 'node', { value: '${version}' });
process.execPath = '/usr/bin/another-node';`,
  );
  const bundle = join(ROOT, 'dist', part, 'main.js');
  return spawnSync(process.execPath, ['--require', preload, bundle, ...args], {
    env: {},
    encoding: 'utf8',
  });
}

describe('a bundle in an unsupported Node.js version', () => {
  test.each(['sidecar', 'control-plane', 'webhook', 'operator'])(
    '%s reports the required version and exits with 1',
    (part) => {
      const { status, stderr, stdout } = runAs('22.18.0', part);
      const advice = OWN_NODE === null ? '' : `; run it with ${OWN_NODE}`;
      expect({ status, stderr, stdout }).toEqual({
        status: 1,
        stderr: `${part} needs Node.js 22.19 or newer, this is 22.18.0${advice}\n`,
        stdout: '',
      });
    },
  );

  (OWN_NODE === null ? test.skip : test).each([
    ['an existing file', ['validate', 'examples/agents/compliant/agent.yaml'], 0],
    ['an invalid command line', ['validte'], 1],
  ])('the CLI continues in the Node.js of the package: %s', (_what, args, status) => {
    const resolvedArgs = args.map((arg) => (arg.includes('/') ? join(ROOT, arg) : arg));
    const direct = spawnSync(OWN_NODE ?? '', [join(ROOT, 'dist/cli/main.js'), ...resolvedArgs], {
      encoding: 'utf8',
    });
    const old = runAs('20.11.1', 'cli', resolvedArgs);
    expect(old.status).toBe(status);
    expect([old.stdout, old.stderr]).toEqual([direct.stdout, direct.stderr]);
  });
});

test('runs in the oldest Node.js version that the package supports', () => {
  expect(runAs('22.19.0', 'cli', ['--version']).status).toBe(0);
});
