import { describe, expect, test } from '@jest/globals';
import { parsePath, positionsIn } from './position.ts';
import { formatPath, type PathToken } from './yaml-tree.ts';

const TEXT = `spec:
  tools:
    - name: search
    - name: pay
      annotations: {}
  "odd key": 1
`;

describe('positionsIn', () => {
  const positionOf = positionsIn(TEXT);
  test.each<[string, PathToken[], number, number]>([
    ['a key', ['spec', 'tools'], 2, 3],
    ['an item', ['spec', 'tools', 1], 4, 7],
    ['a key of an item', ['spec', 'tools', 1, 'annotations'], 5, 7],
    ['a missing key: its parent', ['spec', 'tools', 1, 'annotations', 'destructiveHint'], 5, 7],
    ['a missing item: its list', ['spec', 'tools', -1], 2, 3],
    ['a missing object: the document', ['metadata', 'name'], 1, 1],
    ['the document', [], 1, 1],
  ])('%s', (_what, path, line, column) => {
    expect(positionOf(path)).toEqual({ line, column });
  });

  test('returns the start of a text that is not YAML', () => {
    expect(positionsIn('a: [')(['a'])).toEqual({ line: 1, column: 1 });
  });
});

describe('parsePath', () => {
  test.each<[PathToken[]]>([
    [[]],
    [['spec', 'tools', 0, 'name']],
    [['spec', 'x y', 'a"b\\c', 12]],
    [['spec', 'evaluation', 'thresholds', 'pass_rate']],
  ])('reads what formatPath writes: %j', (path) => {
    expect(parsePath(formatPath(path))).toEqual(path);
  });
});
