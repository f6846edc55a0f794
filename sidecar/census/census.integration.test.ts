import { execFile, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';

const PROGRAM = join(import.meta.dirname, '../../testing/processes/census-namespace.ts');
const UNSHARE = ['--net', ...(process.getuid?.() === 0 ? [] : ['--user', '--map-root-user'])];
const UP = 'ip link set lo up && ip address add 10.9.0.1/24 dev lo';

/** Not every machine allows a network namespace, and macOS has none. */
const canRun = spawnSync('unshare', [...UNSHARE, 'sh', '-c', UP]).status === 0;

(canRun ? test : test.skip)(
  'the census lists the connections of another process with the same user',
  async () => {
    const command = `${UP} && exec "$0" "$1"`;
    const { stdout } = await promisify(execFile)(
      'unshare',
      [...UNSHARE, 'sh', '-c', command, process.execPath, PROGRAM],
      // Ends the program, which waits for its findings.
      { timeout: 120_000 },
    );
    const { found, unexplainedOpens } = JSON.parse(stdout) as { found: object[]; unexplainedOpens: number };
    expect(found).toHaveLength(2);
    expect(found).toEqual(
      expect.arrayContaining([
        { address: '10.9.0.2', port: 443, verdict: 'undeclared', count: 2 },
        { address: '10.9.0.7', port: 4433, verdict: 'undeclared', count: 1 },
      ]),
    );
    // The kernel refuses them within the call, so that no scan can see them.
    expect(unexplainedOpens).toBe(3);
  },
);
