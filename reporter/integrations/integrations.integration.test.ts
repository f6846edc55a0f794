// Real frameworks with the integrations, against a vendor that knows what it billed and a sidecar that records its events.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { BehavioralEvent } from '../../core/shapes/events.ts';
import type { EventBatch } from '../../core/shapes/events.ts';
import { parseBehaviorHeaders } from '../../core/behavior/parse-behavior-headers.ts';
import { freePorts } from '../../examples/demo/free-ports.ts';
import { Programs, whyNoPackages, type Served } from '../../testing/frameworks/programs.ts';
import type { Packages } from '../../testing/frameworks/row.ts';
import { startVendor, type Vendor } from '../../testing/frameworks/vendor.ts';

/** What a form must show; the vendor and the agent state how often. */
interface Form {
  name: string;
  /** The model's tool in this form; null: none is called. */
  tool?: { name: string; success?: boolean } | null;
  /** The latency of tools; false: not known. */
  hasLatency?: boolean;
  blocked?: boolean;
  denied?: boolean;
  /** Default: the declared one. */
  guardrails?: readonly string[];
}

interface Framework {
  name: string;
  packages: Packages;
  integration: string;
  program: string;
  env?: Record<string, string>;
  forms: readonly Form[];
}

const callTool = (name: string): object => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: { a: 6, b: 7 } },
});

/** `version`: of packages that are installed under other names. */
const aiSdk = (forms: readonly Form[], version?: number): Framework => ({
  name: version === undefined ? 'AI SDK' : `AI SDK ${version}`,
  packages: 'node',
  integration: 'ai-sdk',
  program: 'observed-ai-sdk.mjs',
  env:
    version === undefined
      ? {}
      : {
          AI_SDK: `ai-${version}`,
          AI_SDK_OPENAI: `ai-${version}-openai`,
          AI_SDK_ANTHROPIC: `ai-${version}-anthropic`,
        },
  forms,
});
const AI_SDK_FORMS: readonly Form[] = [
  { name: 'whole' },
  { name: 'responses' },
  { name: 'stream' },
  { name: 'stream of Anthropic' },
  { name: 'failing tool', tool: { name: 'multiply', success: false } },
  { name: 'guardrail as tool', tool: null, guardrails: ['pii-detector', 'pii-tool'] },
  { name: 'blocked', blocked: true },
  { name: 'denied', denied: true },
  { name: 'denied stream', denied: true },
];

const FRAMEWORKS: readonly Framework[] = [
  aiSdk([...AI_SDK_FORMS, { name: 'without telemetry', hasLatency: false }]),
  // Its telemetry of tools cannot be disabled.
  aiSdk(AI_SDK_FORMS, 6),
  // It has no telemetry of tools, and the head of a stream is sent before the result of a tool is known.
  aiSdk(
    AI_SDK_FORMS.map((form) => ({
      ...form,
      ...(form.name.startsWith('stream') && { tool: { name: 'multiply' } }),
      hasLatency: false,
    })),
    5,
  ),
  {
    name: 'Mastra',
    packages: 'node',
    integration: 'mastra',
    program: 'observed-mastra.mjs',
    forms: [
      { name: 'whole' },
      { name: 'stream' },
      { name: 'failing tool', tool: { name: 'multiply', success: false } },
      { name: 'renamed guardrail' },
      { name: 'blocked', blocked: true },
      { name: 'denied', denied: true },
    ],
  },
  {
    name: 'OpenAI Agents',
    packages: 'node',
    integration: 'openai-agents',
    program: 'observed-openai-agents.mjs',
    forms: [
      { name: 'whole' },
      { name: 'chat completions' },
      { name: 'stream' },
      { name: 'stream of chat completions' },
      { name: 'failing tool', tool: { name: 'multiply', success: false } },
      { name: 'renamed guardrail' },
      { name: 'guardrail in parallel' },
      { name: 'blocked', blocked: true },
      { name: 'denied', denied: true },
      { name: 'denied stream', denied: true },
    ],
  },
  {
    name: 'LangGraph',
    packages: 'node',
    integration: 'langchain',
    program: 'observed-langchain.mjs',
    forms: [
      { name: 'whole' },
      { name: 'responses' },
      { name: 'agent with middleware' },
      { name: 'stream' },
      { name: 'failing tool', tool: { name: 'multiply', success: false } },
      { name: 'blocked', blocked: true },
      { name: 'denied', denied: true },
      { name: 'denied stream', denied: true },
    ],
  },
];

const MANIFEST_MODEL = 'gpt-4o-mini';

let vendor: Vendor;
let sidecar: Server;
let agent: { served: Served; url: string } | null = null;
const programs = new Programs();
const events = new Map<string, BehavioralEvent[]>();

beforeAll(async () => {
  vendor = await startVendor();
  sidecar = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (piece: string) => (text += piece));
    request.on('end', () => {
      const { requestId, events: reported } = JSON.parse(text) as EventBatch;
      events.set(String(requestId), [...(events.get(String(requestId)) ?? []), ...reported]);
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"status":"recorded"}');
    });
  });
  await new Promise<void>((resolve) => sidecar.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  await programs.close();
  await vendor?.close();
  sidecar?.close();
});

async function start({
  program,
  packages,
  integration,
  env = {},
}: Omit<Framework, 'forms' | 'name'>): Promise<void> {
  const [port = 0] = await freePorts(1);
  const served = await programs.serve(program, packages, {
    PORT: String(port),
    MODEL_URL: `${vendor.url}/v1`,
    PLATFORM_SIDECAR_URL: `http://127.0.0.1:${(sidecar.address() as AddressInfo).port}`,
    REPORTER_URL: pathToFileURL(join(import.meta.dirname, '../index.ts')).href,
    INTEGRATION_URL: pathToFileURL(join(import.meta.dirname, `${integration}.ts`)).href,
    OPENAI_AGENTS_DISABLE_TRACING: '0',
    NODE_OPTIONS: '--disable-warning=ExperimentalWarning',
    ...env,
  });
  agent = { served, url: `http://127.0.0.1:${port}` };
}

let requests = 0;

/** What the response, the events and the agent itself say of one request. */
async function observe(form: string, body: object = {}) {
  if (agent === null) throw new Error('no agent');
  const requestId = `r-${(requests += 1)}`;
  vendor.begin({ name: form });
  const response = await fetch(`${agent.url}/v1/chat?form=${encodeURIComponent(form)}`, {
    method: 'POST',
    headers: {
      'x-request-id': requestId,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  const truth = (await (await fetch(`${agent.url}/reported`)).json()) as { multiplied: number };
  const reported = events.get(requestId) ?? [];
  const headers = parseBehaviorHeaders(new Map(response.headers));
  const guardrails = reported.filter((event) => event.type === 'guardrail');
  return {
    status: response.status,
    text,
    truth,
    hasHeaders: response.headers.has('x-platform-tools-called'),
    models: reported.filter((event) => event.type === 'model'),
    tools: reported.filter((event) => event.type === 'tool'),
    guardrails: new Set([
      ...(headers.guardrailsInvoked ?? []),
      ...guardrails.map((each) => each.guardrailType),
    ]),
    isBlocked: guardrails.some(({ blocked }) => blocked === true),
  };
}

const billed = () =>
  vendor.calls.map(({ promptTokens, completionTokens }) => ({
    type: 'model',
    modelId: MANIFEST_MODEL,
    promptTokens,
    completionTokens,
  }));

async function expectTruth(form: Form): Promise<void> {
  const { tool = { name: 'multiply', success: true }, hasLatency = true } = form;
  const seen = await observe(form.name);
  const context = { text: seen.text, output: agent?.served.output() };
  if (form.denied === true) {
    expect([JSON.parse(seen.text), vendor.calls, seen.models]).toEqual([
      {
        error: expect.any(String),
        message: 'the policy denies the model call: pii_detector_not_invoked',
        stack: expect.any(Array),
        isDenied: true,
        violations: ['pii_detector_not_invoked'],
      },
      [],
      [],
    ]);
    return;
  }
  const { guardrails = ['pii-detector'] } = form;
  expect({ ...context, guardrails: [...seen.guardrails] }).toMatchObject({ guardrails });
  expect({ ...context, isBlocked: seen.isBlocked }).toMatchObject({ isBlocked: form.blocked === true });
  expect({ ...context, models: seen.models, calls: vendor.calls.length }).toMatchObject({
    models: billed(),
    calls: form.blocked === true ? 0 : 3,
  });
  const { multiplied } = seen.truth;
  const ran = form.blocked === true ? 0 : 2;
  expect({ ...context, multiplied, hasHeaders: seen.hasHeaders }).toMatchObject({
    multiplied: ran,
    hasHeaders: true,
  });
  const latencyMs = hasLatency ? { latencyMs: expect.any(Number) } : {};
  const expected = Array.from({ length: tool === null ? 0 : ran }, () => ({
    type: 'tool',
    ...tool,
    ...latencyMs,
  }));
  expect(seen.tools).toEqual(expected);
}

for (const framework of FRAMEWORKS) {
  const reason = whyNoPackages(framework.packages, process.env['SOAK'] === '1');
  describe(`${framework.name}: model, tokens, tools, guardrails and denial are those of the vendor and the agent`, () => {
    if (reason !== undefined) {
      test.skip(reason, () => undefined);
      return;
    }
    beforeAll(() => start(framework), 120_000);
    afterAll(() => agent?.served.close());
    test.each(framework.forms)('$name', expectTruth);
  });
}

describe('MCP server', () => {
  beforeAll(() => start({ program: 'observed-mcp.mjs', packages: 'none', integration: 'mcp' }), 120_000);
  afterAll(() => agent?.served.close());
  const latencyMs = expect.any(Number);

  test.each([
    [
      'whole',
      'multiply',
      { tools: [{ type: 'tool', name: 'multiply', success: true, latencyMs }], multiplied: 1 },
    ],
    [
      'stream',
      'multiply',
      { tools: [{ type: 'tool', name: 'multiply', success: true, latencyMs }], multiplied: 1 },
    ],
    [
      'whole',
      'failing',
      { tools: [{ type: 'tool', name: 'failing', success: false, latencyMs }], multiplied: 1 },
    ],
    ['whole', 'find_pii', { guardrails: ['pii-detector'] }],
    [
      'installed after the tools',
      'multiply',
      { tools: [{ name: 'multiply', success: true }], multiplied: 1 },
    ],
    ['whole', 'ask', { tools: [{ name: 'ask', success: true }], calls: 1 }],
  ])('%s: %s', async (form, tool, expected) => {
    const seen = await observe(form, callTool(tool));
    expect({
      text: seen.text,
      tools: seen.tools,
      guardrails: [...seen.guardrails],
      multiplied: seen.truth.multiplied,
      calls: vendor.calls.length,
    }).toMatchObject({ tools: [], guardrails: [], multiplied: 0, calls: 0, ...expected });
    expect(seen.models).toEqual(billed());
  });

  test('a tool gets the denial of a model call through the client', async () => {
    const denied = await observe('denied');
    const allowed = await observe('sampling after a guardrail');
    expect([denied.text, allowed.text].map((text) => JSON.parse(text) as unknown)).toEqual([
      {
        text: {
          isError: true,
          sampled: 0,
          text: 'the policy denies the model call: pii_detector_not_invoked',
        },
      },
      { text: { isError: false, sampled: 1, text: 'sampled' } },
    ]);
    expect([denied.tools, allowed.tools]).toMatchObject([
      [{ name: 'sample', success: false }],
      [{ name: 'sample_guarded', success: true }],
    ]);
    expect([[...denied.guardrails], [...allowed.guardrails]]).toEqual([[], ['pii-detector']]);
  });
});
