// The LLM analysis of a whole sidecar with the vendor's official library. The vendor is a server with its protocol.
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { AnalysisState } from '../../core/shapes/analysis-state.ts';
import type { GapReport } from '../../core/shapes/gap.ts';
import { ANTHROPIC } from '../../testing/frameworks/wire-anthropic.ts';
import { until } from '../../testing/time/until.ts';
import { manifestText, startSidecarRig, type SidecarRig } from '../../testing/sidecar/sidecar-rig.ts';
import { SteppingClock } from '../../testing/time/stepping-clock.ts';

type Gap = GapReport & { llm: AnalysisState };
/** The text of the response, an HTTP status; null: no response. */
type Reply = string | number | null;

const KEY = 'sk-ant-key-of-this-test';
const SETTLED_MS = 10_000;
const MANIFEST = manifestText({
  tools: [{ name: 'pay', description: 'Pays an invoice', annotations: { readOnlyHint: true } }],
  guardrails: { input: [{ type: 'pii-detector' }] },
});
const AGENT = { '/health': 200, '/capabilities': { tools: ['pay', 'admin'] } };
const ENTRY = {
  severity: 'critical',
  property: 'spec.tools[pay]',
  description: 'It pays and declares that it only reads.',
  recommendation: 'Set destructiveHint.',
};

/** A vendor with the messages API of Anthropic. */
async function startVendor(reply: Reply) {
  const asked: { path: string; headers: IncomingHttpHeaders; body: Record<string, unknown> }[] = [];
  const state = { asked, reply, connections: 0, closed: 0, url: '', close: () => Promise.resolve() };
  const server = createServer((request, response) => {
    response.on('close', () => (state.closed += response.writableFinished ? 0 : 1));
    void json(request).then((body) => {
      const { url: path = '', headers } = request;
      asked.push({ path, headers, body: body as Record<string, unknown> });
      const { reply: now } = state;
      if (now === null) return;
      if (typeof now === 'number') {
        const error = { type: 'authentication_error', message: `invalid x-api-key ${KEY}` };
        response.writeHead(now, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ type: 'error', error }));
        return;
      }
      const content = {
        ...{ id: 'a'.repeat(64), model: 'claude-of-this-test', tools: [], text: now },
        ...{ promptTokens: 1_016, completionTokens: 90, statesUsage: true },
      };
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const event of ANTHROPIC.stream(content)) response.write(event);
      response.end();
    });
  });
  server.on('connection', () => (state.connections += 1));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  state.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  state.close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return state;
}

let vendor: Awaited<ReturnType<typeof startVendor>>;
let clock: SteppingClock;
let rig: SidecarRig | null;
beforeEach(async () => {
  vendor = await startVendor(JSON.stringify({ issues: [ENTRY] }));
  clock = new SteppingClock('2026-03-01T12:00:00.000Z');
  rig = null;
});
afterEach(async () => {
  await rig?.close();
  await vendor.close();
});

async function start(env: Record<string, string> = { ANTHROPIC_API_KEY: KEY }): Promise<SidecarRig> {
  const addresses = { ANTHROPIC_BASE_URL: vendor.url, OPENAI_BASE_URL: vendor.url };
  rig = await startSidecarRig({ manifest: MANIFEST, agent: AGENT, clock, env: { ...addresses, ...env } });
  return rig;
}

async function gapWith(status: AnalysisState['status'], from: SidecarRig): Promise<Gap> {
  const deadline = Date.now() + 30_000;
  for (;;) {
    const gap = await from.report<Gap>('/gap');
    if (gap.llm.status === status) return gap;
    if (Date.now() > deadline) throw new Error(`llm is ${JSON.stringify(gap.llm)}`);
    await delay(5);
  }
}

test('adds the issues of the model to /gap and counts the request', async () => {
  const sidecar = await start();
  const before = await gapWith('pending', sidecar);
  expect(vendor.connections).toBe(0);
  await clock.pass(SETTLED_MS);
  const { issues, score, grade, llm } = await gapWith('ready', sidecar);
  expect([score, grade]).toEqual([before.score, before.grade]);
  expect(issues).toEqual([...before.issues, { ...ENTRY, source: 'llm' }]);
  expect(llm).toMatchObject({
    model: 'claude-of-this-test',
    analysedAt: '2026-03-01T12:00:10.000Z',
    reason: null,
  });

  const [request] = vendor.asked;
  expect([request?.path, vendor.asked.length]).toEqual(['/v1/messages', 1]);
  expect(Object.values(request?.headers ?? {}).join()).toContain(KEY);
  expect(JSON.stringify(request?.body)).toContain('spec.tools[pay].annotations.readOnlyHint = true');
  const metrics = await (await sidecar.control('/metrics')).text();
  expect(metrics).toMatch(/^platform_sidecar_llm_analyses_total\{result="ready"\} 1$/m);
  expect(metrics).toMatch(/^platform_sidecar_llm_tokens_today\{kind="input"\} 1000$/m);
  expect(metrics).toMatch(/^platform_sidecar_llm_tokens_today\{kind="output"\} 90$/m);
  expect(metrics).toMatch(/^platform_sidecar_llm_cost_today_usd 0\.00725$/m);
});

test('a vendor that does not respond delays no report, and a stop ends the request', async () => {
  vendor.reply = null;
  const sidecar = await start();
  await gapWith('pending', sidecar);
  await clock.pass(SETTLED_MS);
  await until(() => vendor.asked.length === 1, 'the request');
  for (const path of ['/gap', '/gap?view=alignment', '/explore'])
    expect((await sidecar.control(path)).status).toBe(200);
  expect((await gapWith('pending', sidecar)).issues.map(({ source }) => source)).not.toContain('llm');
  await sidecar.close();
  rig = null;
  await until(() => vendor.closed === 1, 'the end of the request');
});

test('a rejected key is shown and logged once, without the key', async () => {
  vendor.reply = 401;
  const sidecar = await start();
  await gapWith('pending', sidecar);
  await clock.pass(SETTLED_MS);
  const { llm } = await gapWith('failed', sidecar);
  expect(llm.reason).toContain('ANTHROPIC_API_KEY');
  const metrics = await (await sidecar.control('/metrics')).text();
  expect(metrics).toMatch(/^platform_sidecar_llm_analyses_total\{result="failed"\} 1$/m);
  const logged = sidecar.log.filter(([, message]) => message === 'LLM analysis failed, retrying');
  expect(logged).toEqual([['warn', 'LLM analysis failed, retrying', { reason: llm.reason }]]);
  expect(JSON.stringify([llm, sidecar.log, metrics])).not.toContain(KEY);
});

test.each<[string, Record<string, string>]>([
  ['without a key', {}],
  ["with the agent's key of OpenAI only", { OPENAI_API_KEY: 'sk-of-the-agent' }],
  ['that is turned off', { ANTHROPIC_API_KEY: KEY, LLM_ANALYSIS_PROVIDER: 'off' }],
])('a sidecar %s opens no connection to a vendor', async (_what, env) => {
  const sidecar = await start(env);
  const { llm } = await gapWith('off', sidecar);
  expect(llm).toEqual({ status: 'off', model: null, analysedAt: null, reason: null });
  await clock.pass(3_600_000, 600_000);
  await gapWith('off', sidecar);
  expect(vendor.connections).toBe(0);
  expect(await (await sidecar.control('/metrics')).text()).not.toMatch(/^platform_sidecar_llm/m);
});
