import { gunzipSync, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { OrganisationDirective } from '../../core/shapes/directive.ts';
import { parseConnectTarget } from '../../core/egress/connect-target.ts';
import { FAIL_OPEN } from '../../core/egress/fail-modes.ts';
import { VENDOR_LANES } from '../../core/egress/lane-variables.ts';
import { parseLanes, type Lane } from '../../core/egress/lanes.ts';
import type { Manifest } from '../../core/manifest/manifest.ts';
import { until } from '../../testing/time/until.ts';
import { CHAT } from '../../testing/sidecar/chat-vendor.ts';
import { post, startEgressRig, type EgressRig } from '../../testing/sidecar/egress-rig.ts';
import { EgressPolicy } from './egress-policy.ts';
import { McpMemory } from './mcp-memory.ts';

const NOTHING: OrganisationDirective = {
  models: [],
  tools: { allowed: [], forbidden: [] },
  hosts: [],
  maxMonthlyUSD: null,
  maxTokensPerDay: null,
};

let rig: EgressRig | null = null;
afterEach(async () => {
  await rig?.close();
  rig = null;
});

const offer = (name: string): object => ({ type: 'function', function: { name, parameters: {} } });
const RESPONSE = {
  ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'gpt-5' },
  usage: { prompt_tokens: 31, completion_tokens: 5, total_tokens: 36 },
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
};

/** A request that the manifest declares: model gpt-5 and tool search. */
async function ask(directive: Partial<OrganisationDirective>, mode: 'enforce' | 'track' = 'enforce') {
  rig = await startEgressRig({ directive: { ...NOTHING, ...directive }, mode });
  rig.vendor.respond = (_seen, response) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(RESPONSE));
  const body = {
    model: 'gpt-5',
    messages: [{ role: 'user', content: 'hi' }],
    max_tokens: 50,
    tools: [offer('search')],
  };
  const response = await post(rig.port, CHAT, body);
  return { status: response.status, text: response.body, sent: rig.vendor.requests };
}

test.each([
  ['a model', { models: [['openai/gpt-4*']] }, 'model_not_allowed (model gpt-5)'],
  ['a tool', { tools: { allowed: [], forbidden: ['sea*'] } }, 'tool_not_allowed (tools search)'],
  ['a tool outside a list', { tools: { allowed: [['pay']], forbidden: [] } }, 'tool_not_allowed'],
  ['the tokens of the day', { maxTokensPerDay: 10 }, 'daily_token_limit_exceeded'],
])('denies a declared call for %s that the organisation does not allow', async (_, directive, expected) => {
  const { status, text, sent } = await ask(directive);
  expect(status).toBe(403);
  expect(text).toContain(expected);
  expect(sent).toEqual([]);
});

test.each([
  ['no rules', {}],
  [
    'an allowed model and tool',
    { models: [['openai/*'], ['*']], tools: { allowed: [['s*']], forbidden: ['x'] } },
  ],
  ['a larger budget', { maxTokensPerDay: 1_000, maxMonthlyUSD: 100 }],
])('passes a call with %s', async (_, directive) => {
  expect((await ask(directive)).status).toBe(200);
});

test('only records it in the mode track', async () => {
  const { status } = await ask({ models: [['openai/gpt-4*']] }, 'track');
  expect(status).toBe(200);
  const log = rig?.egress.log;
  await until(() => log?.newest().length === 1);
  expect(log?.newest()).toMatchObject([{ violations: ['model_not_allowed'], blocked: false }]);
});

/** The manifest is the tenant's own, so it declares whatever its calls need. */
function policyOf(
  directive: Partial<OrganisationDirective>,
  { provider = 'openai', servers = [] as string[] } = {},
): EgressPolicy {
  const manifest = {
    spec: { model: { provider, id: 'gpt-4o' }, mcp: { servers: servers.map((name) => ({ name })) } },
  } as unknown as Manifest;
  return new EgressPolicy({
    ...{ mode: 'enforce', failModes: FAIL_OPEN, manifest: () => manifest, memory: new McpMemory() },
    evaluator: { evaluateEgress: () => ({ violations: [], state: 'none' }) },
    directive: () => ({ ...NOTHING, ...directive }),
    totals: () => ({ tokensToday: 0, costTodayUsd: 0 }),
  });
}

function violationsOf(
  lane: string,
  query: { model?: string; tools?: string[] },
  ...about: Parameters<typeof policyOf>
): readonly string[] {
  const policy = policyOf(...about);
  const decision = policy.evaluate({ request_type: 'egress_model_request', ...query }, laneOf(lane));
  if (decision instanceof Promise) throw new Error('the engine is synchronous');
  return decision.violations;
}

function laneOf(text: string): Lane {
  const parsed = parseLanes(text);
  if ('problem' in parsed) throw new Error(parsed.problem);
  return parsed.lanes[0]!;
}

describe('a tenant whose manifest declares what the calls need', () => {
  const OPENAI = `openai=${VENDOR_LANES.openai.upstream}`;
  const GATEWAY = 'compatible:corp=https://llm.example.com/v1';
  const ALLOWED = { models: [['openai/gpt-4o*', 'mistral/*']] };

  test.each<[string, string, string]>([
    ['a model of another vendor at that vendor', `anthropic=${VENDOR_LANES.anthropic.upstream}`, 'gpt-4o'],
    ['the same through the lane of its own vendor', `openai=${VENDOR_LANES.anthropic.upstream}/v1`, 'gpt-4o'],
    ['the same with a dot behind the host', `openai=${VENDOR_LANES.anthropic.upstream}.:443/v1`, 'gpt-4o'],
    ['a model of another maker at a gateway', GATEWAY, 'anthropic/gpt-4o'],
    ['the same behind two gateways', GATEWAY, 'openrouter/Anthropic/gpt-4o'],
    ['an alias of another maker', GATEWAY, 'x-ai/gpt-4o'],
    ['a model with a look-alike letter', OPENAI, 'gрt-4o'],
    ['a model with a character of no width', OPENAI, 'gpt\u200b-4o'],
    ['a model with a space in front', OPENAI, ' gpt-4o'],
    ['a fine-tuned model', OPENAI, 'ft:gpt-4o:tenant'],
  ])('cannot call %s', (_, lane, model) => {
    expect(violationsOf(lane, { model }, ALLOWED)).toEqual(['model_not_allowed']);
  });

  test.each<[string, string, string]>([
    ['in upper case', OPENAI, 'GPT-4O'],
    ['with its date', OPENAI, 'gpt-4o-2024-08-06'],
    ['with the path of a gateway', GATEWAY, 'openai/gpt-4o'],
    ['of a gateway without a path', GATEWAY, 'gpt-4o'],
    ['of the other allowed vendor', `mistral=${VENDOR_LANES.mistral.upstream}`, 'mistral-large'],
  ])('can call an allowed model %s', (_, lane, model) => {
    expect(violationsOf(lane, { model }, ALLOWED)).toEqual([]);
  });

  test.each<[string, string]>([
    ['the name alone', 'shell_exec'],
    ['the name of its server in front', 'files__shell_exec'],
    ['the form of Claude', 'mcp__files__shell_exec'],
    ['a server whose name begins with that of another', 'files-2.shell_exec'],
  ])('cannot offer a forbidden tool by %s', (_, tool) => {
    const directive = { tools: { allowed: [], forbidden: ['shell*'] } };
    const found = violationsOf(OPENAI, { tools: ['search', tool] }, directive, {
      servers: ['files', 'files-2'],
    });
    expect(found).toEqual(['tool_not_allowed']);
  });

  test.each<[string, string[]]>([
    ['mcp:files=https://evil.example.org/mcp', ['host_not_allowed']],
    ['openai=https://evil.example.org/v1', ['host_not_allowed']],
    ['mcp:files=https://10.evil.example.org/mcp', ['host_not_allowed']],
    ['mcp:files=https://tools.example.com/mcp', []],
    ['mcp:files=http://10.1.2.3:8080/mcp', []],
    ['mcp:files=http://127.0.0.1:8080/mcp', []],
    // Models, not hosts, are the check of a vendor's own address.
    [OPENAI, []],
  ])('can call through %s only an allowed host', (lane, expected) => {
    expect(violationsOf(lane, {}, { hosts: [['*.example.com', '10.*']] })).toEqual(expected);
  });

  test.each<[string, boolean | null]>([
    ['api.example.com:443', true],
    ['API.Example.COM.:8443', true],
    ['10.1.2.3:443', true],
    ['example.com:443', false],
    ['api.example.com.evil.org:443', false],
    ['evil-example.com:443', false],
    ['api.example.com..:443', true],
    ['10.evil.org:443', false],
    ['167772161:443', false],
    ['0x0a.0.0.1:443', false],
    ['[::ffff:10.0.0.1]:443', false],
    ['xn--exmple-4nf.com:443', false],
    // Not a target of CONNECT.
    ['api.example.com@evil.org:443', null],
    ['evil.org#.example.com:443', null],
    ['evil.org/.example.com:443', null],
    ['evil.org%2f.example.com:443', null],
    ['evil.org\u0000.example.com:443', null],
    ['api.exаmple.com:443', null],
    ['api。example。com:443', null],
  ])('can open a tunnel to %j: %s', (text, isAllowed) => {
    const target = parseConnectTarget(text);
    const policy = policyOf({ hosts: [['*.example.com', '10.*']] });
    expect(target === null ? null : policy.isAllowedHost(target.host)).toBe(isAllowed);
  });
});

test.each([
  ['not JSON', 'model=o9'],
  ['a list', '[{"model":"o9"}]'],
])('denies a body that is %s, because no rule can be compared with it', async (_, body) => {
  rig = await startEgressRig({ directive: { ...NOTHING, models: [['openai/gpt-*']] } });
  const response = await fetch(`${rig.url}${CHAT}`, { method: 'POST', body });
  expect([response.status, await response.text()]).toEqual([403, expect.stringContaining('body_unread')]);
  expect(rig.vendor.requests).toEqual([]);
});

test('compares every model of a gateway with the rules, however many are in front of it', async () => {
  rig = await startEgressRig({ directive: { ...NOTHING, models: [['openai/gpt-*']] }, engine: null });
  const models = [...Array.from({ length: 30 }, (_, index) => `gpt-${index}`), 'anthropic/claude'];
  const response = await post(rig.port, CHAT, { model: 'gpt-5', models, messages: [] });
  expect([response.status, response.body]).toEqual([403, expect.stringContaining('model_not_allowed')]);
  expect(rig.vendor.requests).toEqual([]);
});

test.each([
  ['enforce', 403],
  ['track', 200],
] as const)('until the rules are received, a lane in the mode %s responds %i', async (mode, status) => {
  rig = await startEgressRig({ directive: 'awaited', mode });
  rig.vendor.respond = (_seen, response) => void response.writeHead(200).end(JSON.stringify(RESPONSE));
  const response = await post(rig.port, CHAT, { model: 'gpt-5', messages: [] });
  expect(response.status).toBe(status);
  expect(rig.vendor.requests).toHaveLength(mode === 'track' ? 1 : 0);
});

describe('a forbidden tool that the model calls', () => {
  const call = { id: 'c1', type: 'function', function: { name: 'shell_exec', arguments: '{}' } };
  const answer = (message: object) =>
    JSON.stringify({ ...RESPONSE, choices: [{ index: 0, finish_reason: 'tool_calls', message }] });
  const chunk = (delta: object) =>
    `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', model: 'gpt-5', choices: [{ index: 0, delta }] })}\n\n`;
  const streamed = [
    chunk({ role: 'assistant', content: 'I ' }),
    chunk({ tool_calls: [{ index: 0, ...call, function: { name: 'shell_exec', arguments: '' } }] }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: '{"command":"shell_exec"}' } }] }),
    'data: [DONE]\n\n',
  ].join('');
  const plain = { role: 'assistant', content: null, tool_calls: [call] };
  const custom = {
    ...plain,
    tool_calls: [{ id: 'c', type: 'custom', custom: { name: 'shell_exec', input: '' } }],
  };
  const old = { role: 'assistant', content: null, function_call: { name: 'shell_exec', arguments: '{}' } };

  test.each<[string, string, string | Buffer, Record<string, string>]>([
    ['in a response', 'application/json', answer(plain), {}],
    ['as a custom tool', 'application/json', answer(custom), {}],
    ['as a function of the first version', 'application/json', answer(old), {}],
    ['in a stream', 'text/event-stream', streamed, {}],
    ['in a stream with the line ends of Windows', 'text/event-stream', streamed.replaceAll('\n', '\r\n'), {}],
    ['in a stream that is called text', 'text/plain', streamed, {}],
    ['in a compressed stream', 'text/event-stream', gzipSync(streamed), { 'content-encoding': 'gzip' }],
    ['in a compressed response', 'application/json', gzipSync(answer(plain)), { 'content-encoding': 'gzip' }],
    ['behind a byte order mark', 'application/json', `\ufeff${answer(plain)}`, {}],
    ['in a response that is not JSON', 'application/json', `${answer(plain)},`, {}],
  ])('does not reach the agent %s', async (_, contentType, body, headers) => {
    const directive = { ...NOTHING, tools: { allowed: [], forbidden: ['shell*'] } };
    rig = await startEgressRig({ directive, engine: null });
    rig.vendor.respond = (_seen, response) =>
      void response.writeHead(200, { 'content-type': contentType, ...headers }).end(body);
    const isStream = contentType.startsWith('text');
    const response = await post(rig.port, CHAT, { model: 'gpt-5', messages: [], stream: isStream });
    expect(rig.vendor.requests).toHaveLength(1);
    expect(gunzipped(response.bytes)).not.toContain('shell_exec');
  });

  test.each([
    ['once', { method: 'tools/call', params: { name: 'shell_exec', arguments: {} } }],
    [
      'with an escape',
      '{"jsonrpc":"2.0","id":1,"method":"tools\\/call","params":{"name":"\\u0073hell_exec"}}',
    ],
    ['in another case', '{"jsonrpc":"2.0","id":1,"Method":"tools/call","params":{"name":"shell_exec"}}'],
    [
      'with two names',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"shell_exec","Name":"a"}}',
    ],
    ['next to others', [{ method: 'ping' }, { method: 'tools/call', params: { name: 'shell_exec' } }]],
    ['in a body that is not JSON', "{'method': 'tools/call', 'params': {'name': 'shell_exec'}}"],
  ])('is not sent to an MCP server, %s', async (_, message) => {
    const directive = { ...NOTHING, tools: { allowed: [], forbidden: ['shell*'] } };
    rig = await startEgressRig({ directive, engine: null, lanes: 'mcp:files=vendor/mcp' });
    const whole = (each: object, id = 1) => ({ jsonrpc: '2.0', id, ...each });
    const body = Array.isArray(message)
      ? message.map((each, index) => whole(each, index))
      : typeof message === 'string'
        ? message
        : whole(message);
    await post(rig.port, '/mcp/files', body);
    expect(rig.vendor.requests).toEqual([]);
  });
});

function gunzipped(bytes: Buffer): string {
  return bytes[0] === 0x1f ? gunzipSync(bytes).toString() : bytes.toString();
}
