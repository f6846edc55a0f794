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

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'node-guard-'));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a bundle in a Node.js that takes itself for `version`, and for another file than it is. */
function runAs(version: string, part: string, args: string[] = []): ReturnType<typeof spawnSync> {
  const preload = join(folder, `as-${version}.cjs`);
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

describe('a bundle in a Node.js that is too old', () => {
  test.each(['sidecar', 'control-plane', 'webhook', 'operator'])(
    '%s says which one it needs, and ends with 1',
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
    ['a file that is there', ['validate', 'examples/agents/compliant/agent.yaml'], 0],
    ['a wrong command line', ['validte'], 1],
  ])('the command line goes on in the Node.js of the package: %s', (_what, args, status) => {
    const asked = args.map((arg) => (arg.includes('/') ? join(ROOT, arg) : arg));
    const direct = spawnSync(OWN_NODE ?? '', [join(ROOT, 'dist/cli/main.js'), ...asked], {
      encoding: 'utf8',
    });
    const old = runAs('20.11.1', 'cli', asked);
    expect(old.status).toBe(status);
    expect([old.stdout, old.stderr]).toEqual([direct.stdout, direct.stderr]);
  });
});

test('the oldest Node.js that the package names is new enough', () => {
  expect(runAs('22.19.0', 'cli', ['--version']).status).toBe(0);
});
