import { spawn, spawnSync, type ChildProcess, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, createReadStream, existsSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';

/** A process that logs on demand, with standard error at this place. */
interface Logging {
  child: ChildProcess;
  /** Logs lines of 10,000 characters. Resolves with the characters that then wait to be written. */
  logs: (count: number) => Promise<number>;
  /** The exit code after SIGTERM. */
  stopped: () => Promise<number | null>;
}

let folder: string;
let running: ChildProcess | null = null;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lost-log-'));
});
afterEach(() => {
  running?.kill('SIGKILL');
  running = null;
  rmSync(folder, { recursive: true });
});

function start(standardError: 'pipe' | number): Logging {
  const stdio: StdioOptions = ['pipe', 'pipe', standardError];
  const child = spawn(process.execPath, ['testing/processes/echo-config.ts'], {
    env: { PATH: process.env['PATH'], LOG_FORMAT: 'json', HOW: 'log' },
    stdio,
  });
  running = child;
  const exited = once(child, 'exit').then(([code]) => code as number | null);
  return {
    child,
    logs: async (count) => {
      child.stdin?.write(`${count}\n`);
      const ended = exited.then((code) =>
        Promise.reject(new Error(`the process ended with ${String(code)}`)),
      );
      const [text] = (await Promise.race([once(child.stdout!, 'data'), ended])) as [Buffer];
      return Number(text.toString());
    },
    stopped: () => {
      child.kill('SIGTERM');
      return exited;
    },
  };
}

/** Reads complete lines until one has this message. */
async function lineWith(stream: AsyncIterable<Buffer>, message: string): Promise<Record<string, unknown>> {
  let text = '';
  for await (const chunk of stream) {
    const lines = (text + chunk.toString()).split('\n');
    text = lines.pop() ?? '';
    for (const line of lines) {
      const entry = JSON.parse(line) as Record<string, unknown>;
      if (entry['message'] === message) return entry;
    }
  }
  throw new Error(`the log ended without ${message}`);
}

test('a process goes on after the reader of standard error has gone', async () => {
  const { child, logs, stopped } = start('pipe');
  await once(child.stderr!, 'data');
  child.stderr!.destroy();
  for (let i = 0; i < 3; i++) await logs(100);
  // What was not written does not stay in memory.
  expect(await logs(0)).toBe(0);
  expect(await stopped()).toBe(0);
});

test('a process goes on after the reader of standard output has gone', async () => {
  const { child, logs, stopped } = start('pipe');
  await once(child.stderr!, 'data');
  await logs(0);
  child.stdout!.destroy();
  child.stdin!.write('1\n');
  await lineWith(child.stderr!, 'x'.repeat(10_000));
  child.stdin!.write('1\n');
  expect(await stopped()).toBe(0);
});

(existsSync('/dev/full') ? test : test.skip)(
  'a process goes on when the disk of standard error is full',
  async () => {
    const full = openSync('/dev/full', 'w');
    const { logs, stopped } = start(full);
    closeSync(full);
    for (let i = 0; i < 3; i++) await logs(100);
    // What was not written does not stay in memory.
    expect(await logs(0)).toBe(0);
    expect(await stopped()).toBe(0);
  },
);

test('a new reader gets the number of lines that were lost', async () => {
  const fifo = join(folder, 'log');
  expect(spawnSync('mkfifo', [fifo]).status).toBe(0);
  const reader = openSync(fifo, constants.O_RDONLY | constants.O_NONBLOCK);
  const writer = openSync(fifo, 'w');
  const { logs, stopped } = start(writer);
  closeSync(writer);
  await logs(1);
  closeSync(reader);
  await logs(3);
  const again = createReadStream(fifo);
  await once(again, 'open');
  await logs(1);
  expect(await lineWith(again, 'log lines lost')).toMatchObject({ level: 'warn', count: 3 });
  expect(await stopped()).toBe(0);
});

test('a reader that does not read costs little memory and no time, and gets the number of lost lines', async () => {
  const { child, logs, stopped } = start('pipe');
  await once(child.stderr!, 'data');
  child.stderr!.pause();
  await logs(500);
  const waiting = await logs(500);
  expect(waiting).toBeGreaterThan(500_000);
  expect(waiting).toBeLessThan(1_100_000);
  child.stderr!.resume();
  let left = waiting;
  while (left > 0) left = await logs(0);
  const lost = lineWith(child.stderr!, 'log lines lost');
  await logs(1);
  expect(Number((await lost)['count'])).toBeGreaterThan(800);
  expect(await stopped()).toBe(0);
});

test('a reader that does not read does not delay the end of the process', async () => {
  const { child, logs, stopped } = start('pipe');
  await once(child.stderr!, 'data');
  child.stderr!.pause();
  expect(await logs(500)).toBeGreaterThan(0);
  expect(await stopped()).toBe(0);
});
