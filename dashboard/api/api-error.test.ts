import { describe, expect, test } from '@jest/globals';
import { Problem } from '../../runtime/problem.ts';
import { errorOf } from './api-error.ts';

const problem = (status: number, detail: string, extra: Record<string, unknown> = {}) =>
  errorOf(status, JSON.stringify(new Problem(status, detail, { extra }).toBody()));

describe('an error', () => {
  test.each([
    [400, 'invalid'],
    [401, 'no-key'],
    [403, 'forbidden'],
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

  test.each([
    ['X-Admin-Key is wrong', 'wrong-key'],
    ['this key can only read', 'forbidden'],
    ['you may not create agentstops in namespace shop', 'forbidden'],
  ])('with status 403 and the detail %j is %s', (detail, kind) =>
    expect(problem(403, detail).kind).toBe(kind),
  );

  test('has the path of the sign-in, if there is one', () => {
    expect(problem(401, 'sign in', { signIn: '/auth/login' }).signIn).toBe('/auth/login');
    expect(problem(401, 'header X-Admin-Key is required').signIn).toBeNull();
    expect(problem(401, 'sign in', { signIn: 1 }).signIn).toBeNull();
  });

  test('lists the invalid fields', () => {
    const errors = [{ path: 'limit', message: 'is not an integer' }];
    expect(problem(400, 'not valid', { errors: [...errors, 'other', { path: 1 }] }).errors).toEqual(errors);
  });

  test.each(['<html>Bad Gateway</html>', '', '"text"', 'null'])('of a proxy has the status: %j', (body) => {
    expect(errorOf(502, body)).toMatchObject({ kind: 'server', detail: 'the server returned status 502' });
  });
});
