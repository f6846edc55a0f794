import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';

const PROGRAM = join(import.meta.dirname, '../testing/processes/full-disk.ts');
const UNSHARE = ['--mount', ...(process.getuid?.() === 0 ? [] : ['--user', '--map-root-user'])];
const MOUNT = 'mount -t tmpfs -o size=64k none "$0"';

/** Not every machine allows a mount namespace, and macOS has none. */
const canRun = spawnSync('unshare', [...UNSHARE, 'sh', '-c', MOUNT, tmpdir()]).status === 0;

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'full-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

(canRun ? describe : describe.skip)('on a full disk', () => {
  test.each([
    ['a file', '1', '0', ['file', 'fill']],
    ['a file with two names', '2', '0', ['file', 'fill', 'other-name']],
    // The new text has three pages. In place it needs two more than the old text.
    ['a file with two names that cannot grow in place', '2', '3', ['file', 'fill', 'other-name']],
  ])('%s keeps its text', async (_what, names, freePages, files) => {
    const command = `${MOUNT} && exec "$1" "$2" "$0" ${names} ${freePages}`;
    const args = [...UNSHARE, 'sh', '-c', command, directory, process.execPath, PROGRAM];
    const { stdout } = await promisify(execFile)('unshare', args);
    expect(JSON.parse(stdout)).toEqual({ code: 'ENOSPC', isKept: true, files });
  });
});
