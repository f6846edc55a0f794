import { expect, test } from '@jest/globals';
import { readOptions } from './options.ts';

test('without options, measures all targets and scenarios in three rounds of one second', () => {
  const read = readOptions([]);
  expect(read).toMatchObject({
    ok: true,
    options: { help: false, json: false, rounds: 3, seconds: 1, connections: 32, targets: null, others: [] },
  });
  expect(read.ok && read.options.scenarios.map(({ name }) => name)).toEqual(['json', 'chat', 'sse']);
});

test.each([
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
