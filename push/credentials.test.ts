import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { isRenewalDue, lifetimeOf, readTokenFile } from './credentials.ts';

const now = new Date('2026-03-01T00:00:00Z');
const jwt = (claims: unknown): string => `h.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.s`;

describe('the lifetime of a registration token', () => {
  test.each<[string, string, unknown]>([
    ['from iat to exp of a JWT', jwt({ iat: 100, exp: 400 }), { issuedAtMs: 100_000, expiresAtMs: 400_000 }],
    [
      'from now for a JWT without iat',
      jwt({ exp: 400 }),
      { issuedAtMs: now.getTime(), expiresAtMs: 400_000 },
    ],
    ['unknown for a JWT without exp', jwt({ iat: 100 }), null],
    ['unknown for a JWT with an invalid exp', jwt({ exp: 'never' }), null],
    ['unknown for a plain key', 'secret-key', null],
    ['unknown for three parts that are not a JWT', 'a.b.c', null],
  ])('is %s', (_name, key, lifetime) => {
    expect(lifetimeOf(key, now)).toEqual(lifetime);
  });

  test.each([
    [199_999, false],
    [200_000, true],
    [299_999, true],
    [300_000, false],
  ])('of 300 s makes a renewal due between two thirds and its end: at %i ms %p', (at, due) => {
    expect(isRenewalDue({ issuedAtMs: 0, expiresAtMs: 300_000 }, new Date(at))).toBe(due);
  });
});

describe('a token file', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'token-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  test('is read without the white space around the token', async () => {
    await writeFile(join(folder, 't'), 'abc\n');
    expect(await readTokenFile(join(folder, 't'))).toBe('abc');
  });

  test.each([
    ['empty', '\n', 'is empty'],
    ['huge', 'x'.repeat(20_000), 'does not contain a token'],
  ])(
    'that is %s is rejected with an error that does not show its content',
    async (_name, content, message) => {
      await writeFile(join(folder, 't'), content);
      await expect(readTokenFile(join(folder, 't'))).rejects.toThrow(
        new Error(`the token file ${join(folder, 't')} ${message}`),
      );
    },
  );
});
