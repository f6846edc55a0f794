import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { Agent, get, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { AuditEntry } from '../core/shapes/audit-entry.ts';
import { systemClock, type Clock } from '../runtime/clock.ts';
import { clockAt } from '../testing/time/fixed-date.ts';
import { ask } from '../testing/sidecar/proxy-rig.ts';
import { until } from '../testing/time/until.ts';
import {
  manifestText,
  startSidecarRig,
  type SidecarRig,
  type SidecarRigOptions,
} from '../testing/sidecar/sidecar-rig.ts';

let rig: SidecarRig;
afterEach(async () => {
  await rig.close();
});
const start = async (options: Partial<SidecarRigOptions> = {}): Promise<void> => {
  rig = await startSidecarRig({
    manifest: manifestText({ guardrails: { input: [{ type: 'pii-detector' }] } }),
    agent: { '/health': 200, '/capabilities': 200 },
    clock: clockAt('2026-03-01T10:00:00.000Z'),
    ...options,
  });
};
const json = (body: unknown, method = 'POST'): RequestInit => ({
  method,
  body: typeof body === 'string' ? body : JSON.stringify(body),
  headers: { 'content-type': 'application/json' },
});

interface Gap {
  score: number;
  grade: string;
  source: string;
  issues: { property: string; severity: string }[];
}
const points = ({ score, grade, source, issues }: Gap) => ({
  score,
  grade,
  source,
  issues: Object.fromEntries(issues.map((issue) => [issue.property, issue.severity])),
});

const guardrails = { input: [{ type: 'pii-detector', action: 'scrub' }] };
const datasets = { datasets: [{ name: 'basic', path: 'basic.jsonl' }] };
const agentReport = (checks: object[]) => ({
  agentName: 'shop',
  timestamp: '2026-03-01T10:00:00.000Z',
  status: 'healthy',
  summary: { passed: 0, failed: 0, warnings: 0, skipped: 0 },
  checks,
});

describe('the score examples of the contract, in a running sidecar', () => {
  test.each<[string, object, Record<string, number | object>, object]>([
    [
      'endpoints fine, guardrails, no datasets',
      { guardrails },
      { '/health': 200, '/capabilities': 200 },
      { score: 100, grade: 'A', source: 'manifest-static', issues: {} },
    ],
    [
      'dead agent, guardrails, no datasets',
      { guardrails },
      {},
      {
        score: 70,
        grade: 'C',
        source: 'manifest-static',
        issues: { healthcheckable: 'high', discoverable: 'medium' },
      },
    ],
    [
      'dead agent, no guardrails',
      {},
      {},
      {
        score: 60,
        grade: 'C',
        source: 'manifest-static',
        issues: { healthcheckable: 'high', discoverable: 'medium', auditable: 'medium' },
      },
    ],
    [
      'dead agent, no guardrails, one dataset',
      { evaluation: datasets },
      {},
      {
        score: 55,
        grade: 'D',
        source: 'manifest-static',
        issues: { healthcheckable: 'high', discoverable: 'medium', auditable: 'medium', evaluated: 'low' },
      },
    ],
    [
      'agent-sdk, endpoints fine, no guardrails, model failed, key not reported, two tools failing',
      { tools: [{ name: 'search' }, { name: 'pay' }] },
      {
        '/health': 200,
        '/capabilities': 200,
        '/platform/health': agentReport([
          { id: 'model:openai/gpt-5', category: 'model', status: 'fail', severity: 'error' },
          { id: 'tool:search', category: 'tool', status: 'fail', severity: 'info' },
          { id: 'tool:pay', category: 'tool', status: 'fail', severity: 'info' },
        ]),
      },
      {
        score: 20,
        grade: 'F',
        source: 'agent-sdk',
        issues: {
          'model.apiKey': 'critical',
          'env:OPENAI_API_KEY': 'high',
          'tool:search': 'medium',
          'tool:pay': 'medium',
          auditable: 'medium',
        },
      },
    ],
  ])('%s', async (title, spec, agent, expected) => {
    await start({ manifest: manifestText(spec), agent });
    if (title.startsWith('dead')) await rig.agent.stop();
    expect(points(await rig.report<Gap>('/gap'))).toEqual(expected);
    expect(points(await rig.report<Gap>('/platform/gap'))).toEqual(expected);
  });
});

test('the alignment view returns the same gaps as declared and observed values', async () => {
  await start({
    agent: { '/health': 500, '/capabilities': { tools: [] } },
    manifest: manifestText({ guardrails, tools: [{ name: 'pay' }] }),
  });
  expect(await rig.report('/gap?view=alignment')).toMatchObject({
    source: 'manifest-static',
    gaps: [
      {
        field: 'spec.api.healthEndpoint',
        declared: 'GET /health',
        observed: 'HTTP 500',
        severity: 'high',
        evidenceLevel: 'probed',
      },
      { field: 'spec.tools[0].name', declared: 'pay', observed: null, severity: 'medium' },
    ],
    summary: { total: 2, critical: 0, high: 1 },
  });
  expect((await rig.control('/gap?view=other')).status).toBe(400);
});

describe('health', () => {
  test('/health/live returns live', async () => {
    await start();
    expect(await rig.report('/health/live')).toEqual({ status: 'live' });
  });

  test.each([
    ['ready', { OPENAI_API_KEY: 'k' }, { '/health': 200 }, 200],
    ['not-ready', {}, { '/health': 200 }, 503],
  ])('/health/ready returns %s', async (status, env, agent, code) => {
    await start({ env: env, agent });
    const response = await rig.control('/health/ready');
    expect(response.status).toBe(code);
    expect(await response.json()).toMatchObject({ status, source: 'manifest-static', agentName: 'shop' });
  });

  test('/health/ready returns 200 for degraded, since only a warning failed', async () => {
    await start({ env: { OPENAI_API_KEY: 'k' } });
    await rig.agent.stop();
    const response = await rig.control('/health/ready');
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      status: 'degraded',
      checks: expect.arrayContaining([expect.objectContaining({ id: 'agent:upstream', status: 'fail' })]),
    });
  });

  test('/health/ready uses the names of the agent’s variables in a cluster', async () => {
    await start({ env: { AGENT_ENV_NAMES: 'OPENAI_API_KEY' } });
    expect(await rig.report('/health/ready')).toMatchObject({ status: 'ready' });
  });

  test('/readyz returns 200 regardless of the agent, with the policy mode and engine', async () => {
    await start({ env: { POLICY_PROXY_MODE: 'enforce' } });
    await rig.agent.stop();
    const response = await rig.control('/readyz');
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({
      status: 'ok',
      policy: { mode: 'enforce', engine: 'none' },
    });
  });

  test('/readyz returns the nonce of the process that started the sidecar', async () => {
    await start({ env: { START_NONCE: 'n-1' } });
    expect(await rig.report('/readyz')).toMatchObject({ nonce: 'n-1' });
  });

  test('/drain makes each connection end with its next response for five minutes', async () => {
    let passedMs = 0;
    const clock: Clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + passedMs };
    await start({ agent: { '/x': 200 }, clock });
    const statusOf = async (path: string): Promise<string> => {
      const agent = new Agent({ keepAlive: true });
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        get(rig.proxyUrl + path, { agent }, resolve).on('error', reject);
      });
      response.resume();
      agent.destroy();
      return `${response.statusCode} ${response.headers.connection}`;
    };
    expect(await statusOf('/x')).toBe('200 keep-alive');
    expect(await rig.report('/drain')).toEqual({ forSeconds: 300 });
    expect(await Promise.all([statusOf('/x'), statusOf('/nothing')])).toEqual(['200 close', '404 close']);
    expect((await rig.control('/readyz')).status).toBe(200);
    passedMs = 290_000;
    expect(await statusOf('/x')).toBe('200 close');
    passedMs = 301_000;
    expect(await statusOf('/x')).toBe('200 keep-alive');
  });

  test('/readyz returns 503 while requests in flight finish', async () => {
    await start({ graceMs: 60_000 });
    let finish: () => void = () => undefined;
    rig.agent.otherwise = (_request, response) => {
      finish = () => void response.end('done');
    };
    const response = fetch(`${rig.proxyUrl}/slow`);
    await until(() => rig.agent.asked['/slow'] === 1);
    const closing = rig.sidecar.close();
    expect((await rig.control('/readyz')).status).toBe(503);
    finish();
    expect(await (await response).text()).toBe('done');
    await closing;
  });
});

test('/explore returns known values, and null for unknown values', async () => {
  await start({
    manifest: manifestText({
      guardrails: {
        input: [{ type: 'pii-detector' }],
        output: [{ type: 'toxicity-filter', threshold: 0.7 }],
      },
      tools: [{ name: 'pay' }, { name: 'search' }],
      memory: { backend: 'redis' },
      humanInTheLoop: { enabled: true },
    }),
    agent: {
      '/platform/health': agentReport([
        { id: 'model:openai/gpt-5', category: 'model', status: 'pass', severity: 'error', latencyMs: 12 },
        { id: 'tool:pay', category: 'tool', status: 'pass', severity: 'info' },
        { id: 'tool:extra', category: 'tool', status: 'pass', severity: 'info' },
        { id: 'service:db', category: 'service', status: 'fail', severity: 'warning', latencyMs: 3 },
      ]),
    },
  });
  expect(await rig.report('/explore')).toEqual({
    source: 'agent-sdk',
    model: { provider: 'openai', id: 'gpt-5', reachable: true, latencyMs: 12 },
    tools: [
      { name: 'pay', declared: true, registered: true },
      { name: 'search', declared: true, registered: null },
      { name: 'extra', declared: false, registered: true },
    ],
    memory: { backend: 'redis', reachable: null },
    services: [{ name: 'db', reachable: false, latencyMs: 3 }],
    mcpServers: [],
    endpoints: {
      health: { path: '/health', status: 404, latencyMs: expect.any(Number) },
      capabilities: { path: '/capabilities', status: 404, latencyMs: expect.any(Number) },
      agentCard: { path: '/.well-known/agent-card.json', status: 404, latencyMs: expect.any(Number) },
    },
    guardrails: { input: 1, output: 1 },
    declaredNotChecked: ['spec.humanInTheLoop'],
    egress: {
      ...{ lanes: [], notRewritten: [] },
      census: { state: 'off', reason: null, unseenEgress: null, unexplainedOpens: null },
    },
  });
});

test('the agent card is derived from the manifest and available at both paths', async () => {
  await start();
  const card = await rig.report('/capabilities');
  expect(card).toMatchObject({ name: 'shop', version: '1.0.0', supportedInterfaces: [] });
  expect(await rig.report('/.well-known/agent-card.json')).toEqual(card);
  expect(await rig.report('/platform/capabilities')).toEqual(card);
});

describe('usage', () => {
  test('counts unreadable responses as calls without usage, by type, encoding, size and chat path', async () => {
    const response = JSON.stringify({ id: 'c', object: 'chat.completion', model: 'm', choices: [] });
    const responses: Record<string, [headers: Record<string, string>, body: string | Buffer]> = {
      '/no-type': [{}, response],
      '/html': [{ 'content-type': 'text/html' }, response],
      '/gzip': [{ 'content-type': 'application/json', 'content-encoding': 'gzip' }, gzipSync(response)],
      '/large': [{ 'content-type': 'application/json' }, response + ' '.repeat(1024 * 1024)],
      '/v1/chat': [{ 'content-type': 'text/html' }, '<p>Hello'],
      '/page': [{ 'content-type': 'text/html' }, '<p>Hello'],
    };
    await start({ manifest: manifestText({ api: { type: 'rest', chatEndpoint: {} } }) });
    rig.agent.otherwise = (request, response) => {
      const [headers, body] = responses[request.url ?? ''] ?? [{}, ''];
      response.writeHead(200, headers).end(body);
    };
    for (const path of Object.keys(responses))
      await (await fetch(rig.proxyUrl + path, { method: 'POST', body: '{}' })).arrayBuffer();
    await rig.settled();
    const entries = await rig.report<AuditEntry[]>('/audit');
    expect(entries.map(({ path, usage }) => [path, usage])).toEqual([
      ['/no-type', { unavailable: 'the response has no usage' }],
      ['/html', { unavailable: 'the response has no usage' }],
      ['/gzip', { unavailable: 'the response has no usage' }],
      ['/large', { unavailable: 'the body is larger than 1 MiB' }],
      ['/v1/chat', { unavailable: 'response without readable usage on the declared chat path' }],
      ['/page', undefined],
    ]);
    expect(await rig.report('/usage')).toMatchObject({ totalTokens: 0, sampleSize: 0, callsWithoutUsage: 5 });
  });

  test('comes from the audit ring without an agent report, with a separate count of calls without usage', async () => {
    await start();
    rig.agent.otherwise = (request, response) => {
      const usage =
        request.url === '/a' ? { usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 } } : {};
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(
        JSON.stringify({ id: 'c', object: 'chat.completion', model: 'gpt-4o', choices: [], ...usage }),
      );
    };
    for (const path of ['/a', '/a', '/b'])
      await (await fetch(rig.proxyUrl + path, { method: 'POST', body: '{}' })).text();
    await rig.settled();
    const expected = {
      source: 'audit-ring',
      models: [{ modelId: 'gpt-4o', totalTokens: 14, callCount: 2 }],
      totalTokens: 14,
      totalCalls: 2,
      costUsd: (6 * 2.5 + 8 * 10) / 1e6,
      sampleSize: 2,
      callsWithoutUsage: 1,
    };
    expect(await rig.report('/usage')).toEqual(expected);
    const metrics = await (await rig.control('/metrics')).text();
    expect(metrics).toContain('platform_sidecar_tokens_total{kind="prompt"} 6\n');
    expect(metrics).toContain('platform_sidecar_tokens_total{kind="completion"} 8\n');
    expect(metrics).toContain('platform_sidecar_requests_total{outcome="notEvaluated"} 3\n');
  });
});

describe('events', () => {
  const batch = (requestId: string) => ({
    requestId,
    agentName: 'shop',
    events: [
      { type: 'guardrail', guardrailType: 'pii-detector', invoked: true, blocked: false },
      { type: 'tool', name: 'pay', success: true, latencyMs: 5 },
      { type: 'model', modelId: 'm', promptTokens: 2, completionTokens: 3 },
    ],
  });

  test('of a completed request are recorded and counted in the usage report', async () => {
    await start();
    await (await fetch(`${rig.proxyUrl}/x`, { headers: { 'x-request-id': 'r-1' } })).text();
    const response = await rig.control('/events', json(batch('r-1')));
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ requestId: 'r-1', found: true, opaViolations: [] });
    const [entry] = await rig.report<Record<string, unknown>[]>('/audit');
    expect(entry).toMatchObject({
      guardrailsInvoked: ['pii-detector'],
      toolsCalled: ['pay'],
      events: batch('r-1').events,
    });
    expect(await rig.report('/usage')).toMatchObject({ totalTokens: 5, sampleSize: 1 });
  });

  test('of a request in flight are recorded', async () => {
    await start();
    let finish: () => void = () => undefined;
    rig.agent.otherwise = (_request, response) => {
      finish = () => void response.end();
    };
    rig.agent.responses['/platform/usage'] = 404;
    const response = fetch(`${rig.proxyUrl}/slow`, { headers: { 'x-request-id': 'r-2' } });
    await until(() => rig.agent.asked['/slow'] === 1);
    expect((await rig.control('/platform/events', json(batch('r-2')))).status).toBe(200);
    finish();
    await (await response).text();
    expect((await rig.report<Record<string, unknown>[]>('/audit'))[0]).toMatchObject({
      toolsCalled: ['pay'],
    });
    expect(await rig.report('/usage')).toMatchObject({ totalTokens: 5 });
  });

  test.each(['/events', '/proof/rule/EVAL-01'])(
    'of another content type are rejected by %s with the accepted content type',
    async (path) => {
      await start();
      const response = await rig.control(path, {
        method: 'POST',
        body: JSON.stringify({ requestId: 'r', events: [], verifiedBy: 'ci', method: 'run' }),
      });
      expect([response.status, ((await response.json()) as { detail: string }).detail]).toEqual([
        415,
        'this route requires a JSON body with Content-Type: application/json',
      ]);
    },
  );

  test('add a gap issue for a guardrail that did not run, and remove the issue when it ran', async () => {
    await start();
    await (await fetch(`${rig.proxyUrl}/x`, { headers: { 'x-request-id': 'r-3' } })).text();
    const event = (invoked: boolean) =>
      json({ requestId: 'r-3', events: [{ type: 'guardrail', guardrailType: 'pii-detector', invoked }] });
    await rig.control('/events', event(false));
    expect(points(await rig.report<Gap>('/gap'))).toMatchObject({
      score: 80,
      issues: { 'guardrails.input.pii-detector': 'high' },
    });
    await rig.control('/events', event(true));
    expect(points(await rig.report<Gap>('/gap'))).toMatchObject({ score: 100, issues: {} });
  });
});

describe('proofs', () => {
  const submission = { verifiedBy: 'k6', method: '429 after 100 requests' };

  test('are submitted, listed, replaced and removed', async () => {
    await start();
    const created = await rig.control('/proof/rule/SEC-LLM-04', json(submission));
    expect(created.status).toBe(201);
    const record = await created.json();
    expect(record).toEqual({
      ruleId: 'SEC-LLM-04',
      origin: 'local',
      ...submission,
      verifiedAt: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    expect(await rig.report('/proof/rule/SEC-LLM-04')).toEqual(record);
    const again = await rig.control(
      '/platform/proof/rule/SEC-LLM-04',
      json({ ...submission, verifiedBy: 'other' }),
    );
    expect(again.status).toBe(201);
    expect(await rig.report('/proof')).toMatchObject([{ verifiedBy: 'other' }]);
    expect((await rig.control('/proof/rule/SEC-LLM-04', { method: 'DELETE' })).status).toBe(204);
    expect((await rig.control('/proof/rule/SEC-LLM-04', { method: 'DELETE' })).status).toBe(404);
    expect((await rig.control('/proof/rule/SEC-LLM-04')).status).toBe(404);
    expect(await rig.report('/proof')).toEqual([]);
  });

  test('of an unknown rule are rejected with the list of rules', async () => {
    await start();
    const response = await rig.control('/proof/rule/SEC-LLM-99', json(submission));
    expect(response.status).toBe(400);
    const { validIds } = (await response.json()) as { validIds: string[] };
    expect(validIds).toHaveLength(27);
    expect(validIds).toContain('SEC-LLM-04');
  });

  test.each([
    ['without fields', {}, ['verifiedBy', 'method']],
    ['with an expiry in the past', { ...submission, expiresAt: '2020-01-01T00:00:00Z' }, ['expiresAt']],
    ['with a date that does not exist', { ...submission, expiresAt: '2027-02-30T00:00:00Z' }, ['expiresAt']],
    ['with a method that is too long', { ...submission, method: 'x'.repeat(2049) }, ['method']],
  ])('%s are rejected', async (_title, body, paths) => {
    await start();
    const response = await rig.control('/proof/rule/SEC-LLM-04', json(body));
    expect(response.status).toBe(400);
    expect(
      ((await response.json()) as { errors: { path: string }[] }).errors.map((error) => error.path),
    ).toEqual(paths);
  });

  test('of the evaluation increase the score', async () => {
    await start({ manifest: manifestText({ guardrails, evaluation: datasets }) });
    expect((await rig.report<Gap>('/gap')).score).toBe(95);
    await rig.control('/proof/rule/EVAL-01', json(submission));
    expect((await rig.report<Gap>('/gap')).score).toBe(100);
  });

  test('are restored from PROOF_STORE_PATH after a restart', async () => {
    await start();
    const path = join(rig.folder, 'proofs.json');
    const first = await startSidecarRig({ manifest: manifestText(), env: { PROOF_STORE_PATH: path } });
    await first.control('/proof/rule/MEM-01', json(submission));
    await first.close();
    expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({
      revision: 0,
      proofs: [{ ruleId: 'MEM-01' }],
    });
    const second = await startSidecarRig({ manifest: manifestText(), env: { PROOF_STORE_PATH: path } });
    expect(await second.report('/proof')).toMatchObject([{ ruleId: 'MEM-01', ...submission }]);
    await second.close();
    await writeFile(path, '{"proofs": 1}');
    await expect(
      startSidecarRig({ manifest: manifestText(), env: { PROOF_STORE_PATH: path } }),
    ).rejects.toThrow(`PROOF_STORE_PATH ${path} is not a valid proof file`);
  });

  test('that cannot be stored are not accepted', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'proofs-'));
    await start({ env: { PROOF_STORE_PATH: join(folder, 'proofs.json') } });
    await rm(folder, { recursive: true });
    expect((await rig.control('/proof/rule/MEM-01', json(submission))).status).toBe(500);
    expect(await rig.report('/proof')).toEqual([]);
  });
});

describe('the manifest file', () => {
  test('is reloaded when it changes', async () => {
    await start();
    await writeFile(rig.manifestPath, manifestText());
    await until(() => rig.log.some(([, message]) => message === 'manifest reloaded'));
    expect(points(await rig.report<Gap>('/gap'))).toMatchObject({
      score: 90,
      issues: { auditable: 'medium' },
    });
  });

  test('when invalid causes an issue and keeps the previous version until it is valid again', async () => {
    await start();
    await writeFile(rig.manifestPath, 'apiVersion: platform.io/v1\nkind: [');
    await until(() =>
      rig.log.some(([, message]) => message === 'manifest reload failed, keeping previous version'),
    );
    const broken = await rig.report<Gap & { issues: { description: string }[] }>('/gap');
    expect(points(broken)).toMatchObject({ score: 80, issues: { 'manifest.invalid': 'high' } });
    expect(broken.issues[0]?.description).toMatch(/agent\.yaml:2:\d+/);
    expect(await rig.report('/capabilities')).toMatchObject({ name: 'shop' });
    await writeFile(rig.manifestPath, manifestText({ guardrails }, { name: 'shop' }));
    await until(() => rig.log.some(([, message]) => message === 'manifest reloaded'));
    expect((await rig.report<Gap>('/gap')).score).toBe(100);
  });
});

test('the agent name of the pod is compared with the manifest', async () => {
  await start({ env: { AGENT_NAME: 'store' } });
  expect(points(await rig.report<Gap>('/gap'))).toMatchObject({
    score: 95,
    issues: { 'agent.name-mismatch': 'low' },
  });
});

describe('configuration without effect', () => {
  const warnings = () => rig.log.filter(([level]) => level === 'warn').map(([, message]) => message);
  test('is logged for enforce without an engine', async () => {
    await start({ env: { POLICY_PROXY_MODE: 'enforce' } });
    expect(warnings()).toEqual(['POLICY_PROXY_MODE=enforce has no effect: no policy engine configured']);
  });

  test.each([[{}], [{ POLICY_ENGINE: 'builtin', POLICY_PROXY_MODE: 'enforce' }]])(
    'is not logged with %j',
    async (env) => {
      await start({ env });
      expect(warnings()).toEqual([]);
    },
  );
});

test('returns problem details with 404 for an unknown path and 405 for another method', async () => {
  await start();
  const unknown = await rig.control('/nothing');
  expect([unknown.status, unknown.headers.get('content-type')]).toEqual([
    404,
    'application/problem+json; charset=utf-8',
  ]);
  const method = await rig.control('/gap', { method: 'POST' });
  expect([method.status, method.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
});

test('requests to the proxy reach the agent, not the sidecar’s own routes', async () => {
  await start();
  rig.agent.otherwise = (_request, response) => response.end('the agent');
  expect((await ask(rig.sidecar.proxyPort, { path: '/gap' })).body).toBe('the agent');
});
