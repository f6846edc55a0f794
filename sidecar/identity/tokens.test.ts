import { createHash, createPublicKey } from 'node:crypto';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { exportSPKI, importJWK, SignJWT, UnsecuredJWT, type CryptoKey } from 'jose';
import type { Identity, IdentityReason } from '../../core/shapes/identity.ts';
import { recordingLogger, type LogEntry } from '../../testing/sidecar/recording-logger.ts';
import {
  AUDIENCE,
  ISSUER,
  issuerKey,
  TokenIssuer,
  type IssuerKey,
} from '../../testing/sign-in/token-issuer.ts';
import { ManualClock } from '../../testing/time/manual-clock.ts';
import { until } from '../../testing/time/until.ts';
import { Tokens, type TokensOptions } from './tokens.ts';

let keys: IssuerKey[];
let stranger: IssuerKey;
let issuer: TokenIssuer;
let clock: ManualClock;
let log: LogEntry[];
let tokens: Tokens;
let known: Identity[];

beforeAll(async () => {
  keys = await Promise.all(
    (['ES256', 'RS256', 'RS384', 'RS512', 'PS256', 'ES384', 'EdDSA'] as const).map((alg) =>
      issuerKey(`key-${alg}`, alg),
    ),
  );
  stranger = await issuerKey('key-ES256');
});
beforeEach(async () => {
  issuer = new TokenIssuer(keys);
  await issuer.open();
  clock = new ManualClock(new Date().toISOString());
  log = [];
  known = [];
  tokens = tokensWith();
});
afterEach(async () => {
  await issuer.close();
});

function tokensWith(auth: Partial<TokensOptions['auth']> = {}): Tokens {
  return new Tokens({
    auth: {
      ...{ jwksUri: issuer.url, issuer: ISSUER, audience: AUDIENCE, claim: 'sub', header: 'authorization' },
      ...auth,
    },
    ...{ clock, logger: recordingLogger(log), guard: () => null, recorded: (user) => user },
    onKnown: (identity) => known.push(identity),
  });
}

const bearer = (token: string): string[] => ['Authorization', `Bearer ${token}`];
const seconds = (): number => Math.floor(clock.now().getTime() / 1000);

/** The identity after its verification. */
async function identityOf(token: string): Promise<Identity | null> {
  const identity = tokens.identify(bearer(token));
  await until(() => identity?.reason !== 'pending', 'the verification');
  return identity;
}

const none = (reason: IdentityReason): Identity => ({ source: 'none', reason });
const sessionOf = (id: string): string => `s-${createHash('sha256').update(id).digest('hex').slice(0, 16)}`;

test.each(['RS256', 'RS384', 'RS512', 'PS256', 'ES256', 'ES384', 'EdDSA'])(
  'a token signed with %s names the person',
  async (alg) => {
    const key = keys.find((each) => each.alg === alg);
    expect(await identityOf(await issuer.sign(clock.now(), {}, key))).toEqual({
      source: 'jwt',
      user: 'alice',
    });
  },
);

test.each<[string, Record<string, unknown>, Partial<Identity>]>([
  ['one of several audiences', { aud: ['other', AUDIENCE] }, {}],
  ['an expiry within the tolerance of 30 s', { exp: Math.floor(Date.now() / 1000) - 20 }, {}],
  ['the id of the token', { jti: 'id-1', sid: 'session-1' }, { session: sessionOf('id-1') }],
  ['the id of the session', { sid: 'session-1' }, { session: sessionOf('session-1') }],
  ['ids that are not texts', { jti: 7, sid: '' }, {}],
  ['blanks around the name', { sub: ' zoë müller ' }, { user: 'zoë müller' }],
])('a token with %s is valid', async (_what, claims, expected) => {
  const identity = await identityOf(await issuer.sign(clock.now(), claims));
  expect(identity).toEqual({ source: 'jwt', user: 'alice', ...expected });
});

const after = (s: number): number => Math.floor(Date.now() / 1000) + s;
test.each<[string, Record<string, unknown>, IdentityReason]>([
  ['another audience', { aud: 'other' }, 'invalid-token'],
  ['no audience', { aud: undefined }, 'invalid-token'],
  ['an audience that contains the declared one', { aud: `${AUDIENCE}-2` }, 'invalid-token'],
  ['another issuer', { iss: 'https://login.example.org/' }, 'invalid-token'],
  ['an issuer without the slash at its end', { iss: ISSUER.slice(0, -1) }, 'invalid-token'],
  ['no issuer', { iss: undefined }, 'invalid-token'],
  ['an expiry in the past', { exp: after(-60) }, 'expired-token'],
  ['no expiry', { exp: undefined }, 'invalid-token'],
  ['an expiry as text', { exp: '9999999999' }, 'invalid-token'],
  ['a begin in the future', { nbf: after(120) }, 'invalid-token'],
  ['no subject', { sub: undefined }, 'invalid-token'],
  ['an empty subject', { sub: ' ' }, 'no-claim'],
  ['a subject with a line feed', { sub: 'alice\n{"user":"root"}' }, 'no-claim'],
  ['a subject that changes the direction of text', { sub: 'alice\u202eecila' }, 'no-claim'],
  ['half a surrogate pair', { sub: 'alice\ud800' }, 'no-claim'],
  ['a long subject', { sub: 'a'.repeat(257) }, 'no-claim'],
])('a token with %s identifies no person', async (_what, claims, reason) => {
  expect(await identityOf(await issuer.sign(clock.now(), claims))).toEqual(none(reason));
});

describe('a token that the issuer did not sign', () => {
  const claims = () => ({ iss: ISSUER, aud: AUDIENCE, sub: 'alice', exp: seconds() + 300 });

  test('with the algorithm none identifies no person', async () => {
    expect(await identityOf(`${new UnsecuredJWT(claims()).encode()}c2ln`)).toEqual(none('invalid-token'));
    expect(await identityOf(new UnsecuredJWT(claims()).encode())).toEqual(none('invalid-token'));
  });

  test('with HS256 and the public key as its secret identifies no person', async () => {
    const key = keys.find(({ alg }) => alg === 'RS256')!;
    const publicKey = (await importJWK({ ...key.jwk, ext: true }, 'RS256', {
      extractable: true,
    })) as CryptoKey;
    const pem = await exportSPKI(publicKey);
    expect(createPublicKey(pem).asymmetricKeyType).toBe('rsa');
    const token = await new SignJWT(claims())
      .setProtectedHeader({ alg: 'HS256', kid: key.kid })
      .sign(new TextEncoder().encode(pem));
    expect(await identityOf(token)).toEqual(none('invalid-token'));
  });

  test('with the id of a known key identifies no person', async () => {
    expect(await identityOf(await issuer.sign(clock.now(), {}, stranger))).toEqual(none('invalid-token'));
  });

  test('with a key in its own header identifies no person', async () => {
    const token = await new SignJWT(claims())
      .setProtectedHeader({ alg: 'ES256', jwk: stranger.jwk, jku: issuer.url })
      .sign(stranger.privateKey);
    expect(await identityOf(token)).toEqual(none('invalid-token'));
  });

  test('with changed claims identifies no person', async () => {
    const [head, , signature] = (await issuer.sign(clock.now())).split('.');
    const body = Buffer.from(JSON.stringify({ ...claims(), sub: 'root' })).toString('base64url');
    expect(await identityOf(`${head}.${body}.${signature}`)).toEqual(none('invalid-token'));
  });
});

describe('without a verification', () => {
  test.each<[string, string[], Identity | null]>([
    ['no header', ['X-Other', 'a.b.c'], null],
    ['another scheme', ['Authorization', 'Basic YTpi'], null],
    ['a key that is not a token', ['Authorization', 'Bearer sk-1'], none('invalid-token')],
    ['an encrypted token', ['Authorization', 'Bearer a.b.c.d.e'], none('invalid-token')],
    ['two tokens', ['Authorization', 'Bearer a.b.c', 'authorization', 'Bearer a.b.c'], none('invalid-token')],
    ['a long token', ['Authorization', `Bearer a.${'b'.repeat(8192)}.c`], none('invalid-token')],
  ])('%s', (_what, headers, expected) => {
    expect(tokens.identify(headers)).toEqual(expected);
    expect(issuer.requests).toBe(0);
  });
});

test('the declared claim and header are used', async () => {
  tokens = tokensWith({ claim: 'email', header: 'x-token' });
  const token = await issuer.sign(clock.now(), { email: 'alice@example.com' });
  const bare = tokens.identify(['X-Token', token]);
  await until(() => bare?.reason !== 'pending');
  expect(bare).toEqual({ source: 'jwt', user: 'alice@example.com' });
  expect(tokens.identify(['x-token', `bearer ${token}`])).toBe(bare);
  expect(tokens.identify(bearer(token))).toBeNull();
  const without = tokens.identify(['X-Token', await issuer.sign(clock.now())]);
  await until(() => without?.reason !== 'pending');
  expect(without).toEqual(none('no-claim'));
});

describe('the results', () => {
  test('are remembered until the token expires, and no longer', async () => {
    const token = await issuer.sign(clock.now());
    const first = tokens.identify(bearer(token));
    expect(first).toEqual(none('pending'));
    expect(tokens.identify(bearer(token))).toBe(first);
    await until(() => known.length === 1, 'the verification');
    clock.advance(299_000);
    expect(tokens.identify(bearer(token))).toBe(first);
    clock.advance(40_000);
    expect(await identityOf(token)).toEqual(none('expired-token'));
    // The record of an earlier request does not change.
    expect(first).toEqual({ source: 'jwt', user: 'alice' });
  });

  test('of rejected tokens are remembered for 30 s', async () => {
    const token = await issuer.sign(clock.now(), { nbf: seconds() + 60 });
    const first = await identityOf(token);
    clock.advance(29_000);
    expect(tokens.identify(bearer(token))).toBe(first);
    clock.advance(5_000);
    expect(await identityOf(token)).toEqual({ source: 'jwt', user: 'alice' });
  });

  test('are those of at most 50 verifications in a second', async () => {
    const many = await Promise.all(
      Array.from({ length: 51 }, (_, jti) => issuer.sign(clock.now(), { jti: `${jti}` })),
    );
    const identities = many.map((token) => tokens.identify(bearer(token)));
    expect(identities.slice(0, 50)).toEqual(Array.from({ length: 50 }, () => none('pending')));
    expect(identities[50]).toEqual(none('busy'));
    await until(() => known.length === 50, 'the verifications');
    expect(identities[49]).toEqual({ source: 'jwt', user: 'alice', session: sessionOf('49') });
    // A known token needs no verification.
    expect(tokens.identify(bearer(many[0]!))).toBe(identities[0]);
    clock.advance(1_000);
    expect(await identityOf(many[50]!)).toMatchObject({ user: 'alice' });
  });
});

describe('the keys', () => {
  test('are requested once for many tokens, and again after ten minutes', async () => {
    await Promise.all(
      [1, 2, 3].map(async (id) => identityOf(await issuer.sign(clock.now(), { jti: `${id}` }))),
    );
    expect(issuer.requests).toBe(1);
    clock.advance(601_000);
    expect(await identityOf(await issuer.sign(clock.now()))).toMatchObject({ source: 'jwt' });
    expect(issuer.requests).toBe(2);
  });

  test('are requested again for an unknown key, but not in the cooldown of 30 s', async () => {
    const next = await issuerKey('key-2');
    expect(await identityOf(await issuer.sign(clock.now()))).toMatchObject({ source: 'jwt' });
    expect(await identityOf(await issuer.sign(clock.now(), {}, next))).toEqual(none('invalid-token'));
    expect(issuer.requests).toBe(1);
    issuer.keys = [...keys, next];
    clock.advance(31_000);
    expect(await identityOf(await issuer.sign(clock.now(), {}, next))).toEqual({
      source: 'jwt',
      user: 'alice',
    });
    expect(issuer.requests).toBe(2);
  });

  test.each<[string, (issuer: TokenIssuer) => void, string]>([
    ['a status', (of) => (of.respond = (_, response) => response.writeHead(503).end()), 'status 503'],
    [
      'a redirect, which is not followed',
      (of) => (of.respond = (_, response) => response.writeHead(302, { location: of.url }).end()),
      'status 302',
    ],
    ['HTML', (of) => (of.respond = (_, response) => response.end('<html></html>')), 'not a JSON Web Key Set'],
    ['another JSON', (of) => (of.respond = (_, response) => response.end('[]')), 'not a JSON Web Key Set'],
    [
      'an endless body',
      (of) => {
        of.respond = (_, response) => {
          const more = (): void =>
            void (response.destroyed || (response.write('x'.repeat(65_536)), setImmediate(more)));
          more();
        };
      },
      'incomplete, or more than 262144 bytes',
    ],
    ['a closed connection', (of) => (of.respond = (request) => request.socket.destroy()), 'closed'],
  ])(
    'are unreachable behind %s, logged once, and requested again after 5 s',
    async (_what, breakIt, problem) => {
      breakIt(issuer);
      expect(await identityOf(await issuer.sign(clock.now(), { jti: '1' }))).toEqual(
        none('jwks-unreachable'),
      );
      expect(await identityOf(await issuer.sign(clock.now(), { jti: '2' }))).toEqual(
        none('jwks-unreachable'),
      );
      expect(issuer.requests).toBe(1);
      clock.advance(5_000);
      expect(await identityOf(await issuer.sign(clock.now(), { jti: '1' }))).toEqual(
        none('jwks-unreachable'),
      );
      expect(issuer.requests).toBe(2);
      const { host } = new URL(issuer.url);
      expect(log).toEqual([
        ['warn', 'identity keys unavailable', { host, problem: expect.stringContaining(problem) }],
      ]);
      issuer.respond = null;
      clock.advance(5_000);
      expect(await identityOf(await issuer.sign(clock.now(), { jti: '1' }))).toMatchObject({ user: 'alice' });
      expect(log.slice(1)).toEqual([['info', 'identity keys available again', { host }]]);
    },
  );

  test('are unreachable while no server listens', async () => {
    const token = await issuer.sign(clock.now());
    await issuer.close();
    expect(await identityOf(token)).toEqual(none('jwks-unreachable'));
  });

  test('are unreachable at an address that is not a URL, although the manifest is valid', async () => {
    tokens = tokensWith({ jwksUri: 'https://login.example.com:99999/jwks' });
    expect(await identityOf(await issuer.sign(clock.now()))).toEqual(none('jwks-unreachable'));
    const fields = { host: null, problem: 'not a URL' };
    expect(log).toEqual([['warn', 'identity keys unavailable', fields]]);
  });

  test('of another kind than the token names are not used', async () => {
    const [first] = keys;
    issuer.respond = (_, response) =>
      response.end(
        JSON.stringify({
          keys: [
            { ...first!.jwk, x: 'AA', y: 'AA' },
            { kty: 'oct', k: 'AA' },
          ],
        }),
      );
    expect(await identityOf(await issuer.sign(clock.now()))).toEqual(none('jwks-unreachable'));
  });
});
