import { expect, test } from '@jest/globals';
import { Secret } from '../runtime/secret.ts';
import { readConfig } from './config.ts';

const DEFAULTS = {
  LOG_LEVEL: 'info',
  LOG_FORMAT: null,
  PORT: 8080,
  PLATFORM_ADMIN_KEY: null,
  JWT_SECRET: null,
  STORE: 'sqlite',
  DATA_DIR: './data',
  RATE_LIMIT_SECONDS: 10,
  REMOTE_NAMESPACE: 'platform-remote',
  cluster: null,
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
      JWT_SECRET: new Secret('x'.repeat(32)),
      STORE: 'kubernetes',
      DATA_DIR: '/var/lib/agents',
      RATE_LIMIT_SECONDS: 0,
      REMOTE_NAMESPACE: 'outside',
      cluster: { kubeconfig: '/home/me/.kube/config' },
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

test('requires a cluster for the Kubernetes store', () => {
  expect(readConfig({ STORE: 'kubernetes' })).toEqual({
    ok: false,
    problems: [
      {
        name: 'KUBECONFIG',
        value: '(unset)',
        wanted:
          'the path of a kubeconfig file, because STORE is kubernetes and this process does not run in a pod',
      },
    ],
  });
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
      STORE: 'postgres',
      DATABASE_URL: 'postgres://u:p@db/agents',
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
      {
        name: 'STORE',
        value: 'postgres',
        wanted: 'kubernetes or sqlite, or unset (this build has no PostgreSQL store)',
      },
      {
        name: 'DATABASE_URL',
        value: '[secret]',
        wanted: 'unset: this build has no PostgreSQL store; use STORE=sqlite or STORE=kubernetes',
      },
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

test.each([
  ['TLS_CERT_FILE', 'TLS_KEY_FILE'],
  ['TLS_KEY_FILE', 'TLS_CERT_FILE'],
])('rejects %s without the other file', (given, missing) => {
  expect(readConfig({ [given]: '/tls/file' })).toEqual({
    ok: false,
    problems: [{ name: missing, value: '(unset)', wanted: `set, because ${given} is set` }],
  });
});

test.each([31, 32])('checks the minimum length of 32 with a JWT_SECRET of %i characters', (length) => {
  expect(readConfig({ JWT_SECRET: 'x'.repeat(length) }).ok).toBe(length >= 32);
});

test('accepts an admin key of 16 characters', () => {
  expect(readConfig({ PLATFORM_ADMIN_KEY: 'x'.repeat(16) }).ok).toBe(true);
});
