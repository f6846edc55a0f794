import { describe, expect, test } from '@jest/globals';
import { Problem } from '../../runtime/problem.ts';
import { errorOf } from './api-error.ts';

const problem = (status: number, detail: string, extra: Record<string, unknown> = {}) =>
  errorOf(status, JSON.stringify(new Problem(status, detail, { extra }).toBody()));

describe('an error', () => {
  test.each([
    [400, 'invalid'],
    [401, 'no-key'],
    [403, 'wrong-key'],
    [404, 'not-found'],
    [409, 'conflict'],
    [413, 'invalid'],
    [429, 'too-many'],
    [500, 'server'],
    [501, 'not-supported'],
    [503, 'server'],
  ])('with status %i is %s', (status, kind) => {
    expect(problem(status, 'the reason')).toMatchObject({ kind, detail: 'the reason', errors: [] });
  });

  test('lists the invalid fields', () => {
    const errors = [{ path: 'limit', message: 'is not an integer' }];
    expect(problem(400, 'not valid', { errors: [...errors, 'other', { path: 1 }] }).errors).toEqual(errors);
  });

  test.each(['<html>Bad Gateway</html>', '', '"text"', 'null'])('of a proxy has the status: %j', (body) => {
    expect(errorOf(502, body)).toMatchObject({ kind: 'server', detail: 'the server returned status 502' });
  });
});
