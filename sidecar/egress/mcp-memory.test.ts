import { describe, expect, test } from '@jest/globals';
import { McpMemory, type ListedPage } from './mcp-memory.ts';

const FILES = 'files';
const page = (names: string[], cursor: string | null = null, next?: string): ListedPage => ({
  ...{ names, cursor, next },
});
const ofUnknownRequest = (names: string[]): ListedPage => ({ names, cursor: undefined, next: undefined });

function after(...pages: ListedPage[]): McpMemory {
  const memory = new McpMemory();
  for (const each of pages) memory.list(FILES, each);
  return memory;
}

describe('the list of a server', () => {
  test.each<[what: string, pages: ListedPage[], names: string[]]>([
    ['is the newest one', [page(['a', 'b']), page(['b', 'c'])], ['b', 'c']],
    [
      'has all of its pages',
      [page(['a'], null, '2'), page(['b'], '2', '3'), page(['c'], '3')],
      ['a', 'b', 'c'],
    ],
    ['counts before its last page', [page(['a'], null, '2')], ['a']],
    ['counts next to the one before until its last page', [page(['a']), page(['b'], null, '2')], ['a', 'b']],
    [
      'replaces one of which the client did not read all pages',
      [page(['a'], null, '2'), page(['b'], null, '2')],
      ['b'],
    ],
    [
      'is complete if two sessions read it at the same time',
      [page(['a'], null, 'x'), page(['a'], null, 'y'), page(['b'], 'x'), page(['b'], 'y')],
      ['a', 'b'],
    ],
    [
      'does not lose names by a page of an unknown request',
      [page(['a', 'b']), ofUnknownRequest(['a'])],
      ['a', 'b'],
    ],
    ['does not lose names by a page of an unknown cursor', [page(['a']), page(['b'], '7')], ['a', 'b']],
    ['is empty if the server has no tools', [page(['a']), page([])], []],
  ])('%s', (_what, pages, names) => {
    const memory = after(...pages);
    expect(memory.hasListed(FILES)).toBe(true);
    expect(new Set(memory.listed.get(FILES))).toEqual(new Set(names));
  });

  test('has at most 2,000 names, in one page or in many', () => {
    const many = (start: number): string[] => Array.from({ length: 1500 }, (_, index) => `t${start + index}`);
    const memory = after(page(many(0), null, '2'), page(many(1500), '2', '3'), page(many(3000), '3'));
    expect(memory.listed.get(FILES)).toHaveLength(2000);
    expect(memory.everListed(FILES)).toHaveLength(2000);
  });

  test('is its own', () => {
    const memory = after(page(['a']));
    expect([memory.hasListed('other'), memory.listed.get('other')]).toEqual([false, undefined]);
  });
});

describe('a tool that a server ran', () => {
  test('is known until the server lists its tools', () => {
    const memory = new McpMemory();
    memory.ran(FILES, 'a');
    expect([memory.hasListed(FILES), memory.listed.get(FILES), memory.everListed(FILES)]).toEqual([
      false,
      ['a'],
      ['a'],
    ]);
    memory.list(FILES, page(['b'], null, '2'));
    memory.ran(FILES, 'a');
    expect([memory.hasListed(FILES), memory.listed.get(FILES), memory.everListed(FILES)]).toEqual([
      true,
      ['b'],
      ['b'],
    ]);
  });
});

test('the end of a stream does not end a newer one with the same path', () => {
  const memory = new McpMemory();
  const [older, newer] = [(): void => undefined, (): void => undefined];
  memory.open('/messages', older);
  memory.open('/messages', newer);
  memory.close('/messages', older);
  expect(memory.streamOf('/messages')).toBe(newer);
  memory.close('/messages', newer);
  expect(memory.streamOf('/messages')).toBeNull();
});
