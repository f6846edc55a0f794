// The sign-in of the dashboard with a real provider: the routes, the cookies and the requests of a browser.
import { afterEach, describe, expect, test } from '@jest/globals';
import { EncryptJWT } from 'jose';
import { createKey } from '../../../testing/sign-in/identity-provider.ts';
import {
  CookieJar,
  startSignInRig,
  type SignInRig,
  type SignInRigOptions,
} from '../../../testing/sign-in/sign-in-rig.ts';

const LOGIN = '__Host-platform-login';
const SESSION = '__Host-platform-session';
const EXPIRED = 'sign-in expired or started in another browser; start again';
const AWAY = 'the identity provider is unavailable; try again, or use the admin key';
const TOO_MANY = 'your identity provider sent too many groups; ask for groups assigned to the application';
const HOUR_MS = 3_600_000;

let rig: SignInRig;

async function start(options?: SignInRigOptions): Promise<CookieJar> {
  rig = await startSignInRig(options);
  return new CookieJar();
}
afterEach(() => rig.close());

const ALICE = { sub: 'alice', name: 'Alice', groups: ['sre', 'system:masters'] };

/** The address of the callback, with the response of the provider, before it is opened. */
const callbackOf = async (jar: CookieJar, to = ''): Promise<URL> =>
  new URL((await jar.follow(`${rig.url}/auth/login${to}`, (next) => next.includes('/auth/callback'))).url);

const signIn = (jar: CookieJar, to = '') => jar.follow(`${rig.url}/auth/login${to}`);

async function me(jar: CookieJar, options: RequestInit = {}): Promise<{ status: number; body: unknown }> {
  const response = await jar.fetch(`${rig.url}/me`, options);
  return { status: response.status, body: await response.json() };
}

const detailOf = async (response: Response): Promise<{ status: number; detail: unknown }> => ({
  status: response.status,
  detail: ((await response.json()) as { detail: unknown }).detail,
});

describe('a sign-in', () => {
  test('ends on the dashboard with a session of one hour', async () => {
    const jar = await start();
    rig.provider.account = ALICE;
    const { url, response } = await signIn(jar);
    expect({ url, status: response.status }).toEqual({ url: `${rig.url}/`, status: 200 });
    const seconds = Math.floor(rig.clock.now().getTime() / 1000) + 3600;
    expect(await me(jar)).toEqual({
      status: 200,
      body: {
        method: 'session',
        iss: rig.provider.url,
        sub: 'alice',
        name: 'Alice',
        user: 'oidc:alice',
        groups: ['oidc:sre'],
        overage: false,
        until: new Date(seconds * 1000).toISOString(),
      },
    });
    expect(jar.get(rig.url, LOGIN)).toBeUndefined();
    expect(rig.log).toEqual([['info', 'signed in', { sub: 'alice', groups: 1 }]]);
  });

  test('sets cookies that no script, no other host and no other site gets', async () => {
    const jar = await start();
    const login = await jar.fetch(`${rig.url}/auth/login`);
    const callback = await jar.follow(login.headers.get('location') ?? '', (next) =>
      next.startsWith(rig.url),
    );
    const session = await jar.fetch(callback.url);
    const lines = [login, session].flatMap((response) => response.headers.getSetCookie());
    expect(lines.map((line) => line.replace(/=[^;]*/, '=').replace(/Expires=[^;]*/, 'Expires='))).toEqual([
      `${LOGIN}=; Max-Age=600; Path=/; Expires=; HttpOnly; Secure; SameSite=Lax`,
      `${LOGIN}=; Path=/; Expires=; HttpOnly; Secure; SameSite=Lax`,
      `${SESSION}=; Max-Age=3600; Path=/; Expires=; HttpOnly; Secure; SameSite=Strict`,
    ]);
    for (const response of [login, session]) expect(response.headers.get('cache-control')).toBe('no-store');
    // 369 bytes were measured for such a session.
    expect(jar.get(rig.url, SESSION)!.length).toBeLessThan(500);
  });

  test('asks with PKCE, state and nonce, for the configured scopes', async () => {
    const jar = await start({ env: { OIDC_SCOPES: 'openid profile' } });
    const response = await jar.fetch(`${rig.url}/auth/login`);
    const url = new URL(response.headers.get('location') ?? '');
    expect(Object.fromEntries(url.searchParams)).toEqual({
      client_id: 'dashboard',
      response_type: 'code',
      redirect_uri: `${rig.url}/auth/callback`,
      scope: 'openid profile',
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
    });
  });

  test('takes groups that are not in the ID token from the userinfo endpoint', async () => {
    const jar = await start({ hasThinTokens: true });
    rig.provider.account = ALICE;
    await signIn(jar);
    expect(await me(jar)).toMatchObject({ body: { name: 'Alice', groups: ['oidc:sre'] } });
    expect(rig.provider.requests.filter((path) => path === '/me')).toHaveLength(1);
  });

  test('with too many groups for a token has no groups, and says so', async () => {
    const jar = await start();
    rig.provider.account = { sub: 'alice', _claim_names: { groups: 'src1' } };
    await signIn(jar);
    expect(await me(jar)).toMatchObject({ status: 200, body: { groups: [], overage: true } });
    expect(rig.provider.requests.filter((path) => path === '/me')).toHaveLength(1);
  });

  test('without the userinfo endpoint has no groups', async () => {
    const jar = await start({ hasThinTokens: true });
    rig.provider.account = ALICE;
    rig.provider.intercept = (request, response) => {
      if (request.url !== '/me') return false;
      response.writeHead(500).end();
      return true;
    };
    await signIn(jar);
    expect(await me(jar)).toMatchObject({ status: 200, body: { groups: [], overage: false } });
    expect(rig.log).toContainEqual(['warn', 'userinfo request failed', expect.anything()]);
  });

  test.each<[string, Partial<SignInRigOptions>, string[]]>([
    ['all', {}, ['oidc:team-a', 'oidc:team-b', 'oidc:staff']],
    ['those of a pattern', { env: { OIDC_GROUPS_KEEP: 'team-*, other' } }, ['oidc:team-a', 'oidc:team-b']],
    ['those that a role names', { isNamed: (group) => group === 'oidc:staff' }, ['oidc:staff']],
    [
      'those of a pattern or a role',
      { env: { OIDC_GROUPS_KEEP: '*-b' }, isNamed: (group) => group === 'oidc:staff' },
      ['oidc:team-b', 'oidc:staff'],
    ],
  ])('keeps of the groups %s', async (_title, options, groups) => {
    const jar = await start(options);
    rig.provider.account = { sub: 'alice', groups: ['team-a', 'team-b', 'staff'] };
    await signIn(jar);
    expect(await me(jar)).toMatchObject({ body: { groups } });
  });

  test('with more groups than a cookie holds is rejected, and with a pattern is not', async () => {
    const jar = await start();
    rig.provider.account = {
      sub: 'alice',
      groups: Array.from({ length: 400 }, (_, i) => `group-of-team-${i}`),
    };
    expect(await detailOf((await signIn(jar)).response)).toEqual({ status: 403, detail: TOO_MANY });
    expect(jar.get(rig.url, SESSION)).toBeUndefined();
    rig.restart({ OIDC_GROUPS_KEEP: 'group-of-team-7*' });
    await signIn(jar);
    expect(((await me(jar)).body as { groups: string[] }).groups).toHaveLength(11);
  });

  test('right after the provider changed its key works', async () => {
    const jar = await start();
    await signIn(jar);
    rig.provider.keys = [await createKey('second'), ...rig.provider.keys];
    await rig.provider.restart();
    expect((await signIn(new CookieJar())).url).toBe(`${rig.url}/`);
  });

  test('of system:masters is rejected', async () => {
    const jar = await start();
    rig.provider.account = { sub: 'system:masters' };
    expect(await detailOf((await signIn(jar)).response)).toEqual({
      status: 403,
      detail: 'the claim "sub" of the token begins with system:, which is reserved',
    });
  });

  test.each<[string, string]>([
    ['/#/agents/shop', '/#/agents/shop'],
    ['/?a=1#/rules', '/?a=1#/rules'],
    ['//evil.example/', '/'],
    ['https://evil.example/', '/'],
    ['/\\evil.example', '/'],
    ['/\t/evil.example', '/'],
    ['/.//evil.example', '//evil.example'],
    ['javascript:alert(1)', '/'],
    ['evil', '/'],
    ['', '/'],
  ])('from ?to=%j leads to the path %j of the dashboard', async (to, path) => {
    const jar = await start();
    const callback = await callbackOf(jar, `?to=${encodeURIComponent(to)}`);
    const response = await jar.fetch(callback.href);
    expect(response.headers.get('location')).toBe(rig.url + path);
  });
});

describe('a forged response of the provider', () => {
  test.each<[string, (url: URL) => void, number, RegExp]>([
    [
      'with another state',
      (url) => url.searchParams.set('state', 'x'),
      400,
      /"state" response parameter value/,
    ],
    ['without state', (url) => url.searchParams.delete('state'), 400, /"state"/],
    ['of another issuer', (url) => url.searchParams.set('iss', 'https://evil.example'), 400, /"iss"/],
    ['without issuer', (url) => url.searchParams.delete('iss'), 400, /"iss"/],
    [
      'with a forged code',
      (url) => url.searchParams.set('code', 'x'),
      400,
      /rejected the sign-in: invalid_grant/,
    ],
    ['with two codes', (url) => url.searchParams.append('code', 'x'), 400, /not valid/],
    [
      'with an error',
      (url) => url.searchParams.set('error', 'access_denied'),
      403,
      /rejected the sign-in: access_denied/,
    ],
    [
      'with a text as error',
      (url) => url.searchParams.set('error', '<script>'),
      403,
      /rejected the sign-in: error/,
    ],
  ])('%s starts no session', async (_title, forge, status, detail) => {
    const jar = await start();
    const url = await callbackOf(jar);
    forge(url);
    expect(await detailOf(await jar.fetch(url.href))).toEqual({
      status,
      detail: expect.stringMatching(detail),
    });
    expect(jar.get(rig.url, SESSION)).toBeUndefined();
    // The sign-in is over: its cookie is gone.
    expect(jar.get(rig.url, LOGIN)).toBeUndefined();
  });

  test('in another browser starts no session', async () => {
    const url = await callbackOf(await start());
    expect(await detailOf(await new CookieJar().fetch(url.href))).toEqual({ status: 400, detail: EXPIRED });
  });

  test('in a browser with another sign-in starts no session', async () => {
    const url = await callbackOf(await start());
    const other = new CookieJar();
    await callbackOf(other);
    expect((await other.fetch(url.href)).status).toBe(400);
    expect(other.get(rig.url, SESSION)).toBeUndefined();
  });

  test('opened a second time starts no session', async () => {
    const jar = await start();
    const url = await callbackOf(jar);
    const login = jar.get(rig.url, LOGIN)!;
    expect((await jar.fetch(url.href)).status).toBe(302);
    const other = new CookieJar();
    other.set(rig.url, LOGIN, login);
    expect(await detailOf(await other.fetch(url.href))).toMatchObject({ status: 400 });
    expect(other.get(rig.url, SESSION)).toBeUndefined();
  });

  test('with the cookie of a session as that of a sign-in starts no session', async () => {
    const jar = await start();
    await signIn(jar);
    const url = await callbackOf(jar);
    url.searchParams.delete('state');
    jar.set(rig.url, LOGIN, jar.get(rig.url, SESSION)!);
    expect(await detailOf(await jar.fetch(url.href))).toEqual({ status: 400, detail: EXPIRED });
  });

  test('after ten minutes starts no session', async () => {
    const jar = await start();
    const url = await callbackOf(jar);
    rig.clock.advance(10 * 60_000 + 1_000);
    expect(await detailOf(await jar.fetch(url.href))).toEqual({ status: 400, detail: EXPIRED });
  });

  test('with an ID token that another key signed starts no session', async () => {
    const jar = await start();
    const url = await callbackOf(jar);
    rig.provider.intercept = (request, response) => {
      if (request.url !== '/jwks') return false;
      response.setHeader('content-type', 'application/json').end('{"keys":[]}');
      return true;
    };
    expect(await detailOf(await jar.fetch(url.href))).toEqual({
      status: 401,
      detail: 'the token was rejected: no applicable key found in the JSON Web Key Set',
    });
  });

  test('is a page for a browser, without its text as markup, and one line in the log', async () => {
    const jar = await start();
    const open = () =>
      jar.fetch(`${rig.url}/auth/callback?error=${encodeURIComponent('<script>')}`, {
        headers: { accept: 'text/html,*/*;q=0.8' },
      });
    await open();
    const response = await open();
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
    const text = await response.text();
    expect(text).toContain(`<p>${EXPIRED}</p>`);
    expect(text).not.toContain('<script>');
    expect(rig.log).toEqual([['warn', 'sign-in failed', { source: '127.0.0.1', error: EXPIRED }]]);
  });
});

describe('without the provider', () => {
  test('a sign-in is rejected with 503, as a page in a browser; it works when the provider is back', async () => {
    const jar = await start();
    rig.provider.intercept = (request) => {
      request.socket.destroy();
      return true;
    };
    const url = `${rig.url}/auth/login`;
    expect(await detailOf(await jar.fetch(url))).toEqual({ status: 503, detail: AWAY });
    const page = await jar.fetch(url, { headers: { accept: 'text/html' } });
    expect([page.status, await page.text()]).toEqual([503, expect.stringContaining(`<p>${AWAY}</p>`)]);
    rig.provider.intercept = () => false;
    rig.clock.advance(5_000);
    expect((await signIn(jar)).url).toBe(`${rig.url}/`);
  });

  test('a callback is rejected with 503, and a session goes on and can be ended', async () => {
    const jar = await start();
    await signIn(jar);
    const url = await callbackOf(jar);
    rig.provider.intercept = (_request, response) => {
      response.writeHead(500).end();
      return true;
    };
    expect(await detailOf(await jar.fetch(url.href))).toEqual({ status: 503, detail: AWAY });
    expect((await me(jar)).status).toBe(200);
    rig.restart();
    expect(await (await logout(jar)).json()).toEqual({ location: `${rig.url}/` });
    expect((await me(jar)).status).toBe(401);
  });

  test('no provider is configured: a sign-in and a sign-out are rejected with 503', async () => {
    const jar = await start();
    rig.restart({ OIDC_ISSUER: '', OIDC_CLIENT_ID: '', OIDC_CLIENT_SECRET: '', PUBLIC_URL: '' });
    const disabled = {
      status: 503,
      detail: 'sign-in is disabled: OIDC_ISSUER is not set on the control plane',
    };
    expect(await detailOf(await jar.fetch(`${rig.url}/auth/login`))).toEqual(disabled);
    expect(await detailOf(await jar.fetch(`${rig.url}/auth/callback`))).toEqual(disabled);
    expect(await detailOf(await logout(jar))).toEqual(disabled);
    expect(await me(jar)).toMatchObject({ status: 401, body: { detail: 'no credential' } });
  });
});

const logout = (jar: CookieJar): Promise<Response> =>
  jar.fetch(`${rig.url}/auth/logout`, { method: 'POST', headers: { 'sec-fetch-site': 'same-origin' } });

describe('a session', () => {
  const ENDED = { status: 401, body: { detail: 'the session has ended; sign in again' } };

  test.each([
    ['one hour', {}, HOUR_MS],
    ['SESSION_HOURS', { SESSION_HOURS: '12' }, 12 * HOUR_MS],
  ])('ends after %s; the page of the dashboard stays readable', async (_title, env, ms) => {
    const jar = await start({ env });
    await signIn(jar);
    rig.clock.advance(ms - 2_000);
    expect((await me(jar)).status).toBe(200);
    rig.clock.advance(2_000);
    expect(await me(jar)).toMatchObject(ENDED);
    expect((await jar.fetch(`${rig.url}/`)).status).toBe(200);
  });

  test('is ended by a sign-out, also at the provider', async () => {
    const jar = await start();
    await signIn(jar);
    const response = await logout(jar);
    const { location } = (await response.json()) as { location: string };
    const url = new URL(location);
    expect([url.origin, url.pathname]).toEqual([rig.provider.url, '/session/end']);
    expect(Object.fromEntries(url.searchParams)).toEqual({
      client_id: 'dashboard',
      post_logout_redirect_uri: `${rig.url}/`,
    });
    expect(await me(jar)).toMatchObject({ status: 401, body: { detail: 'no credential' } });
    expect((await jar.fetch(location)).status).toBe(200);
  });

  const other = async (jar: CookieJar): Promise<string> => {
    const text = jar.get(rig.url, SESSION)!;
    return `${text.slice(0, -2)}${text.endsWith('AA') ? 'BB' : 'AA'}`;
  };
  /** With a key that everybody knows. */
  const forged = async (header: object): Promise<string> =>
    new EncryptJWT({ sub: 'alice', user: 'alice', groups: ['sre'], overage: false, iss: rig.provider.url })
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', ...header })
      .setAudience('session')
      .setExpirationTime(rig.clock.now().getTime() / 1000 + 60)
      .encrypt(new Uint8Array(32));

  test.each<[string, (jar: CookieJar) => string | Promise<string>]>([
    ['a changed cookie', other],
    ['a text as cookie', () => 'x'],
    ['an empty cookie', () => ''],
    ['a cookie with a known key', () => forged({})],
    ['a cookie with a known key and an unknown id', () => forged({ kid: 'unknown' })],
    [
      'a cookie with a known key and the real id',
      (jar) => {
        const [head = ''] = jar.get(rig.url, SESSION)!.split('.');
        return forged(JSON.parse(Buffer.from(head, 'base64url').toString()) as object);
      },
    ],
    [
      'the cookie of a sign-in',
      async (jar) => {
        await jar.fetch(`${rig.url}/auth/login`);
        return jar.get(rig.url, LOGIN)!;
      },
    ],
  ])('is not %s', async (_title, cookieOf) => {
    const jar = await start();
    await signIn(jar);
    jar.set(rig.url, SESSION, await cookieOf(jar));
    expect(await me(jar)).toMatchObject(ENDED);
    expect((await jar.fetch(`${rig.url}/`)).status).toBe(200);
  });

  test.each<[string, Record<string, string>, number]>([
    [
      'stays with the former secret as SESSION_SECRET_PREVIOUS',
      { SESSION_SECRET_PREVIOUS: 'a'.repeat(32) },
      200,
    ],
    ['ends with another secret', {}, 401],
    [
      'ends with another issuer',
      { SESSION_SECRET: 'a'.repeat(32), OIDC_ISSUER: 'https://other.example' },
      401,
    ],
  ])('%s', async (_title, env, status) => {
    const jar = await start({ env: { SESSION_SECRET: 'a'.repeat(32) } });
    await signIn(jar);
    rig.restart({ SESSION_SECRET: 'b'.repeat(32), ...env });
    expect((await me(jar)).status).toBe(status);
  });

  test('is encrypted with a key from the admin key, without SESSION_SECRET', async () => {
    const jar = await start({ env: { SESSION_SECRET: '' } });
    await signIn(jar);
    rig.restart();
    expect((await me(jar)).status).toBe(200);
    rig.restart({ PLATFORM_ADMIN_KEY: 'another-admin-key' });
    expect((await me(jar)).status).toBe(401);
  });

  test('has the prefix of the current configuration', async () => {
    const jar = await start();
    rig.provider.account = ALICE;
    await signIn(jar);
    rig.restart({ OIDC_PREFIX: 'corp:' });
    expect(await me(jar)).toMatchObject({ body: { user: 'corp:alice', groups: ['corp:sre'] } });
  });
});

describe('a request that changes something with the cookie of a session', () => {
  const CROSS = { status: 403, body: { title: 'cross-site request' } };

  test.each<[string, Record<string, string>, boolean]>([
    ['of the dashboard', { 'sec-fetch-site': 'same-origin' }, true],
    ['of another port of the host', { 'sec-fetch-site': 'same-site' }, false],
    ['of another site', { 'sec-fetch-site': 'cross-site' }, false],
    ['of the address bar', { 'sec-fetch-site': 'none' }, false],
    [
      'of another site with the origin of the dashboard',
      { 'sec-fetch-site': 'cross-site', origin: 'own' },
      false,
    ],
    ['of an old browser with the origin of the dashboard', { origin: 'own' }, true],
    ['of an old browser with another origin', { origin: 'http://127.0.0.1:1' }, false],
    ['of an old browser with the origin null', { origin: 'null' }, false],
    ['without any of the headers', {}, false],
  ])('%s', async (_title, headers, isAccepted) => {
    const jar = await start();
    await signIn(jar);
    const given = { ...headers, ...(headers['origin'] === 'own' && { origin: rig.url }) };
    const response = await me(jar, { method: 'POST', headers: given });
    expect(response).toMatchObject(isAccepted ? { status: 200 } : CROSS);
    // Reading changes nothing.
    expect((await me(jar, { headers: given })).status).toBe(200);
  });

  test('of another site does not end the session', async () => {
    const jar = await start();
    await signIn(jar);
    const response = await jar.fetch(`${rig.url}/auth/logout`, {
      method: 'POST',
      headers: { 'sec-fetch-site': 'cross-site' },
    });
    expect(response.status).toBe(403);
    expect((await me(jar)).status).toBe(200);
  });

  test('of another site without a cookie gets 401', async () => {
    await start();
    const response = await fetch(`${rig.url}/me`, {
      method: 'POST',
      headers: { 'sec-fetch-site': 'cross-site' },
    });
    expect(response.status).toBe(401);
  });
});
