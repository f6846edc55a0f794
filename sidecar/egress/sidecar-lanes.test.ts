import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { AuditEntry } from '../../core/shapes/audit-entry.ts';
import type { EgressCall } from '../../core/shapes/egress-call.ts';
import type { GapReport } from '../../core/shapes/gap.ts';
import { freePorts } from '../../examples/demo/free-ports.ts';
import { post, startTlsVendor, type TlsVendor } from '../../testing/sidecar/egress-rig.ts';
import { manifestText, startSidecarRig, type SidecarRig } from '../../testing/sidecar/sidecar-rig.ts';
import { TestServers } from '../../testing/http/sockets.ts';

/** A sidecar whose agent calls a model through a lane for each request. */
let vendor: TlsVendor;
let folder: string;
let env: Record<string, string>;
let rig: SidecarRig | null;

const CHAT = '/openai/v1/chat/completions';
const ask = { model: 'gpt-5', messages: [], tools: [{ type: 'function', function: { name: 'search' } }] };
const RESPONSE = {
  ...{ object: 'chat.completion', model: 'gpt-5', usage: { prompt_tokens: 30, completion_tokens: 5 } },
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'search', arguments: '{}' } }],
      },
      finish_reason: 'tool_calls',
    },
  ],
};

beforeEach(async () => {
  rig = null;
  vendor = await startTlsVendor();
  vendor.respond = (_seen, response) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(RESPONSE));
  folder = await mkdtemp(join(tmpdir(), 'lanes-'));
  const [port = 0] = await freePorts(1);
  env = {
    EGRESS_LANES: `openai=${vendor.url}/v1`,
    EGRESS_PORT: String(port),
    EGRESS_MODE: 'enforce',
    EGRESS_CA_FILE: join(folder, 'ca.pem'),
    POLICY_ENGINE: 'builtin',
    OPENAI_API_KEY: 'k',
  };
  await writeFile(join(folder, 'ca.pem'), vendor.ca.cert);
});
afterEach(async () => {
  await rig?.close();
  await vendor.close();
  await rm(folder, { recursive: true });
});

const start = async (): Promise<SidecarRig> => {
  rig = await startSidecarRig({ manifest: manifestText({ tools: [{ name: 'search' }] }), env });
  return rig;
};

/** The calls, once the log has this number of them: the agent may receive its response earlier. */
async function callsTo(count: number): Promise<EgressCall[]> {
  for (;;) {
    const calls = (await rig?.report<EgressCall[]>('/egress')) ?? [];
    if (calls.length >= count) return calls;
  }
}

test('a call of the agent is in /egress, in the entry of its request, in the metrics and in the reports', async () => {
  const sidecar = await start();
  const port = Number(env['EGRESS_PORT']);
  sidecar.agent.otherwise = (_request, response) => {
    void post(port, CHAT, ask).then(({ status }) => response.end(String(status)));
  };
  expect(await (await fetch(`${sidecar.proxyUrl}/chat`, { method: 'POST' })).text()).toBe('200');
  await sidecar.settled();
  const calls = await callsTo(1);
  const [entry] = await sidecar.report<AuditEntry[]>('/audit');
  expect(calls).toEqual([
    expect.objectContaining({ lane: 'openai', requestId: entry?.requestId, statusCode: 200 }),
  ]);
  expect(entry?.egress).toEqual({ calls: 1, models: ['gpt-5'], tools: ['search'] });
  const metrics = await (await sidecar.control('/metrics')).text();
  for (const line of [
    'platform_sidecar_egress_calls_total{lane="openai",outcome="allow"} 1',
    'platform_sidecar_egress_unattributed_total{lane="openai"} 0',
    'platform_sidecar_egress_tokens_total{lane="openai",kind="prompt"} 30',
    'platform_sidecar_egress_reserved_tokens 0',
    'platform_sidecar_tokens_total{kind="prompt"} 30',
    'platform_sidecar_tokens_today{instances="this"} 35',
  ])
    expect(metrics).toContain(`${line}\n`);
  // Every pod can read the metrics.
  for (const name of ['gpt-5', 'search', '127.0.0.1', 'shop']) expect(metrics).not.toContain(name);
  const { rows } = await sidecar.report<{ rows: object[] }>('/explore?view=matrix');
  expect(rows).toContainEqual(expect.objectContaining({ kind: 'model', name: 'gpt-5', observed: true }));
  expect(rows).toContainEqual(expect.objectContaining({ kind: 'tool', name: 'search', observed: true }));
  expect(await sidecar.report('/usage')).toMatchObject({ totalTokens: 35, totalCalls: 1 });
});

test('the newest calls are selected by their number', async () => {
  const sidecar = await start();
  const port = Number(env['EGRESS_PORT']);
  for (const model of ['a', 'b', 'c']) await post(port, CHAT, { ...ask, model });
  await callsTo(3);
  const calls = await sidecar.report<EgressCall[]>('/egress?limit=2');
  expect(calls.map(({ id, model, blocked }) => ({ id, model, blocked }))).toEqual([
    { id: 2, model: 'b', blocked: true },
    { id: 3, model: 'c', blocked: true },
  ]);
});

test.each([
  ['is missing', null],
  ['has no certificate', 'text'],
])('a CA file that %s stops the start', async (_, content) => {
  if (content === null) await rm(join(folder, 'ca.pem'));
  else await writeFile(join(folder, 'ca.pem'), content);
  await expect(start()).rejects.toThrow(/^EGRESS_CA_FILE .* cannot be read$/);
});

test('a port that is in use stops the start', async () => {
  const servers = new TestServers();
  env['EGRESS_PORT'] = String(await servers.tcp(() => undefined));
  await expect(start()).rejects.toMatchObject({ code: 'EADDRINUSE' });
  await servers.close();
});

test('an agent that reports calls, and does not use its lane, has an issue until a call passes the lane', async () => {
  const sidecar = await start();
  const counts = { promptTokens: 3, completionTokens: 3, totalTokens: 6 };
  const usage = {
    ...{ source: 'agent-sdk', windowStartedAt: new Date().toISOString(), totalTokens: 6, totalCalls: 3 },
    models: [{ modelId: 'gpt-5', ...counts, callCount: 3 }],
  };
  sidecar.agent.otherwise = ({ url }, response) => {
    const isUsage = url === '/platform/usage';
    response.writeHead(isUsage ? 200 : 404, { 'content-type': 'application/json' });
    response.end(isUsage ? JSON.stringify(usage) : '{}');
  };
  const issues = async (): Promise<string[]> =>
    (await sidecar.report<GapReport>('/gap')).issues.map(({ property }) => property);
  // The report of the usage may arrive after the probes of the first run.
  await issues();
  expect(await issues()).toContain('egress.lane-unused.openai');
  await post(Number(env['EGRESS_PORT']), CHAT, ask);
  await callsTo(1);
  expect(await issues()).not.toContain('egress.lane-unused.openai');
});
