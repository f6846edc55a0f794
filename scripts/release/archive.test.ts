import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { archiveOf } from './archive.ts';

const EPOCH = 1_700_000_000;
const SIZES = [0, 1, 511, 512, 513, 100_000];
const files = SIZES.map((size) => ({ path: `some/folder/${size}`, content: Buffer.alloc(size, 'x') }));

test('does not depend on the order of the files', () => {
  expect(archiveOf(files.toReversed(), EPOCH).equals(archiveOf(files, EPOCH))).toBe(true);
});

test('depends on the time, names and contents', () => {
  const [first, ...rest] = files as [(typeof files)[number], ...typeof files];
  const others = [
    archiveOf(files, EPOCH + 1),
    archiveOf([{ ...first, path: 'some/folder/other' }, ...rest], EPOCH),
    archiveOf([{ ...first, content: Buffer.from('more') }, ...rest], EPOCH),
  ];
  for (const other of others) expect(other.equals(archiveOf(files, EPOCH))).toBe(false);
});

test('is extracted by tar with identical contents', () => {
  const folder = mkdtempSync(join(tmpdir(), 'archive-'));
  try {
    writeFileSync(join(folder, 'a.tgz'), archiveOf(files, EPOCH));
    const tar = (...args: string[]) =>
      execFileSync('tar', args, { cwd: folder, encoding: 'utf8', env: { ...process.env, TZ: 'UTC' } });
    expect(tar('-tvzf', 'a.tgz').split('\n')[0]).toMatch(/^-rw-r--r-- .*2023-11-14 22:13/);
    tar('-xzf', 'a.tgz');
    for (const { path, content } of files)
      expect(readFileSync(join(folder, path)).equals(content)).toBe(true);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test.each(['x'.repeat(101), 'ümlaut', 'a b', ''])('rejects the path %s', (path) => {
  expect(() => archiveOf([{ path, content: Buffer.alloc(0) }], EPOCH)).toThrow(
    'path is too long or not ASCII',
  );
});
