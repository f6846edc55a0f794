import { expect, test } from '@jest/globals';
import { LANES_ANNOTATION, namedLanes, repeatedIn } from './lane-annotation.ts';
import { AZURE_VARIABLES } from '../vendors/azure.ts';
import { lanePath, VENDOR_LANES } from './lane-variables.ts';
import { NOT_REWRITTEN_REASONS, notRewrittenText, parseNotRewritten } from './not-rewritten.ts';

test('an annotation names lanes of vendors, and others with their variable', () => {
  const text = 'openai, anthropic,compatible:corp=LLM_URL,mcp:files-2=FILES_MCP_URL';
  expect(text).toMatch(LANES_ANNOTATION);
  const lanes = namedLanes(text);
  expect(lanes).toEqual([
    { id: 'openai', variable: null },
    { id: 'anthropic', variable: null },
    { id: 'compatible:corp', variable: 'LLM_URL' },
    { id: 'mcp:files-2', variable: 'FILES_MCP_URL' },
  ]);
  expect(lanes.map(({ id }) => lanePath(id))).toEqual([
    '/openai',
    '/anthropic',
    '/compatible/corp',
    '/mcp/files-2',
  ]);
});

test('finds lanes and variables that are named twice, each once', () => {
  expect(repeatedIn(namedLanes('openai,mcp:a=X,openai,mcp:b=X,openai'))).toEqual([
    'lane openai',
    'variable X',
  ]);
  expect(repeatedIn(namedLanes('openai,mcp:a=X'))).toEqual([]);
});

test('the pattern has no backslash, because CEL and YAML read it too', () => {
  expect(LANES_ANNOTATION.source).not.toContain('\\');
});

const ROWS = Object.entries(VENDOR_LANES);

test('no variable belongs to two lanes', () => {
  const names = ROWS.flatMap(([, { variables }]) => variables.map(({ name }) => name));
  expect(new Set(names).size).toBe(names.length);
});

test.each(ROWS)(
  'the default upstream of %s is an origin, and only with one are variables added',
  (_name, lane) => {
    const { upstream, variables } = lane;
    if (upstream === null) expect(variables.filter(({ added }) => added !== null)).toEqual([]);
    else expect(new URL(upstream).origin).toBe(upstream);
  },
);

test('only OPENAI_BASE_URL is wrong with Azure, whose own variables are not', () => {
  const wrong = ROWS.flatMap(([, { variables }]) =>
    variables.flatMap(({ name, isWrongWithAzure }) => (isWrongWithAzure === true ? [name] : [])),
  );
  expect(wrong).toEqual(['OPENAI_BASE_URL']);
  const { variables } = VENDOR_LANES.azure;
  expect(variables.every(({ name }) => AZURE_VARIABLES.some((start) => name.startsWith(start)))).toBe(true);
});

test('what is not rewritten is the same after writing and reading', () => {
  const list = Object.keys(NOT_REWRITTEN_REASONS).map((reason, index) => ({
    lane: ['openai', 'mcp:files', 'connect'][index % 3] ?? '',
    variable: `VARIABLE_${index}`,
    reason: reason as keyof typeof NOT_REWRITTEN_REASONS,
  }));
  expect(parseNotRewritten(notRewrittenText(list))).toEqual(list);
});

test.each(['', 'openai', 'openai=X', 'openai=X:never', 'openai=X:set,', 'openai=X Y:set'])(
  'does not read %j as what is not rewritten',
  (text) => {
    expect(parseNotRewritten(text)).toBeNull();
  },
);
