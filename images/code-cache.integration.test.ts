import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nodeOptions } from '../core/injection/build-sidecar.ts';

const FILL = join(import.meta.dirname, 'fill-code-cache.cjs');
const LOADER = join(import.meta.dirname, 'load-bundle.cjs');
const BUNDLE = join(import.meta.dirname, '../dist/sidecar/main.js');
const CACHE = `bundle.${process.arch}.cache`;

let image: string;
beforeEach(() => {
  image = mkdtempSync(join(tmpdir(), 'code-cache-'));
  writeFileSync(join(image, 'package.json'), '{ "type": "commonjs" }');
  copyFileSync(LOADER, join(image, 'main.js'));
});
afterEach(() => rmSync(image, { recursive: true }));

/** Puts a bundle and its code cache into the image, as the Dockerfile does. */
function build(bundle: string): Buffer {
  copyFileSync(bundle, join(image, 'bundle.js'));
  const { status, stderr } = spawnSync(process.execPath, ['--random-seed=1', FILL, bundle, image], {
    encoding: 'utf8',
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return readFileSync(join(image, CACHE));
}

/** Whether V8 accepts the cache in a process with these options. */
function isAccepted(options = ''): boolean {
  const [loader, bundle, cache] = [LOADER, join(image, 'bundle.js'), join(image, CACHE)];
  const program = `
    const { compile } = require(${JSON.stringify(loader)});
    const cache = require('node:fs').readFileSync(${JSON.stringify(cache)});
    console.log(compile(${JSON.stringify(bundle)}, cache).cachedDataRejected);`;
  const env = { ...process.env, NODE_OPTIONS: options };
  return spawnSync(process.execPath, ['-e', program], { env, encoding: 'utf8' }).stdout === 'false\n';
}

describe("the code cache of the sidecar's bundle", () => {
  test('is accepted with the heap of any memory limit, and has the same bytes in each build', () => {
    const first = build(BUNDLE);
    for (const limit of ['96Mi', '192Mi', '16Gi']) expect(isAccepted(nodeOptions(limit))).toBe(true);
    expect(build(BUNDLE).equals(first)).toBe(true);
  });

  test.each([
    ['the start', 'shutting down'],
    ['the first readiness probe', 'draining'],
    ['the first request', 'Keep-Alive: timeout='],
  ])('has the code of %s', (_what, text) => {
    // A text is in the cache if the function that contains it is.
    expect(build(BUNDLE).includes(text)).toBe(true);
  });

  test('has no code that did not run', () => {
    expect(build(BUNDLE).includes('failed to store proofs from control plane')).toBe(false);
  });

  test('is not written if the sidecar does not start', () => {
    const source = join(image, 'source.js');
    writeFileSync(source, 'process.exitCode = 1;');
    const { status } = spawnSync(process.execPath, [FILL, source, image]);
    expect(status).toBe(1);
    expect(existsSync(join(image, CACHE))).toBe(false);
  });

  test('the bundle has only what the loader supports: ASCII, which it reads as latin1, and no import()', () => {
    const text = readFileSync(BUNDLE, 'latin1');
    expect(Buffer.from(text, 'latin1').some((byte) => byte > 0x7f)).toBe(false);
    expect(text).not.toMatch(/[^\w.$"'`]import\(/);
  });

  test('the bundle has no code for development', () => {
    expect(readFileSync(BUNDLE, 'latin1')).not.toMatch(/NODE_ENV|development\.js/);
  });

  test.each<[string, () => void]>([
    ['with the cache', () => undefined],
    ['without a cache', () => rmSync(join(image, CACHE))],
    ['with the cache of another source', () => writeFileSync(join(image, CACHE), 'other')],
  ])('the sidecar starts %s', (_how, change) => {
    build(BUNDLE);
    change();
    const env = { PATH: process.env['PATH'], MANIFEST_PATH: join(image, 'missing.yaml') };
    const started = spawnSync(process.execPath, [join(image, 'main.js'), 'render-policy', image], {
      env,
      encoding: 'utf8',
    });
    expect(started.stderr).toMatch(/^sidecar cannot start:\n.*missing\.yaml/);
    expect(started.status).toBe(65);
  });
});

test('a bundle requires the files next to it, and sees the arguments of the process', () => {
  const folder = join(image, 'late');
  mkdirSync(folder);
  writeFileSync(join(folder, 'required.js'), "module.exports = 'required';");
  const source = join(image, 'source.js');
  writeFileSync(source, "console.log(require('./late/required.js'), process.argv.slice(2).join());");
  build(source);
  const { stdout, stderr } = spawnSync(process.execPath, [join(image, 'main.js'), 'a', 'b'], {
    encoding: 'utf8',
  });
  expect({ stdout, stderr }).toEqual({ stdout: 'required a,b\n', stderr: '' });
});
