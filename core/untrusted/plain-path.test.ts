import { expect, test } from '@jest/globals';
import { plainPath } from './plain-path.ts';

test.each([
  ['/', '/'],
  ['/v1/chat', '/v1/chat'],
  ['/v1beta/models/gemini-2.5:generateContent', '/v1beta/models/gemini-2.5:generateContent'],
  ['/v1/chat/', '/v1/chat'],
  ['//v1///chat', '/v1/chat'],
  ['/x/../v1/./%63hat?q=1', '/v1/chat'],
  ['/v1;a=b/chat;c', '/v1/chat'],
  ['/v1\\chat', '/v1/chat'],
  ['/%zz', '/%zz'],
  ['', ''],
])('a server may read %s as %s', (path, expected) => {
  expect(plainPath(path)).toBe(expected);
});
