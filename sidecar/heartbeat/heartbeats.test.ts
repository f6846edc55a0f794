import { createHash } from 'node:crypto';
import { hostname, tmpdir } from 'node:os';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { CensusReport } from '../../core/shapes/egress.ts';
import type { MatrixReport } from '../../core/shapes/explore.ts';
import { parseHeartbeat } from '../../core/observation/parse-heartbeat.ts';
import type { EvidenceReport } from '../../core/shapes/evidence.ts';
import type { GapReport } from '../../core/shapes/gap.ts';
import type { HealthReport, Check } from '../../core/shapes/health.ts';
import type { HeartbeatReply } from '../../core/shapes/heartbeat-reply.ts';
import type { Heartbeat } from '../../core/shapes/heartbeat.ts';
import type { AnalysisState } from '../../core/shapes/analysis-state.ts';
import type { Verdict } from '../../core/shapes/verdict.ts';
import type { ProofRecord } from '../../core/shapes/proof.ts';
import { freePorts } from '../../examples/demo/free-ports.ts';
import { GOOD_RESPONSES } from '../../testing/http/hostile-responses.ts';
import { post } from '../../testing/sidecar/egress-rig.ts';
import { ask } from '../../testing/sidecar/proxy-rig.ts';
import { until } from '../../testing/time/until.ts';
import {
  manifestText,
  startSidecarRig,
  type SidecarRig,
  type SidecarRigOptions,
} from '../../testing/sidecar/sidecar-rig.ts';
import { SteppingClock } from '../../testing/time/stepping-clock.ts';

interface Received {
  heartbeat: Heartbeat;
  request: IncomingMessage;
}

/** A control plane that sends the listed responses, then accepts every heartbeat. */
let plane: Server;
let received: Received[];
let responses: (number | HeartbeatReply)[];
let rig: SidecarRig;
let clock: SteppingClock;

beforeEach(async () => {
  received = [];
  responses = [];
  clock = new SteppingClock('2026-03-01T10:00:00.000Z', 3);
  plane = createServer((request, response) => {
    // A control plane of an earlier version, without the rules of the organisation and without directives.
    if (request.url !== '/api/v1/heartbeat') return void response.writeHead(404).end();
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    request.on('end', () => {
      received.push({ heartbeat: JSON.parse(text) as Heartbeat, request });
      const content = responses.shift() ?? 204;
      if (typeof content === 'number') response.writeHead(content).end();
      else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(content));
    });
  });
  await new Promise<void>((resolve) => plane.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  await rig.close();
  plane.closeAllConnections();
  await new Promise((resolve) => plane.close(resolve));
});

type Gap = GapReport & {
  evidence: EvidenceReport;
  llm: AnalysisState;
  census: CensusReport;
  compliant: Verdict;
};

const guardrails = { input: [{ type: 'pii-detector' }] };

async function start(options: Partial<SidecarRigOptions> = {}): Promise<void> {
  const { port } = plane.address() as AddressInfo;
  rig = await startSidecarRig({
    manifest: manifestText({ guardrails }),
    agent: { '/health': 200, '/capabilities': 200 },
    clock,
    ...options,
    env: {
      OPENAI_API_KEY: 'k',
      PLATFORM_URL: `http://127.0.0.1:${port}`,
      PLATFORM_KEY: 'the-key',
      ...options.env,
    },
  });
  if (!options.agentIsDown) await until(() => received.length === 1, 'the first heartbeat');
}

const last = (): Heartbeat => received.at(-1)!.heartbeat;
const chat = async (): Promise<void> => {
  rig.agent.responses['/v1/chat'] = {
    object: 'chat.completion',
    model: 'gpt-5',
    choices: [],
    usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
  };
  await ask(rig.sidecar.proxyPort, { method: 'POST', path: '/v1/chat' });
  await rig.settled();
};

test('sends the first heartbeat as soon as the agent is up, with the same data as the routes', async () => {
  await start({ env: { POLICY_PROXY_MODE: 'enforce', AGENT_NAME: 'shop' } });
  const [{ heartbeat, request }] = received as [Received];
  expect(`${request.method} ${request.url}`).toBe('POST /api/v1/heartbeat');
  expect(request.headers.authorization).toBe('Bearer the-key');
  expect(parseHeartbeat(heartbeat, { agentName: 'shop', at: new Date() })).toMatchObject({ ok: true });
  const { checks } = await rig.report<{ checks: unknown }>('/health/ready');
  const { evidence, llm: _, census: _census, compliant: _compliant, ...gap } = await rig.report<Gap>('/gap');
  expect(heartbeat).toEqual({
    version: 1,
    instance: hostname(),
    seq: 1,
    intervalSeconds: 30,
    sentAt: '2026-03-01T10:00:00.000Z',
    source: 'manifest-static',
    scoreWithoutLocalProofs: 100,
    health: expect.objectContaining({ agentName: 'shop', status: 'healthy' }),
    gap,
    evidence,
    audit: {
      declared: expect.any(Number),
      // SEC-LLM-10, by the check of the variable.
      proved: 5,
      failed: expect.arrayContaining(['MODEL-01']),
      suppressions: [],
    },
    proof: [],
    proofRevision: 0,
    usage: { windowStartedAt: '2026-03-01T10:00:00.000Z', models: [], totalTokens: 0, totalCalls: 0 },
    totals: { tokensToday: 0 },
    outcomes: { allow: 0, deny: 0, failOpen: 0, notEvaluated: 0 },
    failOpenSeconds: 0,
    denials: [],
    policyMode: 'enforce',
    policyState: 'none',
    manifestHash: expect.stringMatching(/^[0-9a-f]{64}$/),
    model: { provider: 'openai', id: 'gpt-5' },
    sidecarVersion: '0.0.0-source',
    startedAt: '2026-03-01T10:00:00.000Z',
  });
  expect(heartbeat.health.checks.map((check) => check.id)).toEqual(
    (checks as { id: string }[]).map((check) => check.id),
  );
});

test('has the rows of the matrix, the changed variables and the census, as the routes have them', async () => {
  const [port = 0] = await freePorts(1);
  const env = {
    ...{ EGRESS_LANES: 'openai=https://api.openai.com/v1', EGRESS_PORT: String(port), CENSUS: 'on' },
    EGRESS_NOT_REWRITTEN: 'azure=AZURE_OPENAI_ENDPOINT:absent',
  };
  await start({ env, manifest: manifestText({ guardrails, tools: [{ name: 'search' }] }) });
  const { egress } = last();
  expect(egress).toMatchObject({
    lanes: ['openai'],
    notRewritten: [{ lane: 'azure', variable: 'AZURE_OPENAI_ENDPOINT', reason: 'absent' }],
  });
  const { rows } = await rig.report<MatrixReport>('/explore?view=matrix');
  // The sender leaves out members that are null.
  const { heartbeat } = parseHeartbeat(last(), { agentName: 'shop', at: new Date() }) as {
    heartbeat: Heartbeat;
  };
  expect(heartbeat.egress?.rows).toEqual(rows);
  expect(rows.map(({ kind, name }) => `${kind} ${name}`)).toEqual(
    expect.arrayContaining(['model gpt-5', 'tool search', 'guardrail input.pii-detector']),
  );
  // Whether the census runs depends on the machine of the test.
  const { census } = await rig.report<Gap>('/gap');
  expect(heartbeat.egress?.census).toEqual({ state: census.state, reason: census.reason });
  expect(await rig.report('/explore')).toMatchObject({
    egress: { lanes: ['openai'], notRewritten: egress?.notRewritten, census: { state: census.state } },
  });
});

test('with a report of the agent, sends the same data as the routes, except for the agent’s own usage', async () => {
  await start({ agent: { '/health': 200, ...GOOD_RESPONSES } });
  const { source, health, gap, evidence, usage } = last();
  const ready = await rig.report<HealthReport>('/health/ready');
  expect(source).toBe('agent-sdk');
  const { llm, census: _, compliant: _compliant, ...ofRoute } = await rig.report<Gap>('/gap');
  expect({ ...gap, evidence }).toEqual(ofRoute);
  expect(llm).toMatchObject({ status: 'off' });
  const withoutLatency = ({ latencyMs: _, ...check }: Check): object => check;
  expect(health.checks.map(withoutLatency)).toEqual(ready.checks.map(withoutLatency));
  expect([health.status, health.summary, health.agentName]).toEqual(['healthy', ready.summary, 'shop']);
  expect(ready.status).toBe('ready');
  // The agent's own usage is only part of /usage; a heartbeat contains the usage of proxied requests.
  const report = { ...GOOD_RESPONSES['/platform/usage'], costUsd: null };
  expect([usage?.totalTokens, await rig.report('/usage')]).toEqual([0, report]);
});

describe('while the agent is not up yet', () => {
  test('sends nothing until the agent responds', async () => {
    await start({ agentIsDown: true });
    await clock.pass(20_000);
    expect(received).toHaveLength(0);
    await rig.agent.restart();
    await clock.pass(1_000);
    expect(received.map(({ heartbeat }) => heartbeat.health.status)).toEqual(['healthy']);
  });

  test('reports the unreachable agent after one interval', async () => {
    await start({ agentIsDown: true });
    await clock.pass(31_000);
    expect(received.map(({ heartbeat }) => heartbeat.gap.score)).toEqual([70]);
  });
});

test('sends the next heartbeat after the interval, lengthened by at most a tenth', async () => {
  await start();
  await clock.pass(29_000);
  expect(received).toHaveLength(1);
  await clock.pass(5_000);
  expect(received.map(({ heartbeat }) => heartbeat.seq)).toEqual([1, 2]);
});

describe('an early heartbeat', () => {
  test('is sent when the agent stops and when it recovers', async () => {
    await start();
    await rig.agent.stop();
    await clock.pass(11_000);
    expect(received).toHaveLength(2);
    expect(last()).toMatchObject({ health: { status: 'degraded' }, gap: { score: 70 } });
    await rig.agent.restart();
    await clock.pass(15_000);
    expect(received).toHaveLength(3);
    expect(last()).toMatchObject({ health: { status: 'healthy' }, gap: { score: 100 } });
  });

  test('is sent when the manifest becomes invalid and when it is valid again', async () => {
    await start();
    await clock.pass(10_000);
    await writeFile(rig.manifestPath, 'kind: [');
    await until(() =>
      rig.log.some(([, message]) => message === 'manifest reload failed, keeping previous version'),
    );
    await clock.pass(11_000);
    expect(last()).toMatchObject({ seq: 2, gap: { score: 80, issues: [{ property: 'manifest.invalid' }] } });
    const { manifestHash } = last();
    await writeFile(rig.manifestPath, manifestText({ guardrails }, { description: 'changed' }));
    await until(() => rig.log.some(([, message]) => message === 'manifest reloaded'));
    await clock.pass(11_000);
    expect(last()).toMatchObject({ seq: 3, gap: { score: 100, issues: [] } });
    expect(last().manifestHash).not.toBe(manifestHash);
  });

  test('is sent after a new proof', async () => {
    await start();
    await rig.control('/proof/rule/MEM-01', {
      method: 'POST',
      body: '{"verifiedBy":"t","method":"m"}',
      headers: { 'content-type': 'application/json' },
    });
    await clock.pass(11_000);
    expect(last()).toMatchObject({ seq: 2, proof: [{ ruleId: 'MEM-01' }] });
  });

  test('is not sent more often than the control plane accepts', async () => {
    await start();
    await rig.agent.stop();
    await clock.pass(9_000);
    expect(received).toHaveLength(1);
  });

  test('is not sent for values that change constantly', async () => {
    await start();
    await chat();
    await clock.pass(25_000);
    expect(received).toHaveLength(1);
  });
});

describe('usage', () => {
  test('is sent once, and the totals of the day accumulate', async () => {
    await start({
      manifest: manifestText({
        guardrails,
        model: {
          provider: 'o',
          id: 'gpt-5',
          apiKey: 'k',
          costControls: { usdPerMillionTokens: { input: 1e6, output: 1e6 } },
        },
      }),
    });
    await chat();
    await clock.pass(34_000);
    expect(last()).toMatchObject({
      seq: 2,
      usage: {
        totalTokens: 7,
        totalCalls: 1,
        models: [{ modelId: 'gpt-5', promptTokens: 3, completionTokens: 4 }],
      },
      totals: { tokensToday: 7, costTodayUsd: 7 },
      outcomes: { notEvaluated: 1 },
    });
    await clock.pass(34_000);
    expect(last()).toMatchObject({
      seq: 3,
      usage: { totalTokens: 0, totalCalls: 0 },
      totals: { tokensToday: 7 },
    });
  });

  test('of a failed heartbeat is sent with its repeat, and later usage with the next heartbeat', async () => {
    await start();
    await chat();
    responses = [500];
    await clock.pass(33_000);
    expect(received).toHaveLength(2);
    await chat();
    await clock.pass(3_000);
    expect(received.map(({ heartbeat }) => [heartbeat.seq, heartbeat.usage?.totalTokens])).toEqual([
      [1, 0],
      [2, 7],
      [2, 7],
    ]);
    await clock.pass(34_000);
    expect(last()).toMatchObject({ seq: 3, usage: { totalTokens: 7 }, totals: { tokensToday: 14 } });
  });
});

describe('the denials since the last heartbeat', () => {
  const responding = async (guardrails: string, mode: string): Promise<void> => {
    rig.agent.otherwise = (_request, response) =>
      void response.writeHead(200, { 'x-platform-guardrails-invoked': guardrails }).end();
    const { status } = await ask(rig.sidecar.proxyPort, { method: 'POST', path: '/chat' });
    expect(status).toBe(mode === 'enforce' && guardrails === '' ? 403 : 200);
    await rig.settled();
  };

  test.each(['enforce', 'track'])(
    'of the proxy and of the lanes are sent once in the mode %s, although a later request complies',
    async (mode) => {
      const [port = 0, closed] = await freePorts(2);
      const env = {
        ...{ EGRESS_LANES: `openai=http://127.0.0.1:${closed}/v1`, EGRESS_PORT: String(port) },
        ...{ POLICY_PROXY_MODE: mode, POLICY_ENGINE: 'builtin' },
      };
      await start({ env });
      await responding('', mode);
      await responding('pii-detector', mode);
      for (const _ of [1, 2])
        await post(port, '/openai/v1/chat/completions', { model: 'other', messages: [] });
      // The client may receive its response before the call is logged.
      while ((await rig.report<unknown[]>('/egress')).length < 2);
      responses = [500];
      await clock.pass(33_000);
      await clock.pass(3_000);
      const expected = ['pii_detector_not_invoked', 'model_not_declared'];
      expect(received.map(({ heartbeat }) => [heartbeat.seq, heartbeat.denials])).toEqual([
        [1, []],
        [2, expected],
        [2, expected],
      ]);
      expect(last().gap.issues.filter(({ source }) => source === 'policy')).toEqual([]);
      await clock.pass(34_000);
      expect(last()).toMatchObject({ seq: 3, denials: [] });
    },
  );
});

describe('a proof of EVAL-01', () => {
  const record: ProofRecord = {
    ruleId: 'EVAL-01',
    verifiedBy: 'ci',
    method: 'run',
    verifiedAt: '2026-03-01T09:00:00.000Z',
  };
  test.each<[ProofRecord['origin'], string, number, number]>([
    ['local', 'local', 100, 95],
    ['local', 'control-plane', 95, 95],
    ['control-plane', 'local', 100, 100],
    ['control-plane', 'control-plane', 100, 100],
  ])(
    'of origin %s with PROOF_WRITES=%s results in score %i, and %s without local proofs',
    async (origin, PROOF_WRITES, score, without) => {
      const datasets = [{ name: 'basic', path: 'basic.jsonl' }];
      await start({
        manifest: manifestText({ guardrails, evaluation: { datasets } }),
        env: { PROOF_WRITES },
      });
      responses = [{ proof: [{ ...record, origin: origin! }], proofRevision: 4 }];
      await clock.pass(34_000);
      await until(() => responses.length === 0);
      await clock.pass(34_000);
      expect(last()).toMatchObject({ proofRevision: 4, gap: { score } });
      expect(last().scoreWithoutLocalProofs).toBe(without);
    },
  );
});

describe('a reply', () => {
  const record = {
    ruleId: 'OBS-03',
    verifiedBy: 'team',
    method: 'read logs',
    verifiedAt: '2026-03-01T09:00:00.000Z',
  };

  test('with proofs replaces the local list, and later heartbeats contain its revision', async () => {
    await start();
    responses = [{ proof: [record], proofRevision: 4 }];
    await clock.pass(34_000);
    await until(() => received.length === 2);
    expect(await rig.report('/proof')).toEqual([record]);
    await clock.pass(34_000);
    expect(last()).toMatchObject({ proofRevision: 4, proof: [record] });
  });

  test('with a proof of the control plane makes local writes of that rule fail with 409', async () => {
    await start();
    responses = [{ proof: [{ ...record, origin: 'control-plane' }], proofRevision: 4 }];
    await clock.pass(34_000);
    await until(() => responses.length === 0);
    const write = (method: string) =>
      rig.control('/proof/rule/OBS-03', {
        method,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ verifiedBy: 'agent', method: 'forged' }),
      });
    for (const method of ['POST', 'DELETE']) {
      const response = await write(method);
      expect([response.status, response.headers.get('content-type')]).toEqual([
        409,
        'application/problem+json; charset=utf-8',
      ]);
    }
    expect(await rig.report('/proof')).toEqual([{ ...record, origin: 'control-plane' }]);
  });

  test('to a repeat does not confirm changes since the first attempt', async () => {
    await start();
    await rig.control('/proof/rule/OBS-03', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(record),
    });
    await clock.pass(34_000);
    expect(last()).toMatchObject({ seq: 2, proof: [{ ruleId: 'OBS-03' }] });
    const { proof } = last();
    responses = [500];
    while (received.length < 3) await clock.pass(500);
    await rig.control('/proof/rule/OBS-03', { method: 'DELETE' });
    await clock.pass(2_000);
    await until(() => received.length >= 4);
    expect(received.slice(2).map(({ heartbeat }) => [heartbeat.seq, heartbeat.proof.length])).toEqual([
      [3, 1],
      [3, 0],
    ]);
    // The removal is sent early and is kept, although the control plane had not received it.
    responses = [{ proof, proofRevision: 5 }];
    await clock.pass(14_000);
    expect(received.slice(4).map(({ heartbeat }) => [heartbeat.seq, heartbeat.proof])).toEqual([[4, []]]);
    await until(() => responses.length === 0);
    await clock.pass(1_000);
    expect(await rig.report('/proof')).toEqual([]);
  });

  test('with totals of other instances is used for the rest of the day', async () => {
    await start();
    responses = [{ othersToday: { tokens: 123, costUsd: 1 } }];
    await clock.pass(34_000);
    const others = async () =>
      /instances="others"} (\d+)/.exec(await (await rig.control('/metrics')).text())?.[1];
    expect(await others()).toBe('123');
    await clock.pass(34_000);
    expect(await others()).toBe('0');
  });

  test('with another interval changes the interval', async () => {
    await start();
    responses = [{ intervalSeconds: 60 }];
    await clock.pass(34_000);
    expect(received).toHaveLength(2);
    await clock.pass(55_000);
    expect(received).toHaveLength(2);
    await clock.pass(12_000);
    expect(last()).toMatchObject({ seq: 3, intervalSeconds: 60 });
  });
});

test('an unreachable control plane is logged once and does not affect the agent', async () => {
  await start();
  await new Promise((resolve) => {
    plane.close(resolve);
    plane.closeAllConnections();
  });
  await clock.pass(100_000);
  await chat();
  expect(rig.log.filter(([level]) => level === 'warn').map(([, message]) => message)).toEqual([
    'heartbeat not delivered',
  ]);
  expect(await (await rig.control('/metrics')).text()).toMatch(/platform_sidecar_heartbeat_failures [1-9]/);
});

test('the token file is read for every heartbeat', async () => {
  rig = await startSidecarRig({ manifest: manifestText() });
  const path = join(rig.folder, 'token');
  await writeFile(path, 'first\n');
  const other = rig;
  await start({ env: { PLATFORM_KEY: '', PLATFORM_TOKEN_FILE: path } });
  await writeFile(path, 'second\n');
  await clock.pass(34_000);
  await other.close();
  expect(received.map(({ request }) => request.headers.authorization)).toEqual([
    'Bearer first',
    'Bearer second',
  ]);
});

test('the final heartbeat contains the latest usage and does not report the stopped agent as unhealthy', async () => {
  await start();
  await chat();
  await rig.agent.stop();
  await rig.sidecar.close();
  expect(last()).toMatchObject({
    seq: 2,
    gap: { score: 100 },
    usage: { totalTokens: 7 },
    outcomes: { notEvaluated: 1 },
  });
});

test('the final heartbeat has the head of the complete audit log', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'heartbeats-'));
  const path = join(folder, 'audit.log');
  await start({ env: { AUDIT_LOG: 'file', AUDIT_LOG_PATH: path } });
  await chat();
  await rig.sidecar.close();
  const lines = (await readFile(path, 'utf8')).trimEnd().split('\n');
  await rm(folder, { recursive: true });
  const line = lines.at(-1) ?? '';
  const { metadata } = JSON.parse(line) as { metadata: { uid: string; sequence: number } };
  expect(line).toContain('"state":"stopped"');
  const { auditLog } = last();
  expect(`${auditLog?.chain}:${auditLog?.sequence}`).toBe(metadata.uid);
  expect(auditLog).toMatchObject({
    ...{ head: createHash('sha256').update(line).digest('hex'), sequence: metadata.sequence },
    ...{ written: lines.length, dropped: 0, failures: 0 },
  });
  expect(parseHeartbeat(last(), { agentName: 'shop', at: new Date() })).toMatchObject({
    ok: true,
    heartbeat: { auditLog },
  });
});

test('the final heartbeat contains the issues of the last request', async () => {
  await start();
  rig.agent.otherwise = (_request, response) =>
    void response.writeHead(200, { 'x-platform-guardrails-invoked': '' }).end();
  await ask(rig.sidecar.proxyPort, { path: '/last' });
  await rig.settled();
  await rig.agent.stop();
  await rig.sidecar.close();
  expect(last()).toMatchObject({ seq: 2, health: { status: received[0]?.heartbeat.health.status } });
  expect(last().gap.issues.map(({ property }) => property)).toEqual(['guardrails.input.pii-detector']);
});
