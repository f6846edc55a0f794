import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from '@jest/globals';

function startEcho(env: Record<string, string>): { child: ChildProcess; log: () => string } {
  const child = spawn(process.execPath, ['testing/processes/echo-config.ts'], {
    env: { PATH: process.env['PATH'], LOG_FORMAT: 'json', ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
  return { child, log: () => log };
}

/** Waits for 'close', not 'exit', so that the complete output is read. */
async function exitOf(child: ChildProcess): Promise<unknown> {
  const [code] = (await once(child, 'close')) as [number | null];
  return code;
}

const linesOf = (log: string) =>
  log
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

test('exits with 1 on an invalid environment and names every invalid variable', async () => {
  const { child, log } = startEcho({ PORT: 'x', LOG_LEVEL: 'loud' });
  expect(await exitOf(child)).toBe(1);
  expect(log()).toBe(
    'echo cannot start:\nLOG_LEVEL=loud: must be one of error, warn, info, debug (default info)\nPORT=x: must be an integer from 1 to 65535 (default 1)\n',
  );
});

test('reads a secret from the file of its variable', async () => {
  const { child, log } = startEcho({
    KEY_FILE: 'package.json',
    KEY: 'a key of the environment',
  });
  expect(await exitOf(child)).toBe(1);
  expect(log()).toBe('echo cannot start:\nKEY_FILE=package.json: must be unset, because KEY is set\n');
  const short = startEcho({ KEY_FILE: '.prettierignore.none', PORT: 'x' });
  expect(await exitOf(short.child)).toBe(1);
  expect(short.log()).toMatch(/^echo cannot start:\nPORT=x: [^\n]*\n$/);
  const { child: started, log: output } = startEcho({
    KEY_FILE: 'package.json',
  });
  while (!output().includes('listening')) await once(started.stderr!, 'data');
  started.kill('SIGTERM');
  expect(await exitOf(started)).toBe(0);
});

test('exits with 1 if the start fails and logs the chain of causes', async () => {
  const { child, log } = startEcho({ HOW: 'fail' });
  expect(await exitOf(child)).toBe(1);
  expect(linesOf(log())).toMatchObject([
    { level: 'error', part: 'echo', error: 'the port is taken (EADDRINUSE: bind)' },
  ]);
});

test.each(['SIGTERM', 'SIGINT'] as const)('%s shuts the process down with exit code 0', async (signal) => {
  const { child, log } = startEcho({ HOW: 'run' });
  while (!log().includes('listening')) await once(child.stderr!, 'data');
  child.kill(signal);
  expect(await exitOf(child)).toBe(0);
  expect(linesOf(log()).map((line) => line['message'])).toEqual(['listening', 'shutting down', 'stopped']);
});

test('an open timer does not delay the exit', async () => {
  const { child, log } = startEcho({ HOW: 'leak' });
  while (!log().includes('listening')) await once(child.stderr!, 'data');
  child.kill('SIGTERM');
  expect(await exitOf(child)).toBe(0);
});

test('a signal that is delivered twice at once still shuts the process down cleanly', async () => {
  const { child, log } = startEcho({ HOW: 'run' });
  while (!log().includes('listening')) await once(child.stderr!, 'data');
  child.kill('SIGTERM');
  child.kill('SIGINT');
  expect(await exitOf(child)).toBe(0);
});

test('a second signal exits a process that hangs on shutdown', async () => {
  const { child, log } = startEcho({ HOW: 'hang' });
  while (!log().includes('listening')) await once(child.stderr!, 'data');
  child.kill('SIGTERM');
  while (!log().includes('shutting down')) await once(child.stderr!, 'data');
  setTimeout(() => child.kill('SIGTERM'), 700);
  expect(await exitOf(child)).toBe(1);
});
