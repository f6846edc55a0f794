import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { RecordLines } from '../../core/record/line.ts';
import { MEMBERS } from '../../core/record/members.ts';
import { NO_LINE } from '../../core/record/record-event.ts';
import { folderOf, whyNoPackages } from '../frameworks/programs.ts';
import { sampleEvents, SAMPLE_SOURCE } from '../record/sample-events.ts';

const RULES = join(import.meta.dirname, '../../docs/guide/sigma');
const names = Object.keys(sampleEvents());

function linesOfSamples(): string[] {
  const lines = new RecordLines({ source: SAMPLE_SOURCE, hintsOf: () => undefined, hostOf: () => undefined });
  return Object.values(sampleEvents()).map((event, index) =>
    lines.line(event, { sequence: index + 1, prev: NO_LINE }),
  );
}

// The rules run in pySigma, which the cache has.
(whyNoPackages('evidence') === undefined ? test : test.skip)(
  'each Sigma rule selects exactly its event among one of each kind',
  () => {
    const python = join(folderOf('evidence'), 'bin/python');
    const program = join(import.meta.dirname, 'run-sigma.py');
    const { stdout, stderr } = spawnSync(python, [program, RULES, ...Object.keys(MEMBERS)], {
      encoding: 'utf8',
      input: linesOfSamples().join('\n'),
    });
    expect(stderr).toBe('');
    const fired = JSON.parse(stdout) as Record<string, number[]>;
    expect(
      Object.fromEntries(Object.entries(fired).map(([rule, rows]) => [rule, rows.map((row) => names[row])])),
    ).toEqual({
      'denial-without-identity': ['deniedWithoutIdentity'],
      'destructive-call-blocked': ['destructiveBlocked'],
      'events-lost': ['lost'],
      'passed-without-evaluation': ['failOpen'],
      'undeclared-tool': ['undeclaredTool'],
    });
  },
);
