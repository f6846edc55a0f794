import { createHash, hkdfSync } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader, SignJWT, UnsecuredJWT } from 'jose';
import { Secret } from '../../runtime/secret.ts';
import { createRegistrationTokens, signingKeysOf } from './registration-token.ts';

const AT = new Date('2026-03-01T10:00:00.400Z');
const SUBJECT = { agentId: 'agt_1', agentName: 'shop' };
const key = new TextEncoder().encode('k'.repeat(32));
const tokens = createRegistrationTokens(() => Promise.resolve([key]));

test('issues an HS256 JWT for 30 days with the agent name, and returns the hash of its jti', async () => {
  const { apiKey, expiresAt, hash } = await tokens.issue(SUBJECT, AT);
  const claims = decodeJwt(apiKey);
  expect(decodeProtectedHeader(apiKey)).toEqual({ alg: 'HS256', typ: 'JWT' });
  expect(claims).toEqual({
    iss: 'agent-compliance',
    aud: 'platform.io',
    sub: 'agt_1',
    agent: 'shop',
    jti: expect.stringMatching(/^[0-9a-f-]{36}$/),
    iat: 1772359200,
    exp: 1772359200 + 30 * 24 * 3600,
  });
  expect(expiresAt).toBe('2026-03-31T10:00:00.000Z');
  expect(hash).toBe(createHash('sha256').update(claims.jti!).digest('base64url'));
  expect(await tokens.verify(apiKey, AT)).toEqual({ ...SUBJECT, family: claims.jti, hash, expiresAt });
});

test('renewals of one day return the same key for every key of the family', async () => {
  const { apiKey } = await tokens.issue(SUBJECT, AT);
  const first = (await tokens.verify(apiKey, AT))!;
  const renewed = await tokens.renew(first, AT);
  const second = (await tokens.verify(renewed.apiKey, AT))!;
  expect(second).toEqual({ ...first, hash: renewed.hash, expiresAt: '2026-04-01T00:00:00.000Z' });
  const evening = new Date('2026-03-01T23:59:59Z');
  expect((await tokens.renew(second, evening)).hash).toBe(renewed.hash);
  expect((await tokens.renew(second, new Date('2026-03-02T00:00:00Z'))).hash).not.toBe(renewed.hash);
  const other = (await tokens.verify((await tokens.issue(SUBJECT, AT)).apiKey, AT))!;
  expect((await tokens.renew(other, AT)).hash).not.toBe(renewed.hash);
});

test('two keys issued at the same time differ', async () => {
  const [a, b] = await Promise.all([tokens.issue(SUBJECT, AT), tokens.issue(SUBJECT, AT)]);
  expect(a.hash).not.toBe(b.hash);
});

test.each([
  [29, true],
  [31, false],
])('after %i days a key is valid: %s', async (days, valid) => {
  const { apiKey } = await tokens.issue(SUBJECT, AT);
  const verified = await tokens.verify(apiKey, new Date(AT.getTime() + days * 86_400_000));
  expect(verified !== null).toBe(valid);
});

const claims = { iss: 'agent-compliance', aud: 'platform.io', sub: 'agt_1', agent: 'shop', jti: 'j' };
const signed = (payload: Record<string, unknown>, alg = 'HS256', secret = key) =>
  new SignJWT(payload).setProtectedHeader({ alg }).sign(secret);
const exp = Math.floor(AT.getTime() / 1000) + 60;

test.each<[string, () => Promise<string> | string]>([
  ['no JWT structure', () => 'garbage'],
  ['three invalid parts', () => 'a.b.c'],
  ['the algorithm none', () => new UnsecuredJWT({ ...claims, exp }).encode()],
  ['another secret', () => signed({ ...claims, exp }, 'HS256', new TextEncoder().encode('x'.repeat(32)))],
  ['another HMAC', () => signed({ ...claims, exp }, 'HS512', new TextEncoder().encode('k'.repeat(64)))],
  ['another issuer', () => signed({ ...claims, iss: 'other', exp })],
  ['another audience', () => signed({ ...claims, aud: 'other', exp })],
  ['no expiry', () => signed(claims)],
  ['no id', () => signed({ ...claims, jti: undefined, exp })],
  ['no subject', () => signed({ ...claims, sub: undefined, exp })],
  ['no agent', () => signed({ ...claims, agent: undefined, exp })],
  ['an invalid agent name', () => signed({ ...claims, agent: '../x', exp })],
  ['a family of another type', () => signed({ ...claims, family: 7, exp })],
  ['an agent of another type', () => signed({ ...claims, agent: 7, exp })],
])('a token with %s is not valid', async (_, make) => {
  expect(await tokens.verify(await make(), AT)).toBeNull();
});

test('a verified token is verified only once, and is not valid after its expiry', async () => {
  let reads = 0;
  const counted = createRegistrationTokens(() => {
    reads += 1;
    return Promise.resolve([key]);
  });
  const token = await signed({ ...claims, exp });
  const first = await counted.verify(token, AT);
  expect(await counted.verify(token, AT)).toEqual(first);
  expect(reads).toBe(1);
  expect(await counted.verify(token, new Date(exp * 1000 - 1))).toEqual(first);
  expect(await counted.verify(token, new Date(exp * 1000))).toBeNull();
  expect(await counted.verify(`${token.slice(0, -5)}AAAAA`, AT)).toBeNull();
});

test('a token with all claims correct is valid', async () => {
  expect(await tokens.verify(await signed({ ...claims, exp }), AT)).toMatchObject(SUBJECT);
});

test('the signing key is JWT_SECRET, else derived from the admin key, else null', async () => {
  const admin = new Secret('an-admin-key-of-a-test');
  const own = new Secret('s'.repeat(32));
  expect(await signingKeysOf(own, admin)!()).toEqual([new TextEncoder().encode('s'.repeat(32))]);
  expect(signingKeysOf(null, null)).toBeNull();
  const [derived] = await signingKeysOf(null, admin)!();
  expect(derived).toHaveLength(32);
  expect(derived).toEqual((await signingKeysOf(null, new Secret('an-admin-key-of-a-test'))!())[0]);
  expect(derived).not.toEqual((await signingKeysOf(null, new Secret('an-admin-key-of-a-tesu'))!())[0]);
});

test('retries a failed key derivation with the next request, and caches a successful derivation', async () => {
  const results = [Promise.reject(new Error('no memory')), Promise.resolve(key)];
  let derivations = 0;
  const keys = signingKeysOf(
    null,
    new Secret('an-admin-key-that-fails-once'),
    () => results[derivations++]!,
  )!;
  await expect(keys()).rejects.toThrow('no memory');
  for (const _ of [1, 2]) expect((await keys())[0]).toBe(key);
  expect(derivations).toBe(2);
});

test('does not sign with the fast HKDF key of 0.1.0, but accepts tokens that 0.1.0 signed with it', async () => {
  const adminKey = 'an-admin-key-of-a-test';
  const former = new Uint8Array(hkdfSync('sha256', adminKey, '', 'agent-compliance registration token', 32));
  const current = createRegistrationTokens(signingKeysOf(null, new Secret(adminKey))!);
  const { apiKey } = await current.issue(SUBJECT, AT);
  expect(await createRegistrationTokens(() => Promise.resolve([former])).verify(apiKey, AT)).toBeNull();
  const old = await signed({ ...claims, exp }, 'HS256', former);
  expect(await current.verify(old, AT)).toMatchObject(SUBJECT);
  expect(await current.verify(old, new Date((exp + 1) * 1000))).toBeNull();
});
