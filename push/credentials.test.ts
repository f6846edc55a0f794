import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { isRenewalDue, readTokenFile } from './credentials.ts';

const now = new Date('2026-03-01T00:00:00Z');
const jwt = (claims: unknown): string => `h.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.s`;

describe('a renewal is due', () => {
  const later = (seconds: number) => new Date(now.getTime() + seconds * 1_000);
  const issued = now.getTime() / 1_000;
  const key = jwt({ iat: issued, exp: issued + 300 });
  test.each<[string, string, Date, boolean]>([
    ['not before two thirds of the lifetime', key, later(199.999), false],
    ['after two thirds', key, later(200), true],
    ['before the end', key, later(299.999), true],
    ['not after the end', key, later(300), false],
    ['not at the beginning, which is now without iat', jwt({ exp: issued + 300 }), later(299), false],
    ['never without exp', jwt({ iat: issued }), later(1e9), false],
    ['never with an invalid exp', jwt({ iat: issued, exp: 'never' }), later(1e9), false],
    ['never for a plain key', 'secret-key', later(1e9), false],
    ['never for three parts that are not a JWT', 'a.b.c', later(1e9), false],
  ])('%s', (_name, token, at, due) => {
    expect(isRenewalDue(token, at)).toBe(due);
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
