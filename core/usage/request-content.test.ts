import { describe, expect, test } from '@jest/globals';
import { gzipSync } from 'node:zlib';
import { decodeBody } from '../../sidecar/usage/decode-body.ts';
import { codingOf, isLikeAscii } from './coding.ts';
import { COUNT_NEEDLES, RequestContent } from './request-content.ts';
import { COUNT_NAMES } from './token-counts.ts';

const SENT = { prompt_tokens: 1_000_000, completion_tokens: 7 };

function contentOf(body: string | Buffer, coding?: string, step = Infinity): RequestContent {
  const content = new RequestContent(codingOf(coding), decodeBody);
  const bytes = Buffer.from(body);
  for (let at = 0; at < bytes.length; at += Math.min(step, bytes.length))
    content.write(bytes.subarray(at, at + step));
  return content;
}

describe('the counts of a request are found', () => {
  test.each<[string, string]>([
    ['in JSON', JSON.stringify({ usage: SENT })],
    ['in JSON with blanks', JSON.stringify({ usage: SENT }, null, 4)],
    ['in JSON within a string', JSON.stringify({ note: JSON.stringify({ note: JSON.stringify(SENT) }) })],
    [
      'with escaped letters',
      JSON.stringify(SENT).replaceAll(/[a-z]/g, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`),
    ],
    ['under other names', '{"inputTokens":1000000,"eval_count":7}'],
    ['in other forms of numbers', '{"prompt_tokens":1.0E6,"completion_tokens":7.0}'],
    ['in the numbers of Python and JSON5', '{"prompt_tokens":"1_000_000","completion_tokens":+0x7}'],
    ['far behind their names', `{"prompt_tokens":${' '.repeat(5000)}1000000}`],
    ['in UTF-16', Buffer.from(JSON.stringify(SENT), 'utf16le').toString('latin1')],
    ['as texts', '{"prompt_tokens":"1000000","completion_tokens":"7"}'],
    ['in a form', 'usage[prompt_tokens]=1000000&usage%5Bcompletion_tokens%5D=7'],
    ['in an encoded form', encodeURIComponent(JSON.stringify(SENT))],
    ['in YAML', 'usage:\n  prompt_tokens: 1000000\n  completion_tokens: 7\n'],
    [
      'in YAML within a string',
      JSON.stringify({ note: 'usage:\nprompt_tokens: 1000000\ncompletion_tokens: 7\n' }),
    ],
    ['in XML', '<prompt_tokens>1000000</prompt_tokens><completion_tokens>7</completion_tokens>'],
  ])('%s', (_how, body) => {
    for (const step of [1, 7, 64, Infinity]) {
      const content = contentOf(body, undefined, step);
      expect(content.hasCounts(SENT)).toBe(true);
      expect(content.hasCounts({ ...SENT, total_tokens: 1_000_007 })).toBe(true);
      if (!body.includes(' '.repeat(99)))
        expect(content.hasCounts({ ...SENT, completion_tokens: 8 })).toBe(false);
      expect(content.hasMatched).toBe(true);
    }
  });
});

test.each<[string, string]>([
  [
    'limits of the response',
    '{"max_tokens":31,"max_completion_tokens":5,"maxOutputTokens":36,"max_input_tokens":36}',
  ],
  ['other numbers', '{"count":31,"price":5,"tokens":36}'],
  ['zeros', '{"usage":{"prompt_tokens":0,"completion_tokens":0}}'],
  ['nothing', ''],
])('a request with %s does not contain the counts', (_what, body) => {
  expect(contentOf(body).hasCounts({ prompt_tokens: 31, completion_tokens: 5, total_tokens: 36 })).toBe(
    false,
  );
});

test('counts in the iterations of Anthropic are compared, too', () => {
  const usage = {
    input_tokens: 0,
    output_tokens: 0,
    iterations: [{ input_tokens: 1_000_000, output_tokens: 7 }],
  };
  expect(contentOf(JSON.stringify({ usage })).hasCounts(usage)).toBe(true);
  expect(contentOf('{"input_tokens":7}').hasCounts(usage)).toBe(false);
});

describe('the model of a request is found', () => {
  test.each<[string, string]>([
    ['in JSON', '{"model":"vendor/forged-1","messages":[]}'],
    ['with escapes', String.raw`{"mod\u0065l":"vendor\/f\u006frged-1"}`],
    ['in metadata', '{"response_metadata":{"model_name": "vendor/forged-1"}}'],
  ])('%s', (_how, body) => {
    for (const step of [5, Infinity])
      expect(contentOf(body, undefined, step).hasModel('vendor/forged-1')).toBe(true);
    expect(contentOf(body).hasModel('gpt-5')).toBe(false);
  });
});

test('a body that cannot be read is taken to contain everything', () => {
  const body = JSON.stringify({ usage: SENT });
  expect(contentOf(gzipSync(body), 'gzip', 5).hasCounts(SENT)).toBe(true);
  expect(contentOf(gzipSync('{}'), 'gzip').hasCounts(SENT)).toBe(false);
  for (const content of [
    contentOf(body, 'gzip'),
    contentOf(body, 'compress'),
    contentOf(gzipSync(' '.repeat(1024 * 1024 + 1)), 'gzip'),
    contentOf(Buffer.alloc(1024 * 1024 + 1), 'br'),
  ]) {
    expect([content.hasCounts({ prompt_tokens: 3 }), content.hasModel('gpt-5')]).toEqual([true, true]);
    expect(content.heldBytes).toBe(0);
  }
});

test('the memory is limited and can be released', () => {
  const content = contentOf(
    JSON.stringify(Array.from({ length: 9_000 }, (_, input_tokens) => ({ input_tokens }))),
  );
  expect(content.heldBytes).toBeGreaterThan(0);
  expect(content.heldBytes).toBeLessThan(500_000);
  content.giveUp();
  expect(content.heldBytes).toBe(0);
  expect(content.hasCounts({ prompt_tokens: 1e6 })).toBe(true);
});

test('each name of a count has a needle', () => {
  expect(COUNT_NAMES.filter((name) => !COUNT_NEEDLES.some((needle) => name.includes(needle)))).toEqual([]);
});

test('a body in which names are repeated without end is not searched further', () => {
  const content = contentOf('"max_token'.repeat(100_000));
  expect(content.hasCounts({ prompt_tokens: 3 })).toBe(true);
});

test.each<[string | undefined, boolean]>([
  [undefined, true],
  ['application/json', true],
  ['application/json; charset=UTF-8', true],
  ['application/json; charset="utf-16le"', true],
  ['application/json; charset=utf-7', false],
  ['text/plain; charset=ibm037', false],
])('the names in a text of type %s are ASCII: %s', (contentType, expected) => {
  expect(isLikeAscii(contentType)).toBe(expected);
});
