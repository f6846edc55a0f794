import { expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { parseScavenges } from './gc-trace.ts';

test('scavenges are read from the trace, other collections are not', () => {
  const trace = [
    '{"level":"info","message":"listening"}',
    '[7:0x1a2b]      640 ms: Scavenge 9.1 (12.0) -> 7.9 (14.5) MB, pooled: 0 MB, 1.62 / 0.00 ms  (average mu = 1.000) task; ',
    '[7:0x1a2b]      650 ms: Scavenge (interleaved) 9.1 (12.0) -> 7.9 (14.5) MB, pooled: 0 MB, 2.50 / 0.10 ms  (average mu = 1.000) task; ',
    '[7:0x1a2b]      700 ms: Mark-Compact (reduce) 30.1 (40.0) -> 20.0 (30.0) MB, pooled: 0 MB, 3.25 / 0.00 ms  (+ 10.1 ms in 5 steps since start of marking) (average mu = 1.000) finalize; ',
  ].join('\n');
  expect(parseScavenges(trace)).toEqual([1.62, 2.5]);
});

test('the trace of this Node.js has the expected form', () => {
  const program = 'let kept = []; for (let i = 0; i < 2e6; i++) kept[i % 1000] = { i };';
  const { stdout } = spawnSync(process.execPath, ['--trace-gc', '-e', program], { encoding: 'utf8' });
  const scavenges = parseScavenges(stdout);
  expect(scavenges).toHaveLength(stdout.match(/: Scavenge /g)?.length ?? 0);
  expect(scavenges.length).toBeGreaterThan(0);
});
