import { describe, expect, test } from '@jest/globals';
import { Secret } from '../runtime/secret.ts';
import { readConfig } from './config.ts';

const DEFAULTS = {
  LOG_LEVEL: 'info',
  LOG_FORMAT: null,
  PORT: 8080,
  PLATFORM_ADMIN_KEY: null,
  PLATFORM_READ_KEY: null,
  PLATFORM_ROLES_FILE: null,
  PROOF_APPROVER_NOT_AUTHOR: false,
  JWT_SECRET: null,
  ORGANISATION_POLICIES: null,
  oidc: null,
  STORE: 'sqlite',
  DATA_DIR: './data',
  database: null,
  retention: { heartbeats: 100, hourlyDays: 30, dailyDays: 400, removeAfterDays: 30, auditDays: 200 },
  RATE_LIMIT_SECONDS: 10,
  REMOTE_NAMESPACE: 'platform-remote',
  cluster: null,
  SIDECAR_CA_FILES: null,
  sidecarImages: null,
  tls: null,
};

test('returns the documented defaults for an empty environment', () => {
  expect(readConfig({})).toEqual({ ok: true, config: DEFAULTS });
});

test('reads every variable', () => {
  const result = readConfig({
    LOG_LEVEL: 'debug',
    LOG_FORMAT: 'json',
    PORT: '9000',
    PLATFORM_ADMIN_KEY: 'admin-key-of-a-test',
    JWT_SECRET: 'x'.repeat(32),
    STORE: 'kubernetes',
    DATA_DIR: '/var/lib/agents',
    KEEP_HEARTBEATS: '7',
    KEEP_HOURLY_DAYS: '8',
    AUDIT_RETENTION_DAYS: '7',
    KEEP_DAILY_DAYS: '9',
    REMOVE_AFTER_DAYS: '0',
    RATE_LIMIT_SECONDS: '0',
    REMOTE_NAMESPACE: 'outside',
    KUBECONFIG: '/home/me/.kube/config',
    TLS_CERT_FILE: '/tls/tls.crt',
    TLS_KEY_FILE: '/tls/tls.key',
  });
  expect(result.ok && result.config.PLATFORM_ADMIN_KEY?.reveal()).toBe('admin-key-of-a-test');
  expect(result.ok && result.config.JWT_SECRET?.reveal()).toBe('x'.repeat(32));
  expect(result).toEqual({
    ok: true,
    config: {
      LOG_LEVEL: 'debug',
      LOG_FORMAT: 'json',
      PORT: 9000,
      PLATFORM_ADMIN_KEY: new Secret('admin-key-of-a-test'),
      PLATFORM_READ_KEY: null,
      PLATFORM_ROLES_FILE: null,
      PROOF_APPROVER_NOT_AUTHOR: false,
      JWT_SECRET: new Secret('x'.repeat(32)),
      ORGANISATION_POLICIES: null,
      oidc: null,
      STORE: 'kubernetes',
      DATA_DIR: '/var/lib/agents',
      database: null,
      retention: { heartbeats: 7, hourlyDays: 8, dailyDays: 9, removeAfterDays: 0, auditDays: 7 },
      RATE_LIMIT_SECONDS: 0,
      REMOTE_NAMESPACE: 'outside',
      cluster: { kubeconfig: '/home/me/.kube/config' },
      SIDECAR_CA_FILES: null,
      sidecarImages: null,
      tls: { certFile: '/tls/tls.crt', keyFile: '/tls/tls.key' },
    },
  });
});

const OWN = { kubeconfig: null };

test.each([
  ['outside a cluster', {}, 'sqlite', null],
  ['in a cluster', { KUBERNETES_SERVICE_HOST: '10.96.0.1' }, 'kubernetes', OWN],
  [
    'in a cluster, with explicit STORE',
    { KUBERNETES_SERVICE_HOST: '10.96.0.1', STORE: 'sqlite' },
    'sqlite',
    OWN,
  ],
  [
    'outside a cluster, with explicit STORE',
    { STORE: 'kubernetes', KUBECONFIG: '/k' },
    'kubernetes',
    { kubeconfig: '/k' },
  ],
  ['outside a cluster, with an unused kubeconfig', { KUBECONFIG: '/k' }, 'sqlite', null],
])('selects the store %s', (_, env, store, cluster) => {
  expect(readConfig(env)).toEqual({ ok: true, config: { ...DEFAULTS, STORE: store, cluster } });
});

test('reads the allowed sidecar images', () => {
  const env = { SIDECAR_REPOSITORY: 'r/sidecar', SIDECAR_ALLOWED_IMAGES: 'm/sidecar:7,m/sidecar:8' };
  const sidecarImages = { repository: 'r/sidecar', allowed: ['m/sidecar:7', 'm/sidecar:8'] };
  expect(readConfig(env)).toEqual({ ok: true, config: { ...DEFAULTS, sidecarImages } });
});

test.each([
  'with a space in the middle',
  'line feed at the end\n',
  'schlüssel-von-sechzehn',
  'fifteen-letters',
  'change-me',
])('rejects an admin key that is too short or not valid in a header, without printing it: %j', (key) => {
  expect(readConfig({ PLATFORM_ADMIN_KEY: key })).toEqual({
    ok: false,
    problems: [
      {
        name: 'PLATFORM_ADMIN_KEY',
        value: '[secret]',
        wanted: 'a key of at least 16 visible ASCII characters without spaces, or unset',
      },
    ],
  });
});

test('reports all problems at once, with secrets hidden', () => {
  expect(
    readConfig({
      LOG_LEVEL: 'loud',
      LOG_FORMAT: 'xml',
      PORT: '80.5',
      JWT_SECRET: 'short',
      STORE: 'mysql',
      DATABASE_URL: 'mysql://u:p@db/agents',
      DATABASE_POOL: '51',
      KEEP_HEARTBEATS: '0',
      REMOVE_AFTER_DAYS: '-1',
      RATE_LIMIT_SECONDS: '-1',
      REMOTE_NAMESPACE: 'Not A Label',
      TLS_CERT_FILE: '/tls/tls.crt',
    }),
  ).toEqual({
    ok: false,
    problems: [
      { name: 'LOG_LEVEL', value: 'loud', wanted: 'one of error, warn, info, debug (default info)' },
      { name: 'LOG_FORMAT', value: 'xml', wanted: 'one of json, text, or unset' },
      { name: 'PORT', value: '80.5', wanted: 'an integer from 1 to 65535 (default 8080)' },
      { name: 'JWT_SECRET', value: '[secret]', wanted: 'at least 32 characters, or unset' },
      { name: 'STORE', value: 'mysql', wanted: 'one of kubernetes, sqlite, postgres, or unset' },
      { name: 'DATABASE_URL', value: '[secret]', wanted: expect.stringContaining('sslmode') },
      { name: 'DATABASE_POOL', value: '51', wanted: 'an integer from 1 to 50 (default 10)' },
      { name: 'KEEP_HEARTBEATS', value: '0', wanted: 'an integer from 1 to 1000 (default 100)' },
      { name: 'REMOVE_AFTER_DAYS', value: '-1', wanted: 'an integer from 0 to 3650 (default 30)' },
      {
        name: 'RATE_LIMIT_SECONDS',
        value: '-1',
        wanted: 'an integer from 0 to 3600 (default 10)',
      },
      {
        name: 'REMOTE_NAMESPACE',
        value: 'Not A Label',
        wanted: 'a DNS label: 1 to 63 characters of a-z, 0-9 and "-" (default platform-remote)',
      },
      { name: 'TLS_KEY_FILE', value: '(unset)', wanted: 'set, because TLS_CERT_FILE is set' },
    ],
  });
});

test.each([31, 32])('checks the minimum length of 32 with a JWT_SECRET of %i characters', (length) => {
  expect(readConfig({ JWT_SECRET: 'x'.repeat(length) }).ok).toBe(length >= 32);
});

test('accepts an admin key of 16 characters', () => {
  expect(readConfig({ PLATFORM_ADMIN_KEY: 'x'.repeat(16) }).ok).toBe(true);
});

describe('DATABASE_URL', () => {
  const DATABASE = 'postgres://app:p%40ss%2Fword@db.example:6543/agents';
  const ADDRESS = {
    host: 'db.example',
    port: 6543,
    user: 'app',
    password: new Secret('p@ss/word'),
    database: 'agents',
    tls: 'verify-full',
    hasChannelBinding: true,
  };

  test.each([
    ['without STORE', {}],
    ['with STORE=postgres', { STORE: 'postgres' }],
  ])('selects PostgreSQL %s', (_, env) => {
    const result = readConfig({
      ...env,
      DATABASE_URL: DATABASE,
      DATABASE_CA_FILE: '/ca.pem',
      DATABASE_POOL: '3',
    });
    expect(result).toEqual({
      ok: true,
      config: {
        ...DEFAULTS,
        STORE: 'postgres',
        database: { address: ADDRESS, caFile: '/ca.pem', poolSize: 3 },
      },
    });
    expect(result.ok && result.config.database?.address.password.reveal()).toBe('p@ss/word');
    expect(JSON.stringify(result)).not.toContain('ss/word');
  });

  test('selects PostgreSQL in a cluster too, whose AgentObservations are written as well', () => {
    const result = readConfig({ DATABASE_URL: DATABASE, KUBERNETES_SERVICE_HOST: '10.96.0.1' });
    expect(result).toMatchObject({ ok: true, config: { STORE: 'postgres', cluster: OWN } });
  });

  test.each([
    ['postgresql://u@db/agents', { host: 'db', port: 5432, tls: 'verify-full' }],
    ['postgres://u:p@db/agents?sslmode=require', { tls: 'require' }],
    ['postgres://u:p@db/agents?sslmode=disable&channel_binding=disable', { tls: 'disable' }],
    ['postgres://u:p@localhost/agents', { host: 'localhost', tls: 'disable' }],
    ['postgres://u:p@127.0.0.1:1/agents', { host: '127.0.0.1', port: 1, tls: 'disable' }],
    ['postgres://u:p@[::1]/agents', { host: '::1', tls: 'disable' }],
    ['postgres://u:p@[2001:db8::1]/agents', { host: '2001:db8::1', tls: 'verify-full' }],
    ['postgres://u:p@127.evil.example/agents', { tls: 'verify-full' }],
    ['postgres://u:p@localhost/agents?sslmode=verify-ca', { tls: 'verify-ca' }],
    ['postgres://u@%2Frun%2Fpostgresql/agents', { host: '/run/postgresql', tls: 'disable' }],
    ['postgres://u@localhost/agents?host=/run/postgresql', { host: '/run/postgresql', tls: 'disable' }],
    ['postgres://%75ser:p@db/%61gents', { user: 'user', database: 'agents' }],
  ])('is parsed: %s', (url, address) => {
    expect(readConfig({ DATABASE_URL: url })).toMatchObject({ ok: true, config: { database: { address } } });
  });

  test.each([
    'db.example',
    'http://u:p@db/agents',
    'postgres://db/agents',
    'postgres://u:p@db',
    'postgres://u:p@db/',
    'postgres://u:p@/agents',
    'postgres://u:p@db:x/agents',
    'postgres://u:p@db/agents?sslmode=prefer',
    'postgres://u:p@a,b/agents',
    'postgres://u:p@a:1,b:2/agents',
    'postgres://u:p#a@db/agents',
    'postgres://u:100%@db/agents',
    'postgres://u:p@db/agents#fragment',
    'postgres://u:p@db/agents?sslmode=no-verify',
    'postgres://u:p@db/agents?sslrootcert=/ca.pem',
    'postgres://u:p@db/agents?channel_binding=yes',
    'postgres://u@db/agents?host=/run/postgresql&sslmode=require',
  ])('is rejected without printing it: %s', (url) => {
    const problem = {
      name: 'DATABASE_URL',
      value: '[secret]',
      wanted: expect.stringContaining('postgres://'),
    };
    expect(readConfig({ DATABASE_URL: url })).toEqual({ ok: false, problems: [problem] });
  });
});

const URL = { DATABASE_URL: 'postgres://u:p@localhost/agents' };
const POD = { KUBERNETES_SERVICE_HOST: '10.0.0.1' };
const POLICIES = { ORGANISATION_POLICIES: 'org.yaml' };
const KUBECONFIG = { STORE: 'kubernetes', KUBECONFIG: '/k' };
const KEY = 'a-key-of-16-chars';
const ROLES = { PLATFORM_ROLES_FILE: 'roles.yaml' };
const TEXTS = {
  roles: 'unset, because the RBAC of the cluster decides',
  keys: 'different from PLATFORM_ADMIN_KEY',
  policies: 'unset, because the rules are the AgentPolicies of the cluster',
  kubeconfig:
    'the path of a kubeconfig file, because STORE is kubernetes and this process does not run in a pod',
  ca: 'unset, because the connection of DATABASE_URL has no TLS; for TLS, add sslmode=verify-full to the URL',
};

test.each([
  [{ TLS_CERT_FILE: '/f' }, 'TLS_KEY_FILE', '(unset)', 'set, because TLS_CERT_FILE is set'],
  [{ TLS_KEY_FILE: '/f' }, 'TLS_CERT_FILE', '(unset)', 'set, because TLS_KEY_FILE is set'],
  [{ STORE: 'postgres' }, 'DATABASE_URL', '(unset)', 'set, because STORE is postgres'],
  [{ STORE: 'sqlite', ...URL }, 'DATABASE_URL', '[secret]', 'unset, because STORE is sqlite'],
  [{ ...KUBECONFIG, ...URL }, 'DATABASE_URL', '[secret]', 'unset, because STORE is kubernetes'],
  [{ DATABASE_CA_FILE: '/ca' }, 'DATABASE_CA_FILE', '/ca', 'unset, because DATABASE_URL is unset'],
  [{ DATABASE_CA_FILE: '/ca', ...URL }, 'DATABASE_CA_FILE', '/ca', TEXTS.ca],
  [{ ...POD, ...POLICIES }, 'ORGANISATION_POLICIES', 'org.yaml', TEXTS.policies],
  [{ ...KUBECONFIG, ...POLICIES }, 'ORGANISATION_POLICIES', 'org.yaml', TEXTS.policies],
  [{ ...POD, ...ROLES }, 'PLATFORM_ROLES_FILE', 'roles.yaml', TEXTS.roles],
  [{ ...KUBECONFIG, ...ROLES }, 'PLATFORM_ROLES_FILE', 'roles.yaml', TEXTS.roles],
  [{ PLATFORM_ADMIN_KEY: KEY, PLATFORM_READ_KEY: KEY }, 'PLATFORM_READ_KEY', '[secret]', TEXTS.keys],
  [{ STORE: 'kubernetes' }, 'KUBECONFIG', '(unset)', TEXTS.kubeconfig],
])('settings must not contradict each other: %j', (env, name, value, wanted) => {
  expect(readConfig(env)).toEqual({ ok: false, problems: [{ name, value, wanted }] });
});

test('reads policies of files without a cluster', () => {
  expect(readConfig(POLICIES)).toMatchObject({ ok: true });
});
