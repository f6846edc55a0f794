import { describe, expect, test } from '@jest/globals';
import fc from '../testing/random/properties.ts';
import { responseOf } from './json-response.ts';

const any = (value: unknown) => ({ ok: true as const, value });
const NO_OBJECT = { ok: false, reason: 'the response of the model has no JSON object' };
const INCOMPLETE = { ok: false, reason: 'the JSON object in the response of the model is not complete' };
const INVALID = { ok: false, reason: 'the response of the model is not valid JSON' };

describe('the first JSON object of a response', () => {
  test.each<[string, string, unknown]>([
    ['alone', '{"a": 1}', { ok: true, value: { a: 1 } }],
    ['empty', ' {} ', { ok: true, value: {} }],
    ['in a code fence', '```json\n{\n  "a": [{"b": "}"}]\n}\n```', { ok: true, value: { a: [{ b: '}' }] } }],
    ['between sentences', 'Set {name}: {"a": "\\"}{"} and {"b": 2}', { ok: true, value: { a: '"}{' } }],
    ['missing', 'I cannot help with that.', NO_OBJECT],
    ['missing in an empty response', '', NO_OBJECT],
    ['missing in an array of numbers', '[1, 2]', NO_OBJECT],
    ['cut in a string', '{"a": "one two', INCOMPLETE],
    ['cut between braces', '{"a": {"b": 1}', INCOMPLETE],
    ['cut after a backslash', '{"a": "\\', INCOMPLETE],
    ['not valid', '{"a": 1,}', INVALID],
    ['not valid around a valid one', '{"a": {"b": 1}, c}', INVALID],
  ])('%s', (_name, text, expected) => {
    expect(responseOf(text, any)).toEqual(expected);
  });

  test('is found again around any text without braces', () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc.string(),
        (before, value, after) => {
          const sentence = before.replaceAll('{', '');
          const text = JSON.stringify(value);
          expect(responseOf(`${sentence}${text}${after}`, any)).toEqual({
            ok: true,
            value: JSON.parse(text),
          });
        },
      ),
    );
  });

  test('is found in linear time', () => {
    expect(responseOf('{"'.repeat(500_000), any)).toEqual(INCOMPLETE);
    expect(responseOf('{ '.repeat(500_000), any)).toEqual(NO_OBJECT);
  });
});

test('a parser that rejects the value gives its reason', () => {
  expect(responseOf('{"a": 1}', () => ({ ok: false as const, reason: 'a is not a string' }))).toEqual({
    ok: false,
    reason: 'a is not a string',
  });
});
