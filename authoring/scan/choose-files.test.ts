import { expect, test } from '@jest/globals';
import { chooseFiles, exceedsLimits, knownImports, type Candidate } from './choose-files.ts';

const candidates = (...files: (Partial<Candidate> & { path: string })[]): Candidate[] =>
  files.map((file) => ({ bytes: 1_000, imports: 0, ...file }));

test('files that import known libraries come first, then those near the top, tests last', () => {
  const many = Array.from({ length: 48 }, (_, index) => ({ path: `b/m${index}.py`, imports: 1 }));
  const files = candidates(
    ...many,
    { path: 'tests/test_a.py', imports: 3 },
    { path: 'a/deep/x.py' },
    { path: 'main.py' },
    { path: 'z/agent.py', imports: 2 },
  );
  const { chosen, leftOut } = chooseFiles(files);
  expect(leftOut).toEqual(['a/deep/x.py', 'tests/test_a.py']);
  expect(chosen).toHaveLength(50);
  expect(chooseFiles(files.toReversed())).toEqual({ chosen, leftOut });
});

test('a file that does not fit is left out, and smaller ones follow', () => {
  const files = candidates(
    { path: 'a.py', bytes: 150_000, imports: 2 },
    { path: 'b.py', bytes: 50_001, imports: 1 },
    { path: 'c.py', bytes: 50_000 },
  );
  expect(chooseFiles(files)).toEqual({ chosen: ['a.py', 'c.py'], leftOut: ['b.py'] });
});

test('limits are 50 files and 200 KB', () => {
  const files = (count: number, bytes: number) => Array.from({ length: count }, () => ({ bytes }));
  expect([files(50, 4_000), files(51, 1), files(2, 100_001)].map(exceedsLimits)).toEqual([false, true, true]);
});

test('known imports are counted once per library', () => {
  const text =
    'import openai\nfrom openai import x\nfrom langchain_core import y\nimport re\n# import cohere';
  expect(knownImports({ path: 'a.py', text })).toBe(2);
});
