// Traps that real clients have set for the egress lanes, each with the client or the bytes that showed it.
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { namedLanes } from '../../core/egress/lane-annotation.ts';
import { routeLanes } from '../../core/injection/egress-lanes.ts';
import { whyNoPackages, type Client } from '../frameworks/programs.ts';
import type { Packages } from '../frameworks/row.ts';
import { SESSION_CREATED } from './lane-vendor.ts';
import { TOKEN } from './mcp-oauth.ts';
import { startLaneRig, type LaneRig } from './lane-rig.ts';
import { DELETE, MULTIPLY, observe, type Outcome } from './run-client.ts';
import { AZURE_HOST, GATEWAY_HOST, VERTEX_HOST } from './vendor-routes.ts';

let rig: LaneRig;
const opened: Client[] = [];
beforeAll(async () => {
  rig = await startLaneRig();
});
afterEach(() => Promise.all(opened.splice(0).map((client) => client.close())));
afterAll(() => rig.close());

const base = (): string => `http://127.0.0.1:${rig.port}`;

function client(program: string, env: Record<string, string>): Client {
  const packages: Packages = program.endsWith('.py') ? 'python' : 'none';
  const started = rig.programs.client(program, packages, env);
  opened.push(started);
  return started;
}

const openai = (program: string): Client =>
  client(program, { OPENAI_BASE_URL: `${base()}/openai/v1`, OPENAI_API_KEY: 'key-of-openai' });

const PYTHON = whyNoPackages('python', process.env['SOAK'] === '1') === undefined ? ['py'] : [];

describe('an agent with Azure OpenAI', () => {
  const azure = { AZURE_OPENAI_ENDPOINT: `https://${AZURE_HOST}`, AZURE_OPENAI_API_KEY: 'key-of-azure' };

  test('gets no OPENAI_BASE_URL, even with the lane openai, and its key reaches only Azure', async () => {
    const env = Object.entries(azure).map(([name, value]) => ({ name, value }));
    const { written } = routeLanes({ name: 'agent', env }, namedLanes('openai,azure'), rig.port);
    const values = Object.fromEntries(written.map(({ name, value }) => [name, value]));
    expect(values).toEqual({ AZURE_OPENAI_ENDPOINT: `${base()}/azure` });
    const program = client('lane-azure-openai.mjs', { ...azure, ...values });
    const { outcome, vendor } = await observe({ rig, client: program, form: 'text' }, { name: 'azure' });
    expect(outcome.error).toBeUndefined();
    expect(vendor.map(({ host, key }) => [host, key])).toEqual([[AZURE_HOST, 'key-of-azure']]);
  });

  test('would send its key to OpenAI with that variable: the client prefers it', async () => {
    const program = client('lane-azure-openai.mjs', {
      ...azure,
      AZURE_OPENAI_ENDPOINT: `${base()}/azure`,
      OPENAI_BASE_URL: `${base()}/openai/v1`,
    });
    const { outcome, vendor } = await observe(
      { rig, client: program, form: 'text' },
      { name: 'azure trap' },
      0,
    );
    expect(outcome.error?.[0]?.status).toBe(404);
    expect(vendor).toEqual([]);
    expect(rig.vendor.others).toEqual([expect.stringMatching(/^POST api\.openai\.com \/v1\/deployments\//)]);
  });
});

describe('the usage that the lane requests in a stream of chat completions', () => {
  test.each(['mjs', ...PYTHON])('is not seen by the usual loop of %s', async (language) => {
    const program = openai(`lane-openai-chat.${language}`);
    const { outcome, vendor, log } = await observe(
      { rig, client: program, form: 'stream' },
      { name: 'usage' },
    );
    expect(vendor[0]?.body['stream_options']).toEqual({ include_usage: true });
    expect(outcome.error).toBeUndefined();
    expect(JSON.stringify(outcome)).not.toContain('prompt_tokens');
    expect(log[0]?.usage).toMatchObject({ promptTokens: 31, completionTokens: 5 });
  });

  test('stays in the stream of a client that requested it', async () => {
    const response = await stream('/openai/v1/chat/completions', {
      ...CHAT,
      stream_options: { include_usage: true },
    });
    expect(response.at(-2)).toContain('"prompt_tokens":31');
    const without = await stream('/openai/v1/chat/completions', CHAT);
    expect(without.join('')).not.toContain('usage');
    expect(without.at(-1)).toContain('[DONE]');
  });
});

describe('a conversation that the vendor keeps', () => {
  test.each(['mjs', ...PYTHON])(
    'gets 403 for a forbidden call, and no stripped response (%s)',
    async (language) => {
      const scenario = { name: 'stored', calls: [MULTIPLY, DELETE] };
      const program = openai(`lane-openai-responses.${language}`);
      const { outcome, vendor, log } = await observe(
        { rig, client: program, form: 'stored forbidden' },
        scenario,
      );
      expect(outcome.error?.[0]).toMatchObject({ status: 403 });
      expect(outcome.error?.[0]?.type).toMatch(/PermissionDeniedError$/);
      expect(vendor).toHaveLength(1);
      expect(log).toMatchObject([
        { statusCode: 403, blocked: true, violations: ['destructive_tool_without_confirmation'] },
      ]);
    },
  );

  test('a tool that the vendor runs is denied at the request', async () => {
    const program = openai('lane-openai-responses.mjs');
    const { outcome, vendor, log } = await observe(
      { rig, client: program, form: 'web search' },
      { name: 'web' },
      1,
    );
    expect(outcome.error?.[0]).toMatchObject({ type: 'PermissionDeniedError', status: 403 });
    expect(vendor).toEqual([]);
    expect(log).toMatchObject([
      { toolsOffered: ['web_search'], violations: ['tool_not_declared'], blocked: true },
    ]);
  });
});

describe('OpenAI’s realtime API', () => {
  test('the client for JavaScript requires TLS and cannot use the lane: it raises its own error, as documented', async () => {
    rig.vendor.begin({ name: 'realtime' });
    const { error } = JSON.parse(await openai('lane-realtime.mjs').call('session', '')) as Outcome;
    expect(error?.map(({ message }) => message).join('\n')).toMatch(/wrong version number|wss:/);
    expect(rig.vendor.others).toEqual([]);
  });

  test.each(['native session', 'session with an agent'])(
    'the client for JavaScript passes the CONNECT lane, which sees host, port and the name in the handshake (%s)',
    async (form) => {
      const program = client('lane-realtime.mjs', {
        ...{ OPENAI_BASE_URL: 'https://api.openai.com/v1', OPENAI_API_KEY: 'key-of-openai' },
        ...{ HTTPS_PROXY: rig.connectUrl, NODE_USE_ENV_PROXY: '1', NODE_EXTRA_CA_CERTS: rig.caFile },
      });
      const since = await rig.lastCall();
      const { result, error } = JSON.parse(await program.call(form, '')) as Outcome;
      expect(error).toBeUndefined();
      expect(result?.received).toMatchObject({ type: SESSION_CREATED.type });
      expect(await rig.callsAfter(since, 1)).toMatchObject([
        {
          ...{ lane: 'connect', method: 'CONNECT', path: 'api.openai.com:443', statusCode: 200 },
          // The model of the session is inside the TLS connection.
          ...{ model: null, violations: [], blocked: false },
        },
      ]);
    },
  );

  for (const language of PYTHON)
    test(`the client for Python passes the lane as WebSocket (${language})`, async () => {
      const { result, error } = JSON.parse(await openai('lane-realtime.py').call('session', '')) as Outcome;
      expect(error).toBeUndefined();
      expect(result?.received).toMatchObject({ type: SESSION_CREATED.type });
    });
});

describe('an MCP server that requires OAuth', () => {
  const shop = (url: string, language: string): Client =>
    client(`lane-mcp-oauth.${language}`, { SHOP_MCP_URL: url, TOKEN });
  const tools = ['multiply', 'delete_order'];

  test.each(['mjs', ...PYTHON])(
    'has another address than the lane, so clients that get tokens themselves raise their own error, as documented (%s)',
    async (language) => {
      const direct = JSON.parse(await shop(rig.at.mcpProtected, language).call('oauth', '')) as Outcome;
      expect(direct).toEqual({ result: tools });
      const outcome = await shop(`${base()}/mcp/protected`, language).call('oauth', '');
      expect((JSON.parse(outcome) as Outcome).error).toBeDefined();
      expect(outcome).toContain(
        `Protected resource ${rig.at.mcpProtected} does not match expected ${base()}`,
      );
    },
  );

  test.each(['mjs', ...PYTHON])('serves clients with a token through the lane (%s)', async (language) => {
    const since = await rig.lastCall();
    const outcome = await shop(`${base()}/mcp/protected`, language).call('token', '');
    expect(JSON.parse(outcome)).toEqual({ result: tools });
    const calls = await rig.callsAfter(since, (all) =>
      all.some(({ toolsOffered }) => toolsOffered.length > 0),
    );
    expect(calls.find(({ toolsOffered }) => toolsOffered.length > 0)).toMatchObject({
      lane: 'mcp:protected',
      toolsOffered: tools,
    });
  });
});

const MESSAGES = [{ role: 'user', content: 'hi' }];
const CHAT = { model: 'gpt-4o-mini', messages: MESSAGES, stream: true };

async function stream(path: string, body: object): Promise<string[]> {
  rig.vendor.begin({ name: 'raw' });
  const response = await fetch(base() + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return (await response.text()).split(/\r?\n\r?\n/).filter((text) => text !== '');
}

describe('the paths of clients, which disagree about the base URL', () => {
  const messages = { model: 'claude-sonnet-4-5', max_tokens: 5, messages: MESSAGES };
  const gemini = { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] };
  const chat = (model: string): object => ({ model, messages: MESSAGES });
  const [gpt, llama, mistral, command] = [
    chat('gpt-4o-mini'),
    chat('llama-3.3-70b-versatile'),
    chat('mistral-small-latest'),
    chat('command-a-03-2025'),
  ];
  const google = 'gemini-2.5-flash:generateContent';
  const azure = 'deployments/gpt-4o-mini/chat/completions?api-version=2024-10-21';

  test.each([
    ['/anthropic/v1/messages', messages, 'api.anthropic.com', '/v1/messages'],
    ['/anthropic/messages', messages, 'api.anthropic.com', '/v1/messages'],
    ['/openai/v1/chat/completions', gpt, 'api.openai.com', '/v1/chat/completions'],
    ['/openai/chat/completions', gpt, 'api.openai.com', '/v1/chat/completions'],
    ['/groq/openai/v1/chat/completions', llama, 'api.groq.com', '/openai/v1/chat/completions'],
    ['/groq/v1/chat/completions', llama, 'api.groq.com', '/openai/v1/chat/completions'],
    ['/groq/chat/completions', llama, 'api.groq.com', '/openai/v1/chat/completions'],
    ['/mistral/v1/chat/completions', mistral, 'api.mistral.ai', '/v1/chat/completions'],
    ['/mistral/chat/completions', mistral, 'api.mistral.ai', '/v1/chat/completions'],
    ['/cohere/v2/chat', command, 'api.cohere.com', '/v2/chat'],
    ['/cohere/chat', command, 'api.cohere.com', '/v2/chat'],
    [
      `/gemini/v1beta/models/${google}`,
      gemini,
      'generativelanguage.googleapis.com',
      `/v1beta/models/${google}`,
    ],
    [`/gemini/models/${google}`, gemini, 'generativelanguage.googleapis.com', `/v1beta/models/${google}`],
    [
      `/vertex/v1/publishers/google/models/${google}`,
      gemini,
      VERTEX_HOST,
      `/v1/publishers/google/models/${google}`,
    ],
    [`/azure/openai/${azure}`, gpt, AZURE_HOST, '/openai/deployments/gpt-4o-mini/chat/completions'],
    ['/compatible/corp/v1/chat/completions', gpt, GATEWAY_HOST, '/llm/v1/chat/completions'],
  ])('%s', async (path, body, host, expected) => {
    rig.vendor.begin({ name: path });
    const response = await fetch(base() + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    expect([response.status, rig.vendor.others]).toEqual([200, []]);
    await response.text();
    expect(rig.vendor.calls.map((call) => [call.host, call.path])).toEqual([[host, expected]]);
  });
});
