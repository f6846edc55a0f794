import { expect, test } from '@jest/globals';
import { findPython } from './find-python.ts';

test('the first command that is new enough', () => {
  expect(findPython(() => true)).toEqual({ command: 'python3' });
  expect(findPython((command) => command === 'python3.12')).toEqual({ command: 'python3.12' });
});

test('the reason why there is none', () => {
  expect(findPython(() => false)).toEqual({ missing: 'Python 3.10 or newer is missing' });
});
