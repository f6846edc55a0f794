import { expect, test } from '@jest/globals';
import { HELP, readOptions, SECTIONS } from './options.ts';

test('without options, measures all sections, targets and scenarios in five rounds of one second', () => {
  const read = readOptions([]);
  expect(read).toMatchObject({
    ok: true,
    options: {
      ...{ help: false, json: false, bars: false, save: false, sections: SECTIONS },
      ...{ rounds: 5, seconds: 1, connections: 32, targets: null, others: [] },
    },
  });
  expect(read.ok && read.options.scenarios.map(({ name }) => name)).toEqual(['json', 'chat', 'sse']);
});

test('runs sections in their own order', () => {
  expect(readOptions(['--section', 'heap', '--section', 'tls', '--bars', '--rounds', '2'])).toMatchObject({
    ok: true,
    options: { sections: ['tls', 'heap'], bars: true, rounds: 2 },
  });
});

test('help lists every section', () => {
  for (const section of SECTIONS) expect(HELP).toContain(section);
});

test.each([
  [['--section', 'x'], '--section=x: must be one of throughput, tls, '],
  [['--save', '--target', 'undici'], '--save: must be used without --section, --scenario and --target'],
  [['--rounds', '0'], '--rounds=0: must be an integer from 1 to 100'],
  [['--seconds', '1.5'], '--seconds=1.5: must be an integer from 1 to 60'],
  [['--connections', 'many'], '--connections=many: must be an integer from 1 to 1000'],
  [['--scenario', 'x'], '--scenario=x: must be one of json, chat, sse'],
  [['--target', 'x'], '--target=x: must be one of direct, '],
  [['--fast'], "Unknown option '--fast'"],
])('rejects %j', (args, problem) => {
  const read = readOptions(args);
  expect(read.ok ? null : read.problem).toContain(problem);
});
