import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Children } from './children.ts';
import { findPython } from './find-python.ts';
import { until } from '../../testing/time/until.ts';

let folder: string;
let crashes: Error[];
let children: Children;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'children-'));
  crashes = [];
  children = new Children(folder, (error) => crashes.push(error));
});
afterEach(async () => {
  await children.close();
  rmSync(folder, { recursive: true, force: true });
});

function start(source: string, env: Record<string, string> = {}): void {
  const program = join(folder, 'program.mjs');
  writeFileSync(program, source);
  children.start({ name: 'part', program, env });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

const pidFile = (): string => join(folder, 'pid');
/** Polls, because an existing file may still be empty. */
const hasPid = (): boolean => existsSync(pidFile()) && readFileSync(pidFile(), 'utf8') !== '';
const WRITE_PID = `import { writeFileSync } from 'node:fs';
writeFileSync(process.env.PID_FILE, String(process.pid));
setInterval(() => {}, 1000);`;
const WRITE_PID_IN_PYTHON = `import os, threading
with open(os.environ["PID_FILE"], "w") as file:
    file.write(str(os.getpid()))
threading.Event().wait()
`;
const found = findPython();
const python = 'command' in found ? found.command : undefined;
if ('missing' in found)
  process.stderr.write(`SKIPPED: the processes of the demo in Python: ${found.missing}\n`);

describe('a process of the demo', () => {
  test('that exits unexpectedly is reported as a crash with the end of its log', async () => {
    start(`console.error('first'); console.error('cannot go on'); process.exitCode = 3;`);
    await until(() => crashes.length > 0);
    expect(crashes.map(({ message }) => message)).toEqual([
      'part exited unexpectedly (exit code 3); its log ends with\n  first\n  cannot go on',
    ]);
  });

  test('is stopped by close without being reported as a crash', async () => {
    start(WRITE_PID, { PID_FILE: pidFile() });
    await until(hasPid);
    const pid = Number(readFileSync(pidFile(), 'utf8'));
    await children.close();
    expect([isAlive(pid), crashes]).toEqual([false, []]);
  });

  const exits =
    (program: string, source: string, interpreter: { python?: string } = {}) =>
    async () => {
      const path = join(folder, program);
      writeFileSync(path, source);
      const demo = join(folder, 'demo.mjs');
      const spec = { name: 'part', program: path, env: { PID_FILE: pidFile() }, ...interpreter };
      writeFileSync(
        demo,
        `import { Children } from ${JSON.stringify(join(import.meta.dirname, 'children.ts'))};
new Children(${JSON.stringify(folder)}, console.error).start(${JSON.stringify(spec)});
setInterval(() => {}, 1000);`,
      );
      const parent = spawn(process.execPath, [demo], { stdio: 'ignore' });
      await until(hasPid);
      const pid = Number(readFileSync(pidFile(), 'utf8'));
      expect(isAlive(pid)).toBe(true);
      parent.kill('SIGKILL');
      // Cleaned up even if the test fails.
      await until(() => !isAlive(pid)).catch((error: unknown) => {
        process.kill(pid, 'SIGKILL');
        throw error;
      });
    };
  test('exits when the demo is killed', exits('program.mjs', WRITE_PID));
  (python === undefined ? test.skip : test)(
    'exits when the demo is killed, in Python',
    exits('program.py', WRITE_PID_IN_PYTHON, { ...(python && { python }) }),
  );

  test('receives only the given environment variables', async () => {
    process.env['PLATFORM_URL'] = 'http://elsewhere';
    start(`console.log(JSON.stringify(Object.keys(process.env).sort())); setInterval(() => {}, 1000);`, {
      MINE: '1',
    });
    delete process.env['PLATFORM_URL'];
    const log = join(folder, 'part.log');
    await until(() => existsSync(log) && readFileSync(log, 'utf8').includes(']'));
    const names = JSON.parse(readFileSync(log, 'utf8')) as string[];
    // `make test` sets a compile cache.
    expect(names.filter((name) => name !== 'NODE_COMPILE_CACHE')).toEqual(['LOG_FORMAT', 'MINE', 'PATH']);
  });

  test('cannot be started while the others are being stopped', async () => {
    await children.close();
    expect(() => start('')).toThrow('the demo is stopping');
  });
});
