import { describe, expect, test } from '@jest/globals';
import { Ajv } from 'ajv';
import { Code } from './code.ts';
import { collect } from './collect.ts';
import { COMPLETION_SCHEMA, parseCompletion, withCompletion, type Completion } from './completion.ts';
import { draftOf } from './draft.ts';

const CODE = `
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
ChatOpenAI(model="gpt-4o")

@tool
def search(q):
    """Finds documents."""

@tool
def drop(q): pass

def helper(q): return os.environ[KEY], "claude-x", "OTHER_KEY", guard
# a comment names purge, BAD_KEY and evil-model
`;

const HINTS = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true };

const completed = (completion: Partial<Completion>) => {
  const code = new Code([{ path: 'main.py', text: CODE }]);
  const draft = draftOf(collect(code), code, []);
  const none = { description: '', tools: [], guardrails: [], models: [], variables: [] };
  return { before: draft, ...withCompletion(draft, { ...none, ...completion }, code) };
};

test('an empty response changes nothing', () => {
  const { before, draft, rejected } = completed({});
  expect(draft).toEqual(before);
  expect(rejected).toBe(0);
});

describe('a tool', () => {
  test('keeps its description and gets missing members', () => {
    const tools = ['search', 'drop'].map((name) => ({ name, description: 'From the model.', ...HINTS }));
    const { draft } = completed({ tools });
    expect(
      draft.tools.map(({ name, description, annotations, proposed }) => ({
        name,
        description,
        annotations,
        proposed,
      })),
    ).toEqual([
      { name: 'search', description: 'Finds documents.', annotations: HINTS, proposed: ['annotations'] },
      {
        name: 'drop',
        description: 'From the model.',
        annotations: HINTS,
        proposed: ['description', 'annotations'],
      },
    ]);
  });

  test('is added if its name is in the code', () => {
    const tools = ['helper', 'purge', 'invented'].map((name) => ({ name, description: '', ...HINTS }));
    const { draft, rejected } = completed({ tools });
    expect(draft.tools.map(({ name }) => name)).toEqual(['search', 'drop', 'helper']);
    expect(draft.tools.at(-1)).toMatchObject({
      places: [{ file: 'main.py', line: 13 }],
      proposed: ['item', 'annotations'],
    });
    expect(rejected).toBe(2);
  });
});

test('hints of the code are kept', () => {
  const text = `from fastmcp import FastMCP\nmcp = FastMCP("a")\n@mcp.tool(annotations={"destructiveHint": False})\ndef drop(q): pass`;
  const code = new Code([{ path: 'main.py', text }]);
  const none = { description: '', guardrails: [], models: [], variables: [] };
  const response = { ...none, tools: [{ name: 'drop', description: '', ...HINTS }] };
  const { draft } = withCompletion(draftOf(collect(code), code, []), response, code);
  expect(draft.tools[0]?.annotations).toEqual({ ...HINTS, destructiveHint: false });
});

test('models, variables and guardrails are added behind those that were found, if the code names them', () => {
  const { draft, rejected } = completed({
    description: 'Searches.\n\nMore.',
    models: [
      { provider: 'anthropic', id: 'claude-x' },
      { provider: 'x', id: 'evil-model' },
      { provider: 'x', id: 'gpt-4o' },
    ],
    variables: ['OTHER_KEY', 'BAD_KEY', 'not a variable'],
    guardrails: [
      { type: 'custom', where: 'input', function: 'guard' },
      { type: 'custom', where: 'output', function: 'missing' },
    ],
  });
  expect(draft.description).toBe('Searches.');
  expect(draft.models.map(({ provider, id }) => [provider, id.text])).toEqual([
    ['openai', 'gpt-4o'],
    ['anthropic', 'claude-x'],
  ]);
  expect(draft.variables.map(({ name }) => name)).toEqual(['OTHER_KEY']);
  expect(draft.guardrails.map((each) => each.function)).toEqual(['guard']);
  expect(rejected).toBe(3);
});

describe('a response', () => {
  const FULL = {
    description: 'a',
    tools: [{ name: 'a', description: 'b', ...HINTS }],
    guardrails: [{ type: 'custom', where: 'input', function: 'f' }],
    models: [{ provider: 'p', id: 'i' }],
    variables: ['A'],
  };

  test('that fits the schema is read unchanged', () => {
    expect(new Ajv().validate(COMPLETION_SCHEMA, FULL)).toBe(true);
    expect(parseCompletion(FULL)).toEqual({ ok: true, value: FULL });
  });

  test('without members is an empty one', () => {
    const empty = { description: '', tools: [], guardrails: [], models: [], variables: [] };
    expect(parseCompletion({})).toEqual({ ok: true, value: empty });
  });

  test.each([
    [{ tools: 'a' }, 'tools must be a list'],
    [{ tools: [{ name: 'a' }] }, 'tools[0].readOnlyHint must be true or false'],
    [{ guardrails: [{ type: 'x', where: 'input', function: 'f' }] }, 'guardrails[0].type must be one of '],
  ])('%j is rejected', (response, reason) => {
    expect(parseCompletion(response)).toMatchObject({
      ok: false,
      reason: expect.stringContaining(`the response of the model is not valid: ${reason}`),
    });
  });
});
