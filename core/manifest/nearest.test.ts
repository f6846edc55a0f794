import { expect, test } from '@jest/globals';
import fc from '../../testing/properties.ts';
import { nearest } from './nearest.ts';

const KEYS = ['tools', 'model', 'memory', 'apiKey', 'id', 'requestsPerMinute', 'name', 'type'];

test.each([
  ['tols', 'tools'],
  ['toolss', 'tools'],
  ['tolos', 'tools'],
  ['TOOLS', 'tools'],
  ['api_key', 'apiKey'],
  ['api-key', 'apiKey'],
  ['apikye', 'apiKey'],
  ['request_per_minute', 'requestsPerMinute'],
  ['modle', 'model'],
  ['ids', 'id'],
  ['banana', undefined],
  ['x', undefined],
  ['', undefined],
  ['a'.repeat(65), undefined],
])('%j is meant to be %j', (word, meant) => {
  expect(nearest(word, KEYS)).toBe(meant);
});

test('a word is nearest to itself, and stays so after one swap of neighbours', () => {
  const word = fc.stringMatching(/^[a-z]{4,20}$/);
  fc.assert(
    fc.property(word, fc.nat(), (text, where) => {
      expect(nearest(text, [`${text}zzzz`, text])).toBe(text);
      const at = where % (text.length - 1);
      const swapped = text.slice(0, at) + text[at + 1]! + text[at]! + text.slice(at + 2);
      expect(nearest(swapped, [text])).toBe(text);
    }),
  );
});
