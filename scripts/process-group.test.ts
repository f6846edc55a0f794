import { expect, test } from '@jest/globals';
import { existsSync, readFileSync } from 'node:fs';
import { startGroup } from './process-group.ts';

/** Runs a shell script; says what it printed, when, and whether a process that it named still runs. */
function rig(script: string, graceMs?: number) {
  let output = '';
  let heard: () => void = () => undefined;
  const group = startGroup(['bash', '-c', script], {
    write: (text) => {
      output += text;
      heard();
    },
    ...(graceMs === undefined ? {} : { graceMs }),
  });
  const said = async (pattern: RegExp): Promise<string[]> => {
    for (;;) {
      const match = pattern.exec(output);
      if (match) return match.slice(1);
      await new Promise<void>((resolve) => (heard = resolve));
    }
  };
  return { ...group, said, output: () => output };
}

/** Where there is /proc, a zombie is none that runs: it has no command line. */
function runs(pid: string | undefined): boolean {
  try {
    return existsSync('/proc')
      ? readFileSync(`/proc/${pid}/cmdline`, 'utf8') !== ''
      : process.kill(Number(pid), 0);
  } catch {
    return false;
  }
}

test('a command says what it printed and its exit code', async () => {
  const { ended, output } = rig('echo out; echo err >&2; exit 3');
  expect(await ended).toBe(3);
  expect(output().split('\n').sort()).toEqual(['', 'err', 'out']);
});

test('one that cannot be started is an exit code of 127 and its reason', async () => {
  let output = '';
  const { ended, end } = startGroup(['/no/such/command'], { write: (text) => (output += text) });
  expect(await ended).toBe(127);
  expect(output).toContain('/no/such/command');
  end('SIGTERM');
});

test('the signal reaches what the command has started, and the end waits for it', async () => {
  const { ended, end, said, output } = rig(
    `bash -c 'trap "sleep 0.3; echo cleaned up; exit" TERM; echo "pid $$."; while :; do sleep 0.05; done' & wait`,
  );
  const [worker] = await said(/pid (\d+)\./);
  expect(runs(worker)).toBe(true);
  end('SIGTERM');
  expect(await ended).toBe(1);
  expect(output()).toContain('cleaned up');
});

test('what a command leaves behind is ended with it', async () => {
  const { ended, said } = rig(`sleep 1000 > /dev/null 2>&1 & echo "pid $!."; exit 0`);
  expect(await ended).toBe(0);
  const [left] = await said(/pid (\d+)\./);
  expect(runs(left)).toBe(false);
});

test('what does not end when it is asked is killed', async () => {
  const { ended, end, said } = rig(`trap '' TERM; echo ready; while :; do sleep 0.05; done`, 200);
  await said(/ready/);
  end('SIGTERM');
  expect(await ended).toBe(1);
});
