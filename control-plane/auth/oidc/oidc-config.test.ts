import { describe, expect, test } from '@jest/globals';
import { Secret } from '../../../runtime/secret.ts';
import { readConfig } from '../../config.ts';

const ISSUER = { OIDC_ISSUER: 'https://id.example.com/realms/corp' };
const ADMIN = { PLATFORM_ADMIN_KEY: 'admin-key-of-a-test' };
const PUBLIC = { PUBLIC_URL: 'https://agents.example.com' };
const COMPLETE = { ...ISSUER, ...ADMIN, ...PUBLIC, OIDC_CLIENT_ID: 'dashboard' };

test('the variables of the sign-in have defaults', () => {
  const result = readConfig(COMPLETE);
  expect(result.ok && result.config.oidc).toEqual({
    issuer: 'https://id.example.com/realms/corp',
    clientId: 'dashboard',
    clientSecret: null,
    audiences: ['dashboard'],
    scopes: 'openid profile groups',
    usernameClaim: 'sub',
    groupsClaim: 'groups',
    prefix: 'oidc:',
    keptGroups: null,
    publicUrl: 'https://agents.example.com',
    sessionHours: 1,
    secret: null,
    previousSecret: null,
  });
});

test('reads every variable of the sign-in, and keeps the text of the issuer', () => {
  const result = readConfig({
    ...ADMIN,
    OIDC_ISSUER: 'https://id.example.com',
    OIDC_CLIENT_ID: 'dashboard',
    OIDC_CLIENT_SECRET: 'client-secret',
    OIDC_AUDIENCES: 'api://fleet, dashboard',
    OIDC_SCOPES: 'openid email',
    OIDC_USERNAME_CLAIM: 'email',
    OIDC_GROUPS_CLAIM: 'roles',
    OIDC_PREFIX: 'corp:',
    OIDC_GROUPS_KEEP: 'team-*,sre',
    PUBLIC_URL: 'https://agents.example.com:8443/',
    SESSION_HOURS: '12',
    SESSION_SECRET: 'a'.repeat(32),
    SESSION_SECRET_PREVIOUS: 'b'.repeat(32),
  });
  expect(result.ok && result.config.oidc).toEqual({
    issuer: 'https://id.example.com',
    clientId: 'dashboard',
    clientSecret: new Secret('client-secret'),
    audiences: ['api://fleet', 'dashboard'],
    scopes: 'openid email',
    usernameClaim: 'email',
    groupsClaim: 'roles',
    prefix: 'corp:',
    keptGroups: ['team-*', 'sre'],
    publicUrl: 'https://agents.example.com:8443',
    sessionHours: 12,
    secret: new Secret('a'.repeat(32)),
    previousSecret: new Secret('b'.repeat(32)),
  });
  expect(JSON.stringify(result)).not.toMatch(/client-secret|aaaa|bbbb/);
});

const UNUSED = 'unset, because OIDC_ISSUER is unset';
const REQUIRED = 'set, because OIDC_ISSUER is set';

test.each<[object, [name: string, value: string, wanted: string][]]>([
  [{ ...ADMIN, OIDC_CLIENT_ID: 'x' }, [['OIDC_CLIENT_ID', 'x', UNUSED]]],
  [{ OIDC_CLIENT_SECRET: 'x' }, [['OIDC_CLIENT_SECRET', '[secret]', UNUSED]]],
  [{ OIDC_AUDIENCES: 'x' }, [['OIDC_AUDIENCES', 'x', UNUSED]]],
  [{ OIDC_GROUPS_KEEP: 'x' }, [['OIDC_GROUPS_KEEP', 'x', UNUSED]]],
  [PUBLIC, [['PUBLIC_URL', 'https://agents.example.com', UNUSED]]],
  [
    { ...ADMIN, ...ISSUER },
    [
      ['OIDC_CLIENT_ID', '(unset)', REQUIRED],
      ['PUBLIC_URL', '(unset)', REQUIRED],
    ],
  ],
  [
    { ...COMPLETE, PLATFORM_ADMIN_KEY: '' },
    [['SESSION_SECRET', '(unset)', 'set, because OIDC_ISSUER is set and PLATFORM_ADMIN_KEY is unset']],
  ],
  [
    { ...COMPLETE, SESSION_SECRET_PREVIOUS: 'b'.repeat(32) },
    [['SESSION_SECRET', '(unset)', 'set, because SESSION_SECRET_PREVIOUS is set']],
  ],
])('variables of the sign-in must not contradict each other: %j', (env, problems) => {
  expect(readConfig({ ...env })).toEqual({
    ok: false,
    problems: problems.map(([name, value, wanted]) => ({ name, value, wanted })),
  });
});

test('needs no admin key with SESSION_SECRET', () => {
  const env = { ...COMPLETE, PLATFORM_ADMIN_KEY: '', SESSION_SECRET: 'a'.repeat(32) };
  expect(readConfig(env)).toMatchObject({ ok: true });
});

describe('a value', () => {
  test.each([
    ['OIDC_ISSUER', 'http://localhost:5556/dex'],
    ['OIDC_ISSUER', 'http://127.0.0.1:5556'],
    ['OIDC_ISSUER', 'https://tenant.auth0.com/'],
    ['PUBLIC_URL', 'http://localhost:8080'],
    ['PUBLIC_URL', 'http://[::1]:8080'],
    ['OIDC_PREFIX', 'https://id.example.com#'],
    ['OIDC_PREFIX', 'systems'],
    ['SESSION_HOURS', '1'],
  ])('is accepted: %s=%s', (name, value) => {
    expect(readConfig({ ...COMPLETE, [name]: value })).toMatchObject({ ok: true });
  });

  test.each([
    ['OIDC_ISSUER', 'http://id.example.com'],
    ['OIDC_ISSUER', 'id.example.com'],
    ['OIDC_ISSUER', 'https://id.example.com/?a=b'],
    ['OIDC_ISSUER', 'https://user:secret@id.example.com'],
    ['PUBLIC_URL', 'http://agents.example.com'],
    ['PUBLIC_URL', 'http://localhost.evil.example'],
    ['PUBLIC_URL', 'https://agents.example.com/fleet'],
    ['OIDC_SCOPES', 'profile'],
    ['OIDC_SCOPES', 'openid,profile'],
    ['OIDC_USERNAME_CLAIM', 'user name'],
    ['OIDC_PREFIX', ' '],
    ['OIDC_PREFIX', 'system:'],
    ['OIDC_PREFIX', 'system:oidc:'],
    // The claim `tem:masters` would become a group of the API server.
    ['OIDC_PREFIX', 'sys'],
    ['OIDC_PREFIX', 's'],
    ['SESSION_HOURS', '0'],
    ['SESSION_HOURS', '13'],
  ])('is rejected: %s=%j', (name, value) => {
    const result = readConfig({ ...COMPLETE, [name]: value });
    expect(result.ok ? [] : result.problems.map((problem) => [problem.name, problem.value])).toEqual([
      [name, value],
    ]);
  });

  test('is rejected without being printed: a SESSION_SECRET of 31 characters', () => {
    expect(readConfig({ ...COMPLETE, SESSION_SECRET: 'a'.repeat(31) })).toEqual({
      ok: false,
      problems: [{ name: 'SESSION_SECRET', value: '[secret]', wanted: 'at least 32 characters, or unset' }],
    });
  });
});
