import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { folderOf, pythonIn, whyNoPackages } from '../../testing/frameworks/programs.ts';
import fc, { runs } from '../../testing/random/properties.ts';
import { linesOfSamples, SAMPLE_WRITER } from '../../testing/record/chain-of-lines.ts';
import { anyEvent } from '../../testing/record/generated-events.ts';
import { NO_LINE } from './record-event.ts';

const PROGRAM = join(import.meta.dirname, '../../testing/record/ocsf_errors.py');

/** The errors of each line in the official JSON Schema of OCSF 1.8.0. */
function errorsOf(lines: readonly string[]): string[][] {
  const { stdout, stderr, status } = spawnSync(pythonIn(folderOf('evidence')), [PROGRAM], {
    input: lines.map((line) => `${line}\n`).join(''),
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
  return stdout
    .trim()
    .split('\n')
    .map((errors) => JSON.parse(errors) as string[]);
}

// The packages are installed at the first run; without a registry the reason is printed and the tests are skipped.
const isInstalled = whyNoPackages('evidence') === undefined;

(isInstalled ? describe : describe.skip)('in the official schema of OCSF', () => {
  test('every sample is valid', () => {
    const lines = linesOfSamples();
    const names = Object.keys(lines);
    const errors = errorsOf(Object.values(lines));
    expect(errors).toHaveLength(names.length);
    expect(
      names.flatMap((name, index) => (errors[index] ?? ['no result']).map((error) => `${name} ${error}`)),
    ).toEqual([]);
  });

  test('every generated event is valid', () => {
    const lines = fc
      .sample(anyEvent, runs(1_500))
      .map((event, index) => SAMPLE_WRITER.line(event, { sequence: index + 1, prev: NO_LINE }));
    const errors = errorsOf(lines);
    expect(errors).toHaveLength(lines.length);
    const found = errors.flatMap((each, index) =>
      each.map((error) => `${error} in ${lines[index]?.slice(0, 500)}`),
    );
    expect(found.slice(0, 5)).toEqual([]);
  });

  // What the schema must find, so that no error means something.
  test('an event that is not valid has errors', () => {
    const line = linesOfSamples().modelCall;
    const changes: [from: string | RegExp, to: string, named: string][] = [
      ['"api":{', '"apo":1,"api":{', 'apo'],
      [/"time":\d+/, '"time":"2026-03-01T12:00:00Z"', 'time'],
      [/"ai_provider":"[^"]*",/, '', 'ai_provider'],
      ['"service":{"name":"openai"}', '"service":"openai"', 'service'],
      [/"disposition_id":\d+/, '"disposition_id":4711', 'disposition_id'],
    ];
    const errors = errorsOf(changes.map(([from, to]) => line.replace(from, to)));
    expect(errors.map((each) => each.join())).toEqual(
      changes.map(([, , named]) => expect.stringContaining(named)),
    );
  });
});
