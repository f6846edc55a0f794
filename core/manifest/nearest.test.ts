import { expect, test } from '@jest/globals';
import fc from '../../testing/random/properties.ts';
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
])('the nearest key to %j is %j', (word, expected) => {
  expect(nearest(word, KEYS)).toBe(expected);
});

test('a word is nearest to itself, also after two adjacent characters are swapped', () => {
  const word = fc.stringMatching(/^[a-z]{4,20}$/);
  fc.assert(
    fc.property(word, fc.nat(), (text, position) => {
      expect(nearest(text, [`${text}zzzz`, text])).toBe(text);
      const at = position % (text.length - 1);
      const swapped = text.slice(0, at) + text[at + 1]! + text[at]! + text.slice(at + 2);
      expect(nearest(swapped, [text])).toBe(text);
    }),
  );
});
