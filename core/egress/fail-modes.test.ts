import { expect, test } from '@jest/globals';
import { failModeOf, parseFailModes } from './fail-modes.ts';

test.each([
  ['open', 'open', 'open'],
  ['closed', 'closed', 'closed'],
  ['openai=closed', 'closed', 'open'],
  ['closed,openai=open', 'open', 'closed'],
  ['mcp:files=open,closed', 'closed', 'open'],
  ['closed,open,mcp:files=closed,mcp:files=open', 'closed', 'closed'],
])('%s: openai is %s, mcp:files is %s', (text, openai, files) => {
  const modes = parseFailModes(text);
  expect(modes && [failModeOf(modes, 'openai'), failModeOf(modes, 'mcp:files')]).toEqual([openai, files]);
});

test.each(['', 'off', 'openai', 'openai=', 'mcp:=open', 'open, '])('%j is invalid', (text) => {
  expect(parseFailModes(text)).toBeNull();
});
