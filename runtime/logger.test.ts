import { expect, test } from '@jest/globals';
import { describeError } from './logger.ts';

const coded = (code: string, message: string): Error => Object.assign(new Error(message), { code });

test.each<[string, unknown, string]>([
  ['the message of an error', new Error('it broke'), 'it broke'],
  ['the name of one without a message', new TypeError(), 'TypeError'],
  ['what is no error', 'thrown', 'thrown'],
  ['a code once', coded('ENOENT', 'ENOENT: no such file'), 'ENOENT: no such file'],
  ['a code that the message lacks', coded('ERR_SQLITE_ERROR', 'disk full'), 'ERR_SQLITE_ERROR: disk full'],
  [
    'the chain of causes',
    new Error('cannot start', { cause: new Error('cannot read', { cause: coded('EIO', 'bad disk') }) }),
    'cannot start (cannot read (EIO: bad disk))',
  ],
])('one line tells %s', (_what, error, line) => {
  expect(describeError(error)).toBe(line);
});
