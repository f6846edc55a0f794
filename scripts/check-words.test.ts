import { expect, test } from '@jest/globals';
import { wordsIn } from './check-words.ts';

const found = (text: string, file = 'docs/page.md') => wordsIn(file, text).map(({ word }) => word);

test.each([
  ['The operator mends the file.', ['mends']],
  ['An answer that is none is ignored.', ['that is none']],
  ['Such a value is no number.', ['is no ']],
  ['Whoever asks is told anew.', ['anew', 'Whoever', 'told']],
  ['There is no file, and the lease is no longer held.', []],
  ['The sidecar rejects the request.', []],
])('%s', (text, words) => {
  expect(found(text).sort()).toEqual([...words].sort());
});

test('a finding has the line and the replacement', () => {
  expect(wordsIn('a.ts', 'const a = 1;\n// anew\n')).toEqual([
    { file: 'a.ts', line: 2, word: 'anew', use: 'again' },
  ]);
});

test('recorded texts and names of interfaces are not checked', () => {
  expect(found('anew', 'core/usage/samples/x.json')).toEqual([]);
  expect(found('metric platform_operator_wakes_total counts')).toEqual([]);
});
