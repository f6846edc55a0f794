import { describe, expect, test } from '@jest/globals';
import { isDeepStrictEqual } from 'node:util';
import { applyPatch } from '../../testing/cluster/json-patch.ts';
import { anyPodWithLanes } from '../../testing/cluster/any-pod.ts';
import { injectionSettings, optedInPod } from '../../testing/cluster/pods.ts';
import fc, { runs } from '../../testing/random/properties.ts';
import { parseNotRewritten } from '../egress/not-rewritten.ts';
import { decide } from './decide.ts';
import { EGRESS_PATTERNS } from './egress.ts';
import { inject, uninject } from './inject.ts';
import { patchBetween } from './patch.ts';
import type { EnvVariable, Pod } from './pod.ts';

const CURRENT = injectionSettings();

function injected(pod: Pod, settings = CURRENT): Pod {
  const decision = decide(pod, settings);
  if (decision.action !== 'inject') throw new Error(`not injected: ${JSON.stringify(decision)}`);
  return inject(pod, decision, settings);
}

const agentEnv = ({ spec }: Pod): EnvVariable[] => spec.containers[0]?.env ?? [];
const sidecarEnv = ({ spec }: Pod): Record<string, string | undefined> =>
  Object.fromEntries((spec.initContainers?.[0]?.env ?? []).map(({ name, value }) => [name, value]));
const lanesOf = (pod: Pod): string[] => (sidecarEnv(pod)['EGRESS_LANES'] ?? '').split(',').filter(Boolean);

/** The pod without empty lists and maps, which mean the same as absent ones. */
function withoutEmpties(pod: Pod): unknown {
  return JSON.parse(
    JSON.stringify(pod, (key, value: unknown) =>
      ['labels', 'annotations', 'initContainers', 'volumes', 'env'].includes(key) &&
      typeof value === 'object' &&
      value !== null &&
      Object.keys(value).length === 0
        ? undefined
        : value,
    ),
  );
}

const invariant = (name: string, check: (pod: Pod) => void) =>
  test(name, () => {
    fc.assert(fc.property(anyPodWithLanes, check), { numRuns: runs(150) });
  });

/** Same as toEqual, but cheap for equal values. */
function same(actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(actual, expected)) expect(actual).toEqual(expected);
}

invariant('injecting a pod with lanes twice equals injecting it once', (pod) => {
  same(injected(injected(pod)), injected(pod));
  same(patchBetween(injected(pod), injected(injected(pod))), []);
});

invariant('uninject restores a pod with lanes, except for empty lists and maps', (pod) => {
  same(withoutEmpties(uninject(injected(pod))), withoutEmpties(pod));
});

invariant(
  'a pod with lanes that an older injector changed becomes equal to a freshly injected pod',
  (pod) => {
    const old = injected(pod, { ...CURRENT, version: '0.0.1', configHash: 'old', image: 'old:1' });
    same(withoutEmpties(injected(old)), withoutEmpties(injected(pod)));
  },
);

invariant('the patch turns a pod with lanes into the injected pod', (pod) => {
  same(applyPatch(pod, patchBetween(pod, injected(pod))), injected(pod));
});

invariant('only literals of the agent are changed, and only variables without a value are added', (pod) => {
  const [plain, changed] = [agentEnv(pod), agentEnv(injected(pod))];
  same(
    changed.slice(0, plain.length).map(({ name, valueFrom }) => ({ name, valueFrom })),
    plain.map(({ name, valueFrom }) => ({ name, valueFrom })),
  );
  for (const [index, { value, valueFrom }] of plain.entries()) {
    if (valueFrom !== undefined || value?.includes('$(') === true) same(changed[index], plain[index]);
  }
  const names = new Set(plain.map(({ name }) => name));
  expect(changed.slice(plain.length).filter(({ name }) => names.has(name))).toEqual([]);
  same(injected(pod).spec.containers.slice(1), pod.spec.containers.slice(1));
});

invariant('an agent that has a variable for Azure never gets OPENAI_BASE_URL', (pod) => {
  const hasOwn = agentEnv(pod).some(({ name }) => name === 'OPENAI_BASE_URL');
  const isAzure =
    agentEnv(pod).some(({ name }) => name.startsWith('AZURE_OPENAI_')) ||
    pod.metadata?.annotations?.['platform.io/egress-lanes']?.split(',').includes('azure') === true;
  if (isAzure && !hasOwn)
    expect(agentEnv(injected(pod)).map(({ name }) => name)).not.toContain('OPENAI_BASE_URL');
});

invariant('the variables of the sidecar match the patterns of the guard, and name each lane once', (pod) => {
  const env = sidecarEnv(injected(pod));
  for (const [name, pattern] of Object.entries(EGRESS_PATTERNS)) {
    const value = env[name];
    if (value !== undefined)
      expect(value).toMatch(new RegExp(pattern.replace('{modes}', 'off|track|enforce')));
  }
  const ids = lanesOf(injected(pod)).map((entry) => entry.split('=')[0]);
  expect(new Set(ids).size).toBe(ids.length);
  expect(parseNotRewritten(env['EGRESS_NOT_REWRITTEN'] ?? '') === null).toBe(
    env['EGRESS_NOT_REWRITTEN'] === undefined,
  );
});

invariant('the names that a manifest can refer to are those of the pod, without its lanes', (pod) => {
  const { annotations = {} } = pod.metadata ?? {};
  const others = Object.entries(annotations).filter(([name]) => !name.startsWith('platform.io/egress-'));
  const plain = { ...pod, metadata: { ...pod.metadata, annotations: Object.fromEntries(others) } };
  expect(sidecarEnv(injected(pod))['AGENT_ENV_NAMES']).toBe(sidecarEnv(injected(plain))['AGENT_ENV_NAMES']);
});

/** Joins a base URL and the rest of a path, as clients do. */
const join = (base: string, rest: string): string => base.replace(/\/$/, '') + rest;

test.each([
  ['OPENAI_BASE_URL', 'https://llm.corp.example/llm', '/chat/completions'],
  ['OPENAI_BASE_URL', 'https://llm.corp.example/openai/v1', '/chat/completions'],
  ['OPENAI_BASE_URL', 'https://llm.corp.example:8443/v1/', '/responses'],
  ['OPENAI_API_BASE', 'http://llm.corp.example', '/v1/chat/completions'],
  ['ANTHROPIC_BASE_URL', 'https://llm.corp.example/claude', '/v1/messages'],
  ['GROQ_API_BASE', 'https://llm.corp.example/groq/openai/v1', '/chat/completions'],
  ['AZURE_OPENAI_ENDPOINT', 'https://corp.openai.azure.com/', '/openai/deployments/x/chat/completions'],
  ['OLLAMA_HOST', 'https://ollama.corp.example/a', '/api/chat'],
])('a call by %s=%s reaches the same URL through its lane', (name, value, rest) => {
  const pod = optedInPod({
    annotations: { 'platform.io/egress-lanes': 'openai,anthropic,groq,azure,ollama' },
    container: { env: [{ name, value }] },
  });
  const after = injected(pod);
  const written = agentEnv(after).find((variable) => variable.name === name)?.value ?? '';
  const url = new URL(join(written, rest));
  const [, id = '', ...path] = url.pathname.split('/');
  expect(url.origin).toBe('http://127.0.0.1:4002');
  const upstream =
    lanesOf(after)
      .find((entry) => entry.startsWith(`${id}=`))
      ?.slice(id.length + 1) ?? '';
  expect([upstream, ...path].join('/')).toBe(join(value, rest));
});

test('a value that was changed after the injection is kept', () => {
  const pod = optedInPod({
    annotations: { 'platform.io/egress-lanes': 'openai' },
    container: { env: [{ name: 'OPENAI_BASE_URL', value: 'https://llm.corp.example/v1' }] },
  });
  const changed = structuredClone(injected(pod));
  const [variable] = agentEnv(changed);
  if (variable) variable.value = 'https://other.example/v1';
  expect(agentEnv(uninject(changed))).toEqual([
    { name: 'OPENAI_BASE_URL', value: 'https://other.example/v1' },
  ]);
});

test('another webhook may add variables between two calls of the injector', () => {
  const pod = optedInPod({
    annotations: { 'platform.io/egress-lanes': 'openai', 'platform.io/egress-connect': 'log' },
  });
  const added = { name: 'TRACE', value: '1' };
  const between = structuredClone(injected(pod));
  between.spec.containers[0]?.env?.push(added);
  const direct = optedInPod({
    annotations: { 'platform.io/egress-lanes': 'openai', 'platform.io/egress-connect': 'log' },
    container: { env: [added] },
  });
  expect(injected(between)).toEqual(injected(direct));
});

test('a message about the value of a variable never contains the value', () => {
  const value = 'https://user:hunter2@llm.corp.example/v1';
  const decision = decide(
    optedInPod({
      annotations: { 'platform.io/egress-lanes': 'openai' },
      container: { env: [{ name: 'OPENAI_BASE_URL', value }] },
    }),
    CURRENT,
  );
  expect(decision).toMatchObject({ action: 'refuse', rejections: [{ code: 'egress-lanes-invalid' }] });
  expect(JSON.stringify(decision)).not.toContain('hunter2');
});

describe('a value of a variable cannot become another lane or another setting of the sidecar', () => {
  const withValue = (value: string) =>
    optedInPod({
      annotations: { 'platform.io/egress-lanes': 'openai,mcp:files=FILES_MCP_URL' },
      container: {
        env: [
          { name: 'OPENAI_BASE_URL', value },
          { name: 'FILES_MCP_URL', value },
        ],
      },
    });

  test.each([
    'https://a,mcp:evil=http://169.254.169.254',
    'https://a/v1,anthropic=http://169.254.169.254',
    'https://a=b/v1',
    'https://a/v1 openai=https://b',
    'https://a\nEGRESS_MODE=off',
    'https://a%0aEGRESS_MODE/../..\\x',
    'https://key@a/v1',
    'https://a/v1?key=secret',
    'https://[::1]:4002/v1',
    'file:///etc/passwd',
    'http://localhost.:4002/openai/v1',
    'http://sidecar.localhost:4001/',
    'http://0x7f000001:4002/openai/v1',
    'http://0:4002/',
  ])('%j is rejected', (value) => {
    const decision = decide(withValue(value), CURRENT);
    const codes = decision.action === 'refuse' ? decision.rejections.map(({ code }) => code) : [];
    // One for each variable.
    expect(codes).toEqual(['egress-lanes-invalid', 'egress-lanes-invalid']);
  });

  test.each(['$(SECRET)', 'https://$(HOST)/v1', 'https://a$(X),mcp:evil=http://b'])(
    '%j stays as it is, and only the default upstream is called',
    (value) => {
      const after = injected(withValue(value));
      expect(agentEnv(after).map((variable) => variable.value)).toEqual([value, value]);
      expect(lanesOf(after)).toEqual(['openai=https://api.openai.com']);
    },
  );
});
