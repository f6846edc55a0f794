import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { readDirectory } from './read-directory.ts';

let root: string;
let outside: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'scan-'));
  outside = mkdtempSync(join(tmpdir(), 'scan-outside-'));
});
afterEach(() => {
  rmSync(root, { recursive: true, force: true });
  rmSync(outside, { recursive: true, force: true });
});

function write(path: string, text: string | Buffer = 'x = 1\n'): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

const paths = async (): Promise<string[]> => (await readDirectory(root)).files.map(({ path }) => path);

test.each(['a.py', 'a.ts', 'a.js', 'a.mjs', 'a.cjs', 'a.d.ts', 'deep/er/a.py'])(
  '%s is read',
  async (path) => {
    write(path, 'text');
    expect(await readDirectory(root)).toEqual({ files: [{ path, text: 'text' }], others: [], skipped: [] });
  },
);

test.each(['a.tsx', 'a.pyc', 'a.go', 'a.json', 'py', 'Dockerfile'])('%s is not code', async (path) => {
  write(path);
  expect(await readDirectory(root)).toEqual({ files: [], others: [path], skipped: [] });
});

test.each(['node_modules/a.js', '.git/a.py', 'dist/a.js', '.venv/a.py', 'app/node_modules/b/a.ts'])(
  '%s is skipped',
  async (path) => {
    write(path);
    write('main.py');
    expect(await paths()).toEqual(['main.py']);
  },
);

test('a virtual environment under another name is skipped', async () => {
  write('env/pyvenv.cfg');
  write('env/lib/a.py');
  write('main.py');
  expect(await paths()).toEqual(['main.py']);
});

test('files and directories whose names look like secrets are not opened', async () => {
  for (const path of ['.env', '.env.ts', 'app/secrets.py', 'credentials/a.py', 'main.py']) write(path);
  const { files, skipped } = await readDirectory(root);
  expect(files.map(({ path }) => path)).toEqual(['main.py']);
  expect(skipped.map(({ path, reason }) => `${path}: ${reason}`)).toEqual(
    ['.env', '.env.ts', 'credentials', 'app/secrets.py'].map(
      (path) => `${path}: its name looks like secrets`,
    ),
  );
});

describe('symbolic links are not followed', () => {
  test.each<[string, (path: string) => void]>([
    ['to a file outside', (path) => symlinkSync(join(outside, 'secret.py'), path)],
    ['to a directory outside', (path) => symlinkSync(outside, path)],
    ['to a file inside', (path) => symlinkSync('main.py', path)],
    ['to a parent', (path) => symlinkSync('..', path)],
    ['to nothing', (path) => symlinkSync('missing', path)],
  ])('%s', async (_what, link) => {
    writeFileSync(join(outside, 'secret.py'), 'x = 2');
    write('main.py');
    link(join(root, 'link.py'));
    const { files, skipped } = await readDirectory(root);
    expect(files.map(({ path }) => path)).toEqual(['main.py']);
    expect(skipped).toEqual([{ path: 'link.py', reason: 'symbolic links are not followed' }]);
  });

  test('except for the directory itself', async () => {
    write('main.py');
    symlinkSync(root, join(outside, 'link'));
    expect((await readDirectory(join(outside, 'link'))).files).toHaveLength(1);
  });
});

test('a pipe with the name of a file is not opened', async () => {
  write('main.py');
  execFileSync('mkfifo', [join(root, 'pipe.py')]);
  expect(await paths()).toEqual(['main.py']);
});

test('a file that is not text is named, and the others are read', async () => {
  write('a.py', Buffer.from([0xff, 0xfe]));
  write('b.py');
  const { files, skipped } = await readDirectory(root);
  expect(files.map(({ path }) => path)).toEqual(['b.py']);
  expect(skipped).toEqual([{ path: 'a.py', reason: 'is not valid UTF-8 text' }]);
});

test('at most 50 files are read: those that import a known library first', async () => {
  for (let number = 0; number < 60; number += 1) write(`a${String(number).padStart(2, '0')}.py`);
  write('z.py', 'import openai\n');
  const { files, skipped } = await readDirectory(root);
  expect(files).toHaveLength(50);
  expect(files.at(-1)?.path).toBe('z.py');
  expect(skipped).toHaveLength(11);
  expect(skipped[0]).toEqual({ path: 'a49.py', reason: 'the limit of 50 files and 200 KB is reached' });
});

test('at most 200 KB are read', async () => {
  write('a.py', `import openai\n${'#'.repeat(150_000)}`);
  write('b.py', '#'.repeat(60_000));
  write('c.py', '#'.repeat(1_000));
  const { files, skipped } = await readDirectory(root);
  expect(files.map(({ path }) => path)).toEqual(['a.py', 'c.py']);
  expect(skipped.map(({ path }) => path)).toEqual(['b.py']);
});

test('a directory that cannot be read is named', async () => {
  write('main.py');
  write('closed/a.py');
  chmodSync(join(root, 'closed'), 0);
  const { files, skipped } = await readDirectory(root);
  chmodSync(join(root, 'closed'), 0o700);
  // root may read every directory.
  if (process.getuid?.() === 0) expect(files).toHaveLength(2);
  else expect(skipped).toEqual([{ path: 'closed', reason: 'permission denied' }]);
});
