import { expect, test } from '@jest/globals';
import { existsSync, readFileSync } from 'node:fs';
import { startGroup } from './process-group.ts';

/** Runs a shell script and allows waiting for its output. */
function rig(script: string, graceMs?: number) {
  let output = '';
  let onOutput: () => void = () => undefined;
  const group = startGroup(['bash', '-c', script], {
    write: (text) => {
      output += text;
      onOutput();
    },
    ...(graceMs === undefined ? {} : { graceMs }),
  });
  const printed = async (pattern: RegExp): Promise<string[]> => {
    for (;;) {
      const match = pattern.exec(output);
      if (match) return match.slice(1);
      await new Promise<void>((resolve) => (onOutput = resolve));
    }
  };
  return { ...group, printed, output: () => output };
}

/** With /proc, a zombie does not count as running: it has no command line. */
function isRunning(pid: string | undefined): boolean {
  try {
    return existsSync('/proc')
      ? readFileSync(`/proc/${pid}/cmdline`, 'utf8') !== ''
      : process.kill(Number(pid), 0);
  } catch {
    return false;
  }
}

test('returns the output and the exit code of a command', async () => {
  const { ended, output } = rig('echo out; echo err >&2; exit 3');
  expect(await ended).toBe(3);
  expect(output().split('\n').sort()).toEqual(['', 'err', 'out']);
});

test('returns exit code 127 and the reason if the command cannot be started', async () => {
  let output = '';
  const { ended, end } = startGroup(['/no/such/command'], { write: (text) => (output += text) });
  expect(await ended).toBe(127);
  expect(output).toContain('/no/such/command');
  end('SIGTERM');
});

test('signals child processes and waits for them', async () => {
  const { ended, end, printed, output } = rig(
    `bash -c 'trap "sleep 0.3; echo cleaned up; exit" TERM; echo "pid $$."; while :; do sleep 0.05; done' & wait`,
  );
  const [worker] = await printed(/pid (\d+)\./);
  expect(isRunning(worker)).toBe(true);
  end('SIGTERM');
  expect(await ended).toBe(1);
  expect(output()).toContain('cleaned up');
});

test('ends processes that the command leaves running', async () => {
  const { ended, printed } = rig(`sleep 1000 > /dev/null 2>&1 & echo "pid $!."; exit 0`);
  expect(await ended).toBe(0);
  const [left] = await printed(/pid (\d+)\./);
  expect(isRunning(left)).toBe(false);
});

test('kills processes that ignore the signal', async () => {
  const { ended, end, printed } = rig(`trap '' TERM; echo ready; while :; do sleep 0.05; done`, 200);
  await printed(/ready/);
  end('SIGTERM');
  expect(await ended).toBe(1);
});
