import { hostname, networkInterfaces } from 'node:os';
import { describe, expect, test } from '@jest/globals';
import { DEFAULTED, PASSED } from '../core/injection/annotations.ts';
import { describeProblems } from '../runtime/env.ts';
import { readConfig } from './config.ts';

const problemsOf = (env: Record<string, string>) => {
  const result = readConfig(env);
  return result.ok ? [] : result.problems;
};

/** The variables that the table of annotations declares, with their defaults. */
const SIDECAR_VALUES = DEFAULTED.flatMap(([, { chart }]) =>
  chart.sidecarVariable === undefined ? [] : [[chart.sidecarVariable, chart.default]],
);

test('an empty environment results in the defaults of the contract', () => {
  const result = readConfig({});
  expect(result).toEqual({
    ok: true,
    config: {
      ...Object.fromEntries(SIDECAR_VALUES),
      ...Object.fromEntries(PASSED.map(({ variable }) => [variable, null])),
      LOG_LEVEL: 'info',
      LOG_FORMAT: null,
      UPSTREAM_URL: new URL('http://localhost:8000'),
      UPSTREAM_TIMEOUT_MS: null,
      MANIFEST_PATH: '/manifest/agent.yaml',
      PROXY_PORT: 4000,
      CONTROL_PLANE_PORT: 4001,
      BIND_ADDRESS: '::',
      CONTROL_ACCESS: 'any',
      AGENT_NAME: null,
      AGENT_NAMESPACE: null,
      AGENT_ENV_NAMES: null,
      START_NONCE: null,
      AUDIT_RING_SIZE: 1000,
      AUDIT_LOG_EVENTS: 'all',
      AUDIT_LOG_FILES: 4,
      AUDIT_LOG_FORWARD: null,
      AUDIT_LOG_MAX_MB: 64,
      AUDIT_LOG_OTLP_URL: null,
      AUDIT_LOG_PATH: null,
      AUDIT_QUERY: false,
      POLICY_URL: null,
      POLICY_SOCKET: null,
      POLICY_ENGINE: 'none',
      POLICY_PROXY_MODE: 'track',
      POLICY_TIMEOUT_MS: 1000,
      LLM_ANALYSIS_PROVIDER: 'off',
      ANTHROPIC_API_KEY: null,
      ANTHROPIC_BASE_URL: null,
      OPENAI_API_KEY: null,
      OPENAI_BASE_URL: null,
      PLATFORM_LLM_API_KEY: null,
      PLATFORM_LLM_BASE_URL: null,
      PLATFORM_LLM_MODEL: null,
      LLM_ANALYSIS_TIMEOUT_SECONDS: 60,
      LLM_ANALYSIS_TOKENS_PER_DAY: 200_000,
      LLM_ANALYSIS_USD_PER_DAY: 1,
      LLM_ANALYSIS_USD_PER_MILLION_INPUT_TOKENS: 5,
      LLM_ANALYSIS_USD_PER_MILLION_OUTPUT_TOKENS: 25,
      PROOF_STORE_PATH: null,
      PLATFORM_SECRET_DIR: null,
      PLATFORM_URL: null,
      PLATFORM_KEY: null,
      PLATFORM_KEY_STORE_PATH: null,
      PLATFORM_TOKEN_FILE: null,
      PLATFORM_CA_FILE: null,
      HEARTBEAT_SECONDS: 30,
      IDENTITY_HASH_KEY: null,
      ORGANISATION_ON_UNKNOWN: 'start',
      DIRECTIVES_STORE_PATH: null,
      STOP_ANNOTATION_FILE: null,
      OTLP_PORT: null,
      OTLP_FORWARD_URL: null,
      EGRESS_LANES: null,
      EGRESS_PORT: 4002,
      EGRESS_MODE: 'track',
      EGRESS_FAIL_MODE: { all: 'open', lanes: new Map() },
      EGRESS_ON_FORBIDDEN_TOOL: 'strip',
      EGRESS_CA_FILE: null,
      EGRESS_NOT_REWRITTEN: null,
      EGRESS_CONNECT: 'off',
      EGRESS_CONNECT_PORT: 4003,
      CENSUS: 'off',
      PROOF_WRITES: 'local',
    },
  });
});

describe('rejects an invalid value and names its variable', () => {
  test.each([
    [
      'UPSTREAM_URL',
      ['ftp://agent', 'agent:8000', 'not a url', 'http://u:p@agent', 'http://agent/?a=1', 'http://a/#b'],
    ],
    ['IDENTITY_HEADER', ['x user', 'é']],
    ['UPSTREAM_TIMEOUT_MS', ['0', '-1', '1.5', 'none', '86400001']],
    ['PROXY_PORT', ['abc', '4000.5', '65536', '0', '4 000']],
    ['CONTROL_PLANE_PORT', ['abc', '1e3', '-1']],
    ['BIND_ADDRESS', ['nowhere', '127.0.0', '0.0.0.0:4000', '*']],
    ['CONTROL_ACCESS', ['all', 'Local']],
    ['EGRESS_LANES', ['openai', 'openai=a', 'other=https://a', 'openai=https://a,openai=https://b']],
    ['EGRESS_MODE', ['on', 'Enforce']],
    ['EGRESS_FAIL_MODE', ['off', 'openai', 'openai=on']],
    ['EGRESS_NOT_REWRITTEN', ['openai', 'openai=A:other']],
    ['EGRESS_ON_FORBIDDEN_TOOL', ['drop']],
    ['AGENT_NAME', ['Shop', 'a b', '-a']],
    ['AGENT_ENV_NAMES', ['A=1', 'A B', 'A*']],
    ['AUDIT_RING_SIZE', ['0', '100001', 'many']],
    ['AUDIT_QUERY', ['yes', '1', 'TRUE']],
    ['POLICY_URL', ['opa:8181', 'file:///opa']],
    ['POLICY_SOCKET', ['opa.sock', 'unix:///opa.sock', `/${'x'.repeat(107)}`]],
    ['POLICY_ENGINE', ['rego', 'none']],
    ['POLICY_PROXY_MODE', ['block', 'Enforce']],
    ['POLICY_TIMEOUT_MS', ['0', 'soon', '60001']],
    ['PLATFORM_URL', ['control-plane:8080', 'grpc://x']],
    ['HEARTBEAT_SECONDS', ['9', '3601', '30s']],
    ['OTLP_PORT', ['0', '65536', 'off']],
    ['PROOF_WRITES', ['none', 'Local', 'control_plane']],
    ['LLM_ANALYSIS_PROVIDER', ['anthropic', 'claude-subscription', 'on']],
    ['LLM_ANALYSIS_TIMEOUT_SECONDS', ['4', '601', '1m']],
    ['LLM_ANALYSIS_TOKENS_PER_DAY', ['0', '-1', '1e6']],
    ['LLM_ANALYSIS_USD_PER_DAY', ['-1', '1e3', '0.00001', '1,5', '$1']],
    ['LOG_LEVEL', ['verbose']],
    ['LOG_FORMAT', ['yaml']],
  ])('%s', (name, values) => {
    for (const value of values) {
      const wrong = problemsOf({ [name]: value }).filter((problem) => problem.name === name);
      expect(wrong).toHaveLength(1);
      expect(wrong[0]?.value).toBe(value);
    }
  });
});

describe('the LLM analysis', () => {
  test.each<[string, Record<string, string>, string]>([
    ['is off without a key', {}, 'off'],
    ['is turned on by the key of Anthropic', { ANTHROPIC_API_KEY: 'k' }, 'anthropic-api'],
    ['stays off with only a key of OpenAI, which may belong to the agent', { OPENAI_API_KEY: 'k' }, 'off'],
    ['stays off with only a key of an endpoint', { PLATFORM_LLM_API_KEY: 'k' }, 'off'],
    ['can be turned off', { ANTHROPIC_API_KEY: 'k', LLM_ANALYSIS_PROVIDER: 'off' }, 'off'],
    [
      'uses the selected provider',
      { ANTHROPIC_API_KEY: 'k', OPENAI_API_KEY: 'k', LLM_ANALYSIS_PROVIDER: 'openai-api' },
      'openai-api',
    ],
  ])('%s', (_title, env, provider) => {
    expect(readConfig(env)).toMatchObject({ ok: true, config: { LLM_ANALYSIS_PROVIDER: provider } });
  });

  test('does not stop the start because of a variable of the agent', () => {
    expect(
      problemsOf({ OPENAI_BASE_URL: 'not a url', ANTHROPIC_BASE_URL: '/x', ANTHROPIC_API_KEY: 'a b\n' }),
    ).toEqual([]);
  });
});

test('names the accepted protocols when UPSTREAM_URL has another protocol', () => {
  expect(describeProblems(problemsOf({ UPSTREAM_URL: 'ftp://agent' }))).toBe(
    'UPSTREAM_URL=ftp://agent: must be a URL and must use http: or https: protocol, without credentials, query or fragment (default http://localhost:8000)',
  );
});

test('reports all problems together', () => {
  const env = { PROXY_PORT: 'x', UPSTREAM_URL: 'y', POLICY_ENGINE: 'opa', AUDIT_RING_SIZE: '0' };
  const names = problemsOf(env).map((problem) => problem.name);
  expect(names.sort()).toEqual(Object.keys(env).sort());
});

describe('rejects combinations of valid values', () => {
  test.each([
    ['a header without its proxies', { IDENTITY_HEADER: 'x-user' }, 'IDENTITY_HEADER'],
    ['proxies without their header', { IDENTITY_PROXIES: '10.0.0.1' }, 'IDENTITY_PROXIES'],
    [
      'a header with tokens',
      { IDENTITY_HEADER: 'authorization', IDENTITY_PROXIES: '10.0.0.1' },
      'IDENTITY_HEADER',
    ],
    ['every address', { IDENTITY_HEADER: 'x-user', IDENTITY_PROXIES: '0.0.0.0/0' }, 'IDENTITY_PROXIES'],
    ['no addresses', { IDENTITY_HEADER: 'x-user', IDENTITY_PROXIES: '10.0.0.0/99' }, 'IDENTITY_PROXIES'],
    ['opa without its URL', { POLICY_ENGINE: 'opa' }, 'POLICY_ENGINE'],
    ['a socket without a URL', { POLICY_SOCKET: '/opa.sock' }, 'POLICY_SOCKET'],
    ['a socket with TLS', { POLICY_SOCKET: '/opa.sock', POLICY_URL: 'https://opa:8181' }, 'POLICY_SOCKET'],
    ['builtin with a URL', { POLICY_ENGINE: 'builtin', POLICY_URL: 'http://opa:8181' }, 'POLICY_ENGINE'],
    ['both ports the same', { PROXY_PORT: '4001' }, 'CONTROL_PLANE_PORT'],
    ['the sidecar as its own upstream', { UPSTREAM_URL: 'http://127.0.0.1:4000' }, 'UPSTREAM_URL'],
    ['the proxy on the default upstream’s port', { PROXY_PORT: '8000' }, 'UPSTREAM_URL'],
    [
      'two credentials',
      { PLATFORM_URL: 'https://cp', PLATFORM_KEY: 'k', PLATFORM_TOKEN_FILE: '/t' },
      'PLATFORM_TOKEN_FILE',
    ],
    [
      'a key store path with a token file',
      { PLATFORM_URL: 'https://cp', PLATFORM_TOKEN_FILE: '/t', PLATFORM_KEY_STORE_PATH: '/k' },
      'PLATFORM_KEY_STORE_PATH',
    ],
    ['spans on the port of the proxy', { OTLP_PORT: '4000' }, 'OTLP_PORT'],
    ['spans on the control port', { OTLP_PORT: '4001' }, 'OTLP_PORT'],
    [
      'events for a control plane without an audit log',
      { PLATFORM_URL: 'https://cp', PLATFORM_KEY: 'k', AUDIT_LOG_FORWARD: 'calls' },
      'AUDIT_LOG_FORWARD',
    ],
    [
      'events without a control plane',
      { AUDIT_LOG: 'stdout', AUDIT_LOG_FORWARD: 'calls' },
      'AUDIT_LOG_FORWARD',
    ],
    [
      'a collector without a file',
      { AUDIT_LOG: 'stdout', AUDIT_LOG_OTLP_URL: 'http://otel:4318' },
      'AUDIT_LOG_OTLP_URL',
    ],
    [
      'itself as collector of the audit log',
      { AUDIT_LOG: 'file', AUDIT_LOG_PATH: '/a', AUDIT_LOG_OTLP_URL: 'http://localhost:4000' },
      'AUDIT_LOG_OTLP_URL',
    ],
    ['a collector without spans', { OTLP_FORWARD_URL: 'http://otel:4318' }, 'OTLP_FORWARD_URL'],
    [
      'the sidecar as its own collector',
      { OTLP_PORT: '4318', OTLP_FORWARD_URL: 'http://localhost:4318' },
      'OTLP_FORWARD_URL',
    ],
    [
      'the receiver of spans as the agent',
      { OTLP_PORT: '4318', UPSTREAM_URL: 'http://localhost:4318' },
      'UPSTREAM_URL',
    ],
    ['heartbeats without a credential', { PLATFORM_URL: 'https://cp' }, 'PLATFORM_URL'],
  ])('%s', (_title, env, name) => {
    expect(problemsOf(env).map((problem) => problem.name)).toEqual([name]);
  });
});

describe('UPSTREAM_URL on a port of the sidecar', () => {
  const own = [
    'localhost',
    'LOCALHOST.',
    'agent.localhost',
    '127.8.9.10',
    '[::1]',
    '0.0.0.0',
    '[::]',
    '[::ffff:127.0.0.1]',
    '2130706433',
    hostname(),
    ...Object.values(networkInterfaces()).flatMap((each) =>
      (each ?? []).map(({ address }) => (address.includes(':') ? `[${address}]` : address)),
    ),
  ];
  test.each(own)('at %s is rejected', (host) => {
    for (const port of ['4000', '4001']) {
      const problems = problemsOf({ UPSTREAM_URL: `http://${host}:${port}` });
      expect(problems.map(({ name }) => name)).toEqual(['UPSTREAM_URL']);
    }
    expect(readConfig({ UPSTREAM_URL: `http://${host}:8000` }).ok).toBe(true);
  });

  test.each(['192.0.2.7', 'agent.example', '[2001:db8::7]'])(
    'at %s is accepted, because the host is another machine',
    (host) => {
      expect(readConfig({ UPSTREAM_URL: `http://${host}:4000` }).ok).toBe(true);
    },
  );
});

describe('the policy engine setting', () => {
  test.each([
    [{}, 'none'],
    [{ POLICY_URL: 'http://opa:8181' }, 'opa'],
    [{ POLICY_ENGINE: 'opa', POLICY_URL: 'http://opa:8181' }, 'opa'],
    [{ POLICY_ENGINE: 'builtin' }, 'builtin'],
  ])('for %j is %s', (env, engine) => {
    expect(readConfig(env)).toMatchObject({ ok: true, config: { POLICY_ENGINE: engine } });
  });
});

describe('AGENT_ENV_NAMES', () => {
  test.each([
    ['A,B', { names: ['A', 'B'], partial: false }],
    ['A, B,*', { names: ['A', 'B'], partial: true }],
    ['*', { names: [], partial: true }],
    [',', { names: [], partial: false }],
    ['', null],
  ])('parses %j', (raw, expected) => {
    expect(readConfig({ AGENT_ENV_NAMES: raw })).toMatchObject({
      ok: true,
      config: { AGENT_ENV_NAMES: expected },
    });
  });
});

test.each(['two words', 'line\nfeed', 'kéy'])(
  'rejects a key that is not a valid header value, without showing it: %j',
  (key) => {
    expect(problemsOf({ PLATFORM_URL: 'https://cp', PLATFORM_KEY: key })).toEqual([
      {
        name: 'PLATFORM_KEY',
        value: '[secret]',
        wanted: 'a key of visible ASCII characters without spaces, or unset',
      },
    ]);
  },
);

test('the result never contains a secret', () => {
  const result = readConfig({ PLATFORM_URL: 'https://cp', PLATFORM_KEY: 'hunter2', PROXY_PORT: 'x' });
  expect(JSON.stringify(result)).not.toContain('hunter2');
});

test('rejects a short key for the names of persons, without showing it', () => {
  expect(problemsOf({ IDENTITY_HASH_KEY: 'short' })).toEqual([
    { name: 'IDENTITY_HASH_KEY', value: '[secret]', wanted: 'at least 32 characters, or unset' },
  ]);
});
