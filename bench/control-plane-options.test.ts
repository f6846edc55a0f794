import { expect, test } from '@jest/globals';
import { readControlPlaneOptions } from './control-plane-options.ts';

test.each([
  [[], { store: 'sqlite', agents: 10_000, seconds: 60, help: false, json: false }],
  [['--store', 'kubernetes'], { store: 'kubernetes', agents: 2_000 }],
  [['--agents', '100', '--seconds', '30', '--json'], { agents: 100, seconds: 30, json: true }],
])('reads %j', (args, options) => {
  expect(readControlPlaneOptions(args)).toMatchObject({ ok: true, options });
});

test.each([
  [['--store', 'mysql'], '--store=mysql: must be one of sqlite, postgres, kubernetes'],
  [['--agents', '20001'], '--agents=20001: must be an integer from 1 to 20000'],
  [['--seconds', '29'], '--seconds=29: must be an integer from 30 to 3600'],
  [['--fast'], "Unknown option '--fast'"],
])('rejects %j', (args, problem) => {
  const read = readControlPlaneOptions(args);
  expect(read.ok ? null : read.problem).toContain(problem);
});
