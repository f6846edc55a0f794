import { expect, test } from '@jest/globals';
import { readControlPlaneOptions } from './control-plane-options.ts';

test.each([
  [
    [],
    { store: 'sqlite', agents: [2500, 5000, 10_000], replicas: 1, seconds: 60, tls: true, cluster: false },
  ],
  [['--store', 'kubernetes'], { store: 'kubernetes', agents: [500, 1000, 2000] }],
  [
    ['--store', 'postgres', '--cluster', '--agents', '100', '--replicas', '3', '--plain'],
    { store: 'postgres', cluster: true, agents: [100], replicas: 3, tls: false },
  ],
])('reads %j', (args, options) => {
  expect(readControlPlaneOptions(args)).toMatchObject({ ok: true, options });
});

test.each([
  [['--store', 'mysql'], '--store=mysql: must be one of sqlite, postgres, kubernetes'],
  [['--agents', '100,100'], '--agents=100,100: must be ascending numbers, separated by commas'],
  [['--agents', '20001'], '--agents=20001: must be an integer from 1 to 20000'],
  [['--agents', ''], '--agents=: must be an integer from 1 to 20000'],
  [['--seconds', '29'], '--seconds=29: must be an integer from 30 to 3600'],
  [['--replicas', '2'], '--replicas=2: must be 1 with --store=sqlite'],
  [['--fast'], "Unknown option '--fast'"],
])('rejects %j', (args, problem) => {
  const read = readControlPlaneOptions(args);
  expect(read.ok ? null : read.problem).toContain(problem);
});
