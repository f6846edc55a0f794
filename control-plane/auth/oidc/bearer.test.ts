// Bearer tokens of a real provider, over a real socket. The table has the attacks of docs/guide/sign-in.md.
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { exportJWK, exportSPKI, SignJWT, UnsecuredJWT } from 'jose';
import { CLIENT_ID, createKey } from '../../../testing/sign-in/identity-provider.ts';
import { startSignInRig, type SignInRig } from '../../../testing/sign-in/sign-in-rig.ts';

const START = '2026-03-01T10:00:00.000Z';
const NOW = Date.parse(START) / 1000;

let rig: SignInRig;

beforeEach(async () => {
  rig = await startSignInRig({ start: START });
});
afterEach(async () => {
  jest.restoreAllMocks();
  await rig.close();
});

/** Claims of undefined are left out. */
type Claims = Record<string, unknown>;

const claimsOf = (changes: Claims = {}): Claims => ({
  ...{ iss: rig.provider.url, aud: CLIENT_ID, sub: 'alice', name: 'Alice', groups: ['sre'] },
  ...{ iat: NOW, exp: NOW + 300 },
  ...changes,
});

async function me(token: string): Promise<{ status: number; body: unknown; headers: Headers }> {
  const response = await fetch(`${rig.url}/me`, { headers: { authorization: `Bearer ${token}` } });
  return { status: response.status, body: await response.json(), headers: response.headers };
}

const signed = (changes?: Claims, header?: object): Promise<string> =>
  rig.provider.sign(claimsOf(changes), { header: header ?? {} });

describe('a valid token', () => {
  test('identifies its subject, with a prefix before name and groups', async () => {
    expect(await me(await signed())).toMatchObject({
      status: 200,
      body: {
        method: 'oidc',
        iss: rig.provider.url,
        sub: 'alice',
        name: 'Alice',
        user: 'oidc:alice',
        groups: ['oidc:sre'],
        overage: false,
      },
    });
  });

  test.each<['PS256' | 'ES256' | 'EdDSA']>([['PS256'], ['ES256'], ['EdDSA']])(
    'may be signed with %s',
    async (alg) => {
      const key = await createKey('other', alg);
      rig.provider.keys = [...rig.provider.keys, key];
      await rig.provider.restart();
      expect(await me(await rig.provider.sign(claimsOf(), { key }))).toMatchObject({ status: 200 });
    },
  );

  test.each<[string, () => Claims]>([
    ['that expired 29 seconds ago', () => ({ exp: NOW - 29 })],
    ['that is valid in 29 seconds', () => ({ nbf: NOW + 29 })],
    ['for several audiences', () => ({ aud: ['other', CLIENT_ID] })],
  ])('may be one %s', async (_title, changes) => {
    expect(await me(await signed(changes()))).toMatchObject({ status: 200 });
  });

  test('is compared with OIDC_AUDIENCES instead of the client id', async () => {
    rig.restart({ OIDC_AUDIENCES: 'api://fleet, second' });
    expect(await me(await signed({ aud: 'second' }))).toMatchObject({ status: 200 });
    expect(await me(await signed())).toMatchObject({ status: 401 });
  });
});

const REJECTED = (why: string) => `the token was rejected: ${why}`;
const NOT_ALLOWED = REJECTED('"alg" (Algorithm) Header Parameter value not allowed');
const WRONG_SIGNATURE = REJECTED('signature verification failed');

describe('an attack', () => {
  test.each<[string, () => Promise<string>, string]>([
    ['algorithm none', () => Promise.resolve(new UnsecuredJWT(claimsOf()).encode()), NOT_ALLOWED],
    [
      'HS256 with the public key as secret',
      async () =>
        new SignJWT(claimsOf())
          .setProtectedHeader({ alg: 'HS256', kid: 'first' })
          .sign(new TextEncoder().encode(await exportSPKI(rig.provider.keys[0]!.publicKey))),
      NOT_ALLOWED,
    ],
    ['another audience', () => signed({ aud: 'other' }), REJECTED('unexpected "aud" claim value')],
    ['no audience', () => signed({ aud: undefined }), REJECTED('missing required "aud" claim')],
    [
      'expired by 31 seconds',
      () => signed({ exp: NOW - 31 }),
      REJECTED('"exp" claim timestamp check failed'),
    ],
    ['valid in 60 seconds', () => signed({ nbf: NOW + 60 }), REJECTED('"nbf" claim timestamp check failed')],
    ['no subject', () => signed({ sub: undefined }), REJECTED('missing required "sub" claim')],
    ['no expiry', () => signed({ exp: undefined }), REJECTED('missing required "exp" claim')],
    ['no time of issue', () => signed({ iat: undefined }), REJECTED('missing required "iat" claim')],
    [
      'a foreign key with the same id',
      async () => rig.provider.sign(claimsOf(), { key: await createKey('first') }),
      WRONG_SIGNATURE,
    ],
    [
      'a foreign key in the header jwk',
      async () => {
        const key = await createKey('first');
        const jwk = await exportJWK(key.publicKey);
        return rig.provider.sign(claimsOf(), { key, header: { jwk } });
      },
      WRONG_SIGNATURE,
    ],
    [
      'the address of foreign keys in the header jku',
      async () =>
        rig.provider.sign(claimsOf(), {
          key: await createKey('first'),
          header: { jku: `${rig.url}/keys-of-the-attacker` },
        }),
      WRONG_SIGNATURE,
    ],
    [
      'an unknown key',
      async () => rig.provider.sign(claimsOf(), { key: await createKey('unknown') }),
      REJECTED('no applicable key found in the JSON Web Key Set'),
    ],
    [
      'changed claims',
      async () => {
        const [head, , signature] = (await signed()).split('.');
        const body = Buffer.from(JSON.stringify(claimsOf({ sub: 'mallory' }))).toString('base64url');
        return `${head}.${body}.${signature}`;
      },
      WRONG_SIGNATURE,
    ],
    [
      'an unknown critical header',
      async () => {
        const token = await signed();
        const [, body, signature] = token.split('.');
        const head = Buffer.from('{"alg":"RS256","kid":"first","crit":["x"],"x":1}').toString('base64url');
        return `${head}.${body}.${signature}`;
      },
      REJECTED('Extension Header Parameter "x" is not recognized'),
    ],
  ])('with %s is rejected with 401', async (_title, tokenOf, detail) => {
    const { status, body, headers } = await me(await tokenOf());
    expect({ status, body }).toMatchObject({ status: 401, body: { detail } });
    expect(headers.get('www-authenticate')).toBe('Bearer error="invalid_token"');
    expect(rig.provider.requests).not.toContain('/keys-of-the-attacker');
    // The same token without the attack is accepted.
    expect(await me(await signed())).toMatchObject({ status: 200 });
  });

  test.each<[string, (url: string) => Claims]>([
    ['of another issuer', () => ({ iss: 'https://evil.example' })],
    ['of the issuer with a slash', (url) => ({ iss: `${url}/` })],
    ['without issuer', () => ({ iss: undefined })],
  ])(
    'with a token %s is left to the other credentials, without a request to the provider',
    async (_title, changes) => {
      expect(await me(await signed(changes(rig.provider.url)))).toMatchObject({
        status: 401,
        body: { detail: 'no credential' },
      });
      expect(rig.provider.requests).toEqual([]);
    },
  );

  test.each(['x', 'a.b.c', `${'x'.repeat(8_000)}`, 'eyJhbGciOiJSUzI1NiJ9..'])(
    'with a text other than a token is left to the other credentials: %#',
    async (token) => {
      expect(await me(token)).toMatchObject({ status: 401, body: { detail: 'no credential' } });
    },
  );

  test.each<[string, Claims, string]>([
    [
      'system:masters as name',
      { sub: 'system:masters' },
      'the claim "sub" of the token begins with system:, which is reserved',
    ],
    [
      'an empty name',
      { sub: '' },
      'the token has no text of 1 to 512 characters in the claim "sub", which identifies a person',
    ],
    [
      'a name of 513 characters',
      { sub: 'x'.repeat(513) },
      'the token has no text of 1 to 512 characters in the claim "sub", which identifies a person',
    ],
  ])('with %s is rejected with 403', async (_title, changes, detail) => {
    expect(await me(await signed(changes))).toMatchObject({ status: 403, body: { detail } });
  });

  test('with a group of the API server gets the other groups only', async () => {
    const groups = ['system:masters', 'sre', 7, '', 'system:', 'System:masters'];
    expect(await me(await signed({ groups }))).toMatchObject({
      status: 200,
      body: { groups: ['oidc:sre', 'oidc:System:masters'] },
    });
  });
});

describe('the username claim', () => {
  const email = { email: 'a@example.com' };

  test('names a person for the API server; issuer and subject identify it', async () => {
    rig.restart({ OIDC_USERNAME_CLAIM: 'email', OIDC_PREFIX: 'corp/' });
    const people = await Promise.all(
      ['alice', 'bob'].map(async (sub) => me(await signed({ sub, ...email }))),
    );
    expect(people.map(({ body }) => body)).toMatchObject([
      { sub: 'alice', user: 'corp/a@example.com' },
      { sub: 'bob', user: 'corp/a@example.com' },
    ]);
  });

  test.each<[string, number, Claims]>([
    ['is absent', 403, {}],
    ['is not a text', 403, { email: ['a@example.com'] }],
    ['is an address that is not verified', 403, { ...email, email_verified: false }],
    ['is a verified address', 200, { ...email, email_verified: true }],
  ])('that %s gets %i', async (_title, status, changes) => {
    rig.restart({ OIDC_USERNAME_CLAIM: 'email' });
    expect((await me(await signed(changes))).status).toBe(status);
  });
});

test.each<[string, Claims, string[], boolean]>([
  ['one group as a text', { groups: 'sre' }, ['oidc:sre'], false],
  ['no groups', { groups: undefined }, [], false],
  ['too many groups for one token', { groups: undefined, _claim_names: { groups: 'src1' } }, [], true],
  ['too many groups, in an implicit flow', { groups: undefined, hasgroups: true }, [], true],
])('a token with %s has the groups', async (_title, changes, groups, overage) => {
  expect(await me(await signed(changes))).toMatchObject({ status: 200, body: { groups, overage } });
});

describe('the keys of the provider', () => {
  const passed = (ms: number): void => {
    const now = Date.now() + ms;
    jest.spyOn(Date, 'now').mockImplementation(() => now);
  };
  const keyRequests = () => rig.provider.requests.filter((path) => path === '/jwks').length;

  test('rotate without an outage; unknown ids cause one request in 30 seconds', async () => {
    const [first] = rig.provider.keys;
    expect(await me(await signed())).toMatchObject({ status: 200 });
    const second = await createKey('second');
    rig.provider.keys = [second, first!];
    await rig.provider.restart();
    const tokens = await Promise.all(Array.from({ length: 200 }, () => signed()));
    const early = await Promise.all(tokens.map(me));
    expect(new Set(early.map(({ status }) => status))).toEqual(new Set([401]));
    expect(keyRequests()).toBe(1);
    passed(31_000);
    expect(await me(await signed())).toMatchObject({ status: 200 });
    expect(await me(await rig.provider.sign(claimsOf(), { key: first! }))).toMatchObject({ status: 200 });
    expect(keyRequests()).toBe(2);
  });

  test('work for an hour without the provider; then, and for an unknown key, the response is 503', async () => {
    expect(await me(await signed())).toMatchObject({ status: 200 });
    rig.provider.intercept = (request, response) => {
      if (request.url !== '/jwks') return false;
      response.writeHead(500).end();
      return true;
    };
    passed(40 * 60_000);
    expect(await me(await signed())).toMatchObject({ status: 200 });
    const unknown = await rig.provider.sign(claimsOf(), { key: await createKey('unknown') });
    const unavailable = {
      status: 503,
      body: { detail: 'the identity provider is unavailable; try again, or use the admin key' },
    };
    expect(await me(unknown)).toMatchObject(unavailable);
    jest.restoreAllMocks();
    passed(61 * 60_000);
    const late = await me(await signed());
    expect(late).toMatchObject(unavailable);
    expect(late.headers.get('retry-after')).toBe('5');
    // One line for the outage, not one for each request.
    expect(rig.log.filter(([level]) => level === 'error')).toEqual([
      ['error', 'identity provider requests failing', { error: expect.stringContaining('Expected 200 OK') }],
    ]);
  });
});

describe('without the provider at the start', () => {
  test('a token gets 503 until the provider is back, with one attempt in five seconds', async () => {
    rig.provider.intercept = (_request, response) => {
      response.writeHead(502).end();
      return true;
    };
    for (let count = 0; count < 3; count += 1)
      expect(await me(await signed())).toMatchObject({ status: 503 });
    expect(rig.provider.requests).toHaveLength(1);
    rig.provider.intercept = () => false;
    expect(await me(await signed())).toMatchObject({ status: 503 });
    rig.clock.advance(5_000);
    const token = await rig.provider.sign(claimsOf());
    expect(await me(token)).toMatchObject({ status: 200 });
  });

  test('a provider that calls itself otherwise than OIDC_ISSUER is logged with its name', async () => {
    rig.restart({ OIDC_ISSUER: `${rig.provider.url}/` });
    expect(await me(await signed({ iss: `${rig.provider.url}/` }))).toMatchObject({ status: 503 });
    expect(rig.log).toContainEqual([
      'error',
      'identity provider requests failing',
      { error: `OIDC_ISSUER is not ${rig.provider.url}, the issuer in the tokens` },
    ]);
  });
});
