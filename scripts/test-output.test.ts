import { describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endOf, failuresOf, readResult, slowest, timesOf, Turns, type JestResult } from './test-output.ts';

test('prints the first suite immediately, and each other suite as one block after the previous ones', () => {
  const shown: string[] = [];
  const turns = new Turns((text) => shown.push(text));
  const [first, second, third] = [turns.open(), turns.open(), turns.open()];
  first.write('1a');
  second.write('2a');
  third.write('3a');
  third.end();
  first.write('1b');
  expect(shown).toEqual(['1a', '1b']);
  first.end();
  expect(shown).toEqual(['1a', '1b', '2a']);
  second.write('2b');
  second.end();
  expect(shown).toEqual(['1a', '1b', '2a', '2b', '3a']);
  const fourth = turns.open();
  fourth.write('4a');
  expect(shown.at(-1)).toBe('4a');
});

test('flush prints all buffered output once', () => {
  const shown: string[] = [];
  const turns = new Turns((text) => shown.push(text));
  const [first, second] = [turns.open(), turns.open()];
  second.write('2a');
  turns.flush();
  first.end();
  second.write('2b');
  expect(shown).toEqual(['2a', '2b']);
});

describe('the list of failures', () => {
  const root = '/home/me/project';
  const result = (testResults: Partial<JestResult['testResults'][number]>[]): JestResult => ({
    ...{ numPassedTests: 0, numFailedTests: 0, numPendingTests: 0, numTodoTests: 0 },
    numRuntimeErrorTestSuites: 0,
    testResults: testResults.map((each) => ({
      ...{ name: `${root}/core/a.test.ts`, status: 'failed', message: '', assertionResults: [] },
      ...each,
    })),
  });
  const assertion = (status: string, ...failureMessages: string[]) => ({
    ...{ ancestorTitles: ['a door', 'at night'], title: 'is shut', status, failureMessages },
  });

  test('lists the slowest tests in seconds, without tests that did not run', () => {
    const timed = (title: string, duration?: number | null) => ({
      ...{ ancestorTitles: ['a door'], title, status: 'passed', failureMessages: [] },
      ...(duration !== undefined && { duration }),
    });
    const assertionResults = [
      timed('skipped', null),
      timed('fast', 40),
      timed('slow', 12_340),
      timed('todo'),
    ];
    const times = timesOf(result([{ assertionResults }]), root);
    expect(slowest(times, 1)).toEqual(['  12.3 s  core/a.test.ts › a door › slow']);
    expect(slowest(times, 5)).toHaveLength(2);
  });

  test('has file, names, the message without code and stack, and the position', () => {
    const message = [
      '\u001b[31mError: expect(received).toBe(expected)\u001b[39m',
      '',
      'Expected: 1',
      'Received: 2',
      '    at expectIt (/home/me/project/node_modules/expect/index.ts:1:1)',
      '    at Object.<anonymous> (/home/me/project/core/a.test.ts:7:15)',
    ].join('\n');
    expect(failuresOf(result([{ assertionResults: [assertion('failed', message)] }]), root)).toEqual([
      'core/a.test.ts › a door › at night › is shut',
      '    Error: expect(received).toBe(expected)',
      '    Expected: 1',
      '    Received: 2',
      '    at Object.<anonymous> (/home/me/project/core/a.test.ts:7:15)',
    ]);
  });

  test('truncates long messages', () => {
    const long = Array.from({ length: 50 }, (_, line) => `${line}${'x'.repeat(1_000)}`).join('\n');
    const lines = failuresOf(result([{ assertionResults: [assertion('failed', long)] }]), root);
    expect(lines).toHaveLength(13);
    expect(Math.max(...lines.map(({ length }) => length))).toBe(304);
  });

  test('contains files that cannot be loaded', () => {
    const message = '  ● Test suite failed to run\n\n    Cannot find module\n\n      1 | import x\n';
    expect(failuresOf(result([{ message }]), root)).toEqual([
      'core/a.test.ts',
      '      ● Test suite failed to run',
      '        Cannot find module',
    ]);
  });

  test('does not contain passed or skipped tests', () => {
    const passed = [
      { status: 'passed', assertionResults: [assertion('passed'), assertion('pending')] },
      { status: 'failed', assertionResults: [assertion('passed')], message: 'the hook' },
    ];
    expect(failuresOf(result(passed), root)).toEqual(['core/a.test.ts', '    the hook']);
  });
});

test('prints the last lines of a failed check', () => {
  const lines = Array.from({ length: 30 }, (_, line) => `line ${line}`);
  expect(endOf(`${lines.join('\n\n')}\n`)).toEqual(lines.slice(10).map((line) => `    ${line}`));
});

test('returns null for a missing or incomplete result', () => {
  const folder = mkdtempSync(join(tmpdir(), 'test-output-'));
  try {
    expect(readResult(join(folder, 'absent.json'))).toBeNull();
    writeFileSync(join(folder, 'half.json'), '{"numPassedTests": 1');
    expect(readResult(join(folder, 'half.json'))).toBeNull();
    writeFileSync(join(folder, 'whole.json'), '{"numPassedTests": 1}');
    expect(readResult(join(folder, 'whole.json'))).toEqual({ numPassedTests: 1 });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
