import { expect, test } from '@jest/globals';
import { DEFAULTED } from '../core/injection/annotations.ts';
import { readConfig } from './config.ts';

const IMAGE = { SIDECAR_IMAGE: 'agent-compliance/sidecar:1.0.0' };

test('requires only the sidecar image', () => {
  expect(readConfig({})).toEqual({
    ok: false,
    problems: [{ name: 'SIDECAR_IMAGE', value: '(unset)', wanted: 'an image reference' }],
  });
  expect(readConfig(IMAGE)).toEqual({
    ok: true,
    config: {
      ...Object.fromEntries(DEFAULTED.map(([, { chart }]) => [chart.variable, chart.default])),
      LOG_LEVEL: 'info',
      LOG_FORMAT: null,
      PORT: 9443,
      POD_NAMESPACE: 'platform-system',
      POD_IP: null,
      POD_TEMPLATE_HASH: null,
      WEBHOOK_SERVICE: 'agent-compliance-webhook',
      WEBHOOK_CONFIGURATION: 'agent-compliance',
      MANIFEST_CONFIGURATION: null,
      TLS_SECRET: 'agent-compliance-webhook-tls',
      CONTROL_PLANE_SERVICE: 'agent-compliance-control-plane',
      CONTROL_PLANE_PORT: 8080,
      CONTROL_PLANE_TLS_SECRET: 'agent-compliance-control-plane-tls',
      CANARY_POLICY: null,
      SIDECAR_IMAGE: 'agent-compliance/sidecar:1.0.0',
      SIDECAR_IMAGE_PULL_POLICY: 'IfNotPresent',
      SIDECAR_ALLOWED_IMAGES: [],
      SIDECAR_CPU_REQUEST: '5m',
      SIDECAR_CPU_LIMIT: 'none',
      SIDECAR_MEMORY_REQUEST: '96Mi',
      SIDECAR_MEMORY_LIMIT: '192Mi',
      SIDECAR_LOG_LEVEL: 'info',
      HEARTBEAT_SECONDS: 30,
      PROOF_WRITES: 'local',
      LLM_ANALYSIS_SECRET: null,
      LLM_ANALYSIS_SECRET_KEY: 'api-key',
      LLM_ANALYSIS_PROVIDER: 'anthropic-api',
      LLM_ANALYSIS_MODEL: null,
      LLM_ANALYSIS_BASE_URL: null,
      LLM_ANALYSIS_TIMEOUT_SECONDS: 60,
      LLM_ANALYSIS_TOKENS_PER_DAY: 200_000,
      LLM_ANALYSIS_USD_PER_DAY: 1,
      LLM_ANALYSIS_USD_PER_MILLION_INPUT_TOKENS: 5,
      LLM_ANALYSIS_USD_PER_MILLION_OUTPUT_TOKENS: 25,
      SIDECAR_OTLP_COLLECTOR: null,
      POLICY_ENGINE: 'builtin',
      OPA_IMAGE: null,
      OPA_CPU_REQUEST: '10m',
      OPA_CPU_LIMIT: '500m',
      OPA_MEMORY_REQUEST: '96Mi',
      ORGANISATION_ON_UNKNOWN: 'start',
      OPA_MEMORY_LIMIT: '192Mi',
      POLICY_MODE: 'track',
      POLICY_MINIMUM_MODE: 'off',
      POLICY_MINIMUM_COMPLIANT_GRADE: 'F',
      POLICY_MINIMUM_COMPLIANT_EVIDENCE: 0,
      KUBECONFIG: null,
    },
  });
});

test('parses a list of images', () => {
  const result = readConfig({ ...IMAGE, SIDECAR_ALLOWED_IMAGES: 'a:1, b@sha256:00 ,' });
  expect(result).toMatchObject({ ok: true, config: { SIDECAR_ALLOWED_IMAGES: ['a:1', 'b@sha256:00'] } });
});

test.each([
  ['PORT', '0'],
  ['POD_NAMESPACE', 'Platform'],
  ['POD_IP', 'webhook.example'],
  ['POD_TEMPLATE_HASH', 'A/b'],
  ['WEBHOOK_SERVICE', 'a.b'],
  ['WEBHOOK_CONFIGURATION', 'a_b'],
  ['TLS_SECRET', '-'],
  ['CONTROL_PLANE_SERVICE', 'https://x'],
  ['CONTROL_PLANE_PORT', '70000'],
  ['CONTROL_PLANE_TLS_SECRET', 'A'],
  ['CANARY_POLICY', 'a_b'],
  ['SIDECAR_IMAGE', 'two words'],
  ['SIDECAR_IMAGE_PULL_POLICY', 'always'],
  ['SIDECAR_ALLOWED_IMAGES', 'good:1,not good'],
  ['SIDECAR_CPU_REQUEST', 'lots'],
  ['SIDECAR_CPU_LIMIT', '0'],
  ['SIDECAR_MEMORY_REQUEST', '1'],
  ['SIDECAR_MEMORY_LIMIT', '32Mi'],
  ['SIDECAR_LOG_LEVEL', 'trace'],
  ['HEARTBEAT_SECONDS', '9'],
  ['PROOF_WRITES', 'none'],
  ['LLM_ANALYSIS_SECRET', 'My Secret'],
  ['LLM_ANALYSIS_SECRET_KEY', 'a b'],
  ['LLM_ANALYSIS_PROVIDER', 'claude-subscription'],
  ['LLM_ANALYSIS_MODEL', 'a b'],
  ['LLM_ANALYSIS_BASE_URL', 'ftp://llm'],
  ['LLM_ANALYSIS_TIMEOUT_SECONDS', '0'],
  ['LLM_ANALYSIS_TOKENS_PER_DAY', 'many'],
  ['LLM_ANALYSIS_USD_PER_DAY', '1e3'],
  ['LLM_ANALYSIS_USD_PER_MILLION_INPUT_TOKENS', '-1'],
  ['LLM_ANALYSIS_USD_PER_MILLION_OUTPUT_TOKENS', '0.00001'],
  ['SIDECAR_OTLP_COLLECTOR', 'collector:4318'],
  ['POLICY_ENGINE', 'cedar'],
  ['OPA_IMAGE', 'two words'],
  ['OPA_CPU_REQUEST', 'lots'],
  ['OPA_CPU_LIMIT', '0'],
  ['OPA_MEMORY_REQUEST', '1'],
  ['OPA_MEMORY_LIMIT', '1Mi'],
  ['POLICY_MODE', 'block'],
  ['POLICY_MINIMUM_MODE', 'none'],
  ['POLICY_MINIMUM_COMPLIANT_GRADE', 'E'],
  ['POLICY_MINIMUM_COMPLIANT_EVIDENCE', '101'],
  ['LOG_LEVEL', 'loud'],
])('reports the invalid value %s=%s', (name, value) => {
  const result = readConfig({ ...IMAGE, [name]: value });
  expect(result.ok ? [] : result.problems.map((problem) => [problem.name, problem.value])).toEqual([
    [name, value],
  ]);
});

test('requires an image for the engine opa, without a default', () => {
  const problems = (env: Record<string, string>) => {
    const result = readConfig({ ...IMAGE, ...env });
    return result.ok ? [] : result.problems;
  };
  expect(problems({ POLICY_ENGINE: 'opa' })).toEqual([
    { name: 'OPA_IMAGE', value: '(unset)', wanted: 'an image reference, since POLICY_ENGINE is opa' },
  ]);
  expect(problems({ SIDECAR_CPU_REQUEST: '64', OPA_CPU_REQUEST: '64', OPA_CPU_LIMIT: 'none' })).toEqual([]);
  expect(problems({ POLICY_ENGINE: 'opa', OPA_IMAGE: 'mirror/opa:1.22.0-static' })).toEqual([]);
  expect(problems({ OPA_CPU_REQUEST: '2', OPA_MEMORY_LIMIT: '96Mi', OPA_MEMORY_REQUEST: '97Mi' })).toEqual([
    { name: 'OPA_CPU_REQUEST', value: '2', wanted: 'at most OPA_CPU_LIMIT, which is 500m' },
    { name: 'OPA_MEMORY_REQUEST', value: '97Mi', wanted: 'at most OPA_MEMORY_LIMIT, which is 96Mi' },
  ]);
});

test('reports all invalid combinations of valid values', () => {
  const result = readConfig({
    ...IMAGE,
    SIDECAR_MEMORY_REQUEST: '1Gi',
    SIDECAR_CPU_LIMIT: '4m',
    POLICY_MODE: 'track',
    POLICY_MINIMUM_MODE: 'enforce',
  });
  expect(result).toEqual({
    ok: false,
    problems: [
      { name: 'SIDECAR_CPU_REQUEST', value: '5m', wanted: 'at most SIDECAR_CPU_LIMIT, which is 4m' },
      {
        name: 'SIDECAR_MEMORY_REQUEST',
        value: '1Gi',
        wanted: 'at most SIDECAR_MEMORY_LIMIT, which is 192Mi',
      },
      { name: 'POLICY_MODE', value: 'track', wanted: 'at least POLICY_MINIMUM_MODE, which is enforce' },
    ],
  });
});

test('reports invalid combinations in addition to invalid values', () => {
  const result = readConfig({
    ...IMAGE,
    PORT: 'x',
    SIDECAR_CPU_REQUEST: '2',
    SIDECAR_CPU_LIMIT: '1',
    SIDECAR_MEMORY_REQUEST: '1Gi',
    SIDECAR_MEMORY_LIMIT: 'much',
  });
  expect(result.ok ? [] : result.problems.map(({ name, value }) => [name, value])).toEqual([
    ['PORT', 'x'],
    ['SIDECAR_MEMORY_LIMIT', 'much'],
    ['SIDECAR_CPU_REQUEST', '2'],
  ]);
});
