import { describe, expect, test } from '@jest/globals';
import { gzipSync } from 'node:zlib';
import { decodeBody } from '../../sidecar/usage/decode-body.ts';
import { codingOf } from './coding.ts';
import { COUNT_NEEDLES, RequestContent } from './request-content.ts';
import { countNames } from './token-counts.ts';

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
    ['far behind their names', `{"prompt_tokens":${' '.repeat(5000)}1000000,"output_tokens":7}`],
    ['in UTF-16', Buffer.from(JSON.stringify(SENT), 'utf16le').toString('latin1')],
    ['as texts', '{"prompt_tokens":"1000000","completion_tokens":"7"}'],
    [
      'with escaped quotes',
      JSON.stringify({ note: JSON.stringify(SENT) }).replaceAll(String.raw`\"`, String.raw`\u0022`),
    ],
    ['with escaped digits', String.raw`{"prompt_tokens":"\u0031000000","completion_tokens":"\u0037"}`],
    ['in a form with an encoded name', 'prompt%5Ftokens=1000000&completion%5ftokens=+7'],
    ['in a form', 'usage[prompt_tokens]=1000000&usage%5Bcompletion_tokens%5D=7'],
    ['in an encoded form', encodeURIComponent(JSON.stringify(SENT))],
    [
      'in lines within a string',
      JSON.stringify({ note: '{"prompt_tokens"\n:\t1000000,\r"completion_tokens":\n7}' }),
    ],
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

test('a body that is too large to be read is taken to contain everything', () => {
  const body = JSON.stringify({ usage: SENT });
  expect(contentOf(gzipSync(body), 'gzip', 5).hasCounts(SENT)).toBe(true);
  expect(contentOf(gzipSync('{}'), 'gzip').hasCounts(SENT)).toBe(false);
  for (const content of [
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
  expect(countNames().filter((name) => !COUNT_NEEDLES.some((needle) => name.includes(needle)))).toEqual([]);
});

test('a header does not prevent that usage counts, because many agents ignore the coding', () => {
  for (const coding of ['gzip', 'br', 'compress', 'gzip, gzip']) {
    expect(contentOf('{"message":"hi"}', coding).hasCounts({ prompt_tokens: 3 })).toBe(false);
    expect(contentOf(JSON.stringify(SENT), coding).hasCounts(SENT)).toBe(true);
  }
});

test('many backslashes are searched once', () => {
  // If the time grew with their square, this test would run for minutes.
  const content = contentOf(String.raw`{"mod\u0065l":"` + '\\'.repeat(1024 * 1024), undefined, 512 * 1024);
  expect(content.hasModel('gpt-5')).toBe(false);
});

test('a name behind too many counts is found', () => {
  const items = Array.from({ length: 10_001 }, (_, input_tokens) => ({ input_tokens }));
  const content = contentOf(JSON.stringify({ items, model: 'forged-1' }), undefined, 4096);
  expect([content.hasModel('forged-1'), content.hasModel('gpt-5')]).toEqual([true, false]);
});

test('totals in objects, as in AI SDK 6, are compared', () => {
  const usage = { inputTokens: { total: 31, noCache: 31 }, outputTokens: { total: 5 } };
  const more = { ...usage, inputTokens: { total: 40, noCache: 40 } };
  const content = contentOf(JSON.stringify({ messages: [{ metadata: usage }] }));
  expect([content.hasCounts(usage), content.hasCounts(more)]).toEqual([true, false]);
  expect(contentOf('{"inputTokens":{"noCache":1,"total":40},"outputTokens":5}').hasCounts(more)).toBe(true);
});
