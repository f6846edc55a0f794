import { expect, test } from '@jest/globals';
import { HELP, readOptions, SECTIONS } from './options.ts';

test('without options, measures all sections and targets in five rounds', () => {
  const read = readOptions([]);
  expect(read).toMatchObject({
    ok: true,
    options: {
      ...{ help: false, json: false, bars: false, save: false, sections: SECTIONS },
      ...{ rounds: 5, targets: null, others: [] },
    },
  });
});

test('runs sections in their own order', () => {
  expect(readOptions(['--section', 'heap', '--section', 'lanes', '--bars', '--rounds', '2'])).toMatchObject({
    ok: true,
    options: { sections: ['lanes', 'heap'], bars: true, rounds: 2 },
  });
});

test('help lists every section', () => {
  for (const section of SECTIONS) expect(HELP).toContain(section);
});

test.each([
  [['--section', 'x'], '--section=x: must be one of throughput, lanes, '],
  [['--save', '--target', 'undici'], '--save: must be used without --section and --target'],
  [['--rounds', '0'], '--rounds=0: must be an integer from 1 to 100'],
  [['--rounds', '1.5'], '--rounds=1.5: must be an integer from 1 to 100'],
  [['--target', 'x'], '--target=x: must be one of direct, '],
  [['--fast'], "Unknown option '--fast'"],
])('rejects %j', (args, problem) => {
  const read = readOptions(args);
  expect(read.ok ? null : read.problem).toContain(problem);
});
