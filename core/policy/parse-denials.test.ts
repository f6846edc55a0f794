import { expect, test } from '@jest/globals';
import { parseDenials } from './parse-denials.ts';

const parse = (document: unknown): unknown => parseDenials(JSON.stringify(document));
const INVALID = 'policy_result_invalid';

test.each<[unknown, readonly string[]]>([
  [[], []],
  [
    ['b', 'a', 'b'],
    ['a', 'b'],
  ],
  [[{ msg: 'no' }], ['no']],
  [
    ['pii', { msg: 'no', reason: 'other' }],
    ['no', 'pii'],
  ],
  [
    [{ reason: 'why' }, { msg: '', reason: 'blank' }, { msg: { text: 'x' }, reason: 'nested' }],
    ['blank', 'nested', 'why'],
  ],
  [{ msg: 'no' }, ['no']],
  ['no', ['no']],
  [['a,b\r\n'], ['a,b\r\n']],
  [['x'.repeat(300)], ['x'.repeat(200)]],
  [[`${'x'.repeat(199)}😀`], ['x'.repeat(199)]],
  [null, []],
  [false, []],
  ['', []],
  [{}, []],
])('the result %j denies with the reasons %j', (result, denials) => {
  expect(parse({ result })).toEqual({ state: 'answered', denials });
});

test.each<[unknown, readonly string[], string]>([
  [true, [INVALID], 'the result is a boolean'],
  [0, [INVALID], 'the result is a number'],
  [' \n', [INVALID], 'the result is an empty text'],
  [{ pii: true }, [INVALID], 'the result is an object without a text in msg or reason'],
  [[{ msg: 7 }], [INVALID], 'an element of the result is an object without a text in msg or reason'],
  [[null], [INVALID], 'an element of the result is null'],
  [['pii', ['a']], ['pii', INVALID], 'an element of the result is a list'],
  [[false, 1], [INVALID], 'an element of the result is a boolean'],
  [[''], [INVALID], 'an element of the result is an empty text'],
])('the result %j denies with %j, because %s', (result, denials, problem) => {
  expect(parse({ result })).toEqual({ state: 'answered', denials, problem });
});

test('at most 100 reasons are kept', () => {
  const result = Array.from({ length: 250 }, (_, index) => ({ msg: `r${String(index).padStart(3, '0')}` }));
  expect(parse({ result })).toEqual({
    state: 'answered',
    denials: result.slice(0, 100).map(({ msg }) => msg),
  });
});

test('an absent result means that the rules are not loaded', () => {
  expect(parse({ decision_id: '1' })).toEqual({ state: 'not-loaded' });
});

test.each(['', 'null', '[]', '"x"', '{"result":['])('the body %j has no result', (body) => {
  expect(parseDenials(body)).toEqual({ state: 'unreachable', reason: 'the response is not a JSON object' });
});
