import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { RULE_IDS } from '../core/audit/rules.ts';
import { createMetrics } from '../runtime/metrics.ts';
import { routesWithoutRow } from '../testing/sidecar/route-rows.ts';
import { manifestText, startSidecarRig, type SidecarRig } from '../testing/sidecar/sidecar-rig.ts';
import { sidecarRoutes } from './app.ts';
import type { SidecarContext } from './context.ts';

/** The contract's tables about the control routes. The titles of its rows quote the contract. */

const text = expect.any(String);
const iso = expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/);
const count = expect.any(Number);
const bool = expect.any(Boolean);
const list = expect.any(Array);
const JSON_TYPE = 'application/json; charset=utf-8';
const PROBLEM_TYPE = 'application/problem+json; charset=utf-8';
const problem = (status: number, more: object = {}): object => ({
  type: 'about:blank',
  title: text,
  status,
  detail: text,
  ...more,
});

const SPEC = {
  guardrails: { input: [{ type: 'pii-detector' }] },
  tools: [{ name: 'pay' }, { name: 'search' }],
  memory: { backend: 'redis' },
  requires: { services: [{ name: 'db', address: '127.0.0.1:1' }] },
  evaluation: { datasets: [{ name: 'basic', path: 'basic.jsonl' }] },
};

let rig: SidecarRig;
beforeAll(async () => {
  rig = await startSidecarRig({
    manifest: manifestText(SPEC),
    agent: { '/health': 200, '/capabilities': 200, '/x': 200 },
    env: { OPENAI_API_KEY: 'k' },
  });
  await (await fetch(`${rig.proxyUrl}/x`, { headers: { 'x-request-id': 'r-1' } })).text();
});
afterAll(() => rig.close());

const PROOF = { verifiedBy: 'k6', method: '429 after 100 requests' };
const record = { ruleId: 'SEC-LLM-04', origin: 'local', ...PROOF, verifiedAt: iso };
const check = expect.objectContaining({ id: text, category: text, status: text, severity: text });
const issue = { severity: text, property: text, description: text, recommendation: text };
const batch = (requestId: string): object => ({
  requestId,
  agentName: 'shop',
  events: [
    { type: 'guardrail', guardrailType: 'pii-detector', invoked: true, blocked: false },
    { type: 'tool', name: 'pay', success: true, latencyMs: 5 },
  ],
});
const card = {
  name: 'shop',
  description: text,
  version: '1.0.0',
  supportedInterfaces: [],
  capabilities: { streaming: bool, pushNotifications: bool },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [
    { id: 'pay', name: 'pay', description: text, tags: ['tool'] },
    { id: 'search', name: 'search', description: text, tags: ['tool'] },
  ],
};
const ready = {
  agentName: 'shop',
  timestamp: iso,
  status: 'degraded',
  summary: { passed: count, failed: count, warnings: count, skipped: count },
  checks: expect.arrayContaining([check]),
  source: 'manifest-static',
};

/** method, path, body; status, content type and body of the response. */
type Row = [
  title: string,
  method: string,
  path: string,
  sent: unknown,
  status: number,
  type: string | null,
  shape: unknown,
];

const NO_CENSUS = { state: 'off', reason: null, unseenEgress: null, unexplainedOpens: null };

/** The order matters: a row may need the state after the previous row. */
const ENDPOINTS: readonly Row[] = [
  ['200, JSON object with status = live', 'GET', '/health/live', null, 200, JSON_TYPE, { status: 'live' }],
  ['200 when ready; body reports status and checks', 'GET', '/health/ready', null, 200, JSON_TYPE, ready],
  [
    'gap report (shape A)',
    'GET',
    '/gap',
    null,
    200,
    JSON_TYPE,
    {
      ...{ score: 95, grade: 'A', source: 'manifest-static', issues: [{ ...issue, property: 'evaluated' }] },
      // Not part of the contract.
      compliant: { status: 'Unknown', reason: 'NotShown', message: expect.any(String) },
      evidence: expect.any(Object),
      llm: { status: 'off', model: null, analysedAt: null, reason: null },
      census: NO_CENSUS,
    },
  ],
  [
    'alignment report of declared versus observed (shape B)',
    'GET',
    '/gap?view=alignment',
    null,
    200,
    JSON_TYPE,
    {
      source: 'manifest-static',
      gaps: [
        {
          field: 'spec.evaluation.datasets',
          declared: 'basic',
          observed: null,
          severity: 'low',
          evidenceLevel: 'declared',
          remediation: text,
        },
      ],
      summary: { total: 1, critical: 0, high: 0 },
    },
  ],
  ['another view is rejected', 'GET', '/gap?view=x', null, 400, PROBLEM_TYPE, problem(400)],
  [
    'declared, reported and observed',
    'GET',
    '/explore?view=matrix',
    null,
    200,
    JSON_TYPE,
    {
      rows: expect.arrayContaining([
        {
          ...{ kind: 'model', name: 'gpt-5' },
          ...{ declared: true, reported: null, observed: null, verdict: 'unknown' },
        },
      ]),
    },
  ],
  ['another view of explore is rejected', 'GET', '/explore?view=x', null, 400, PROBLEM_TYPE, problem(400)],
  ['the calls through the egress lanes', 'GET', '/egress', null, 200, JSON_TYPE, []],
  ['another limit is rejected', 'GET', '/egress?limit=0', null, 400, PROBLEM_TYPE, problem(400)],
  [
    'array of audit entries, each with requestId',
    'GET',
    '/audit',
    null,
    200,
    JSON_TYPE,
    [expect.objectContaining({ requestId: 'r-1', seq: 1, path: '/x', statusCode: 200 })],
  ],
  [
    'optional query limit (integer)',
    'GET',
    '/audit?limit=1',
    null,
    200,
    JSON_TYPE,
    [expect.objectContaining({ requestId: 'r-1' })],
  ],
  ['a limit that is not an integer', 'GET', '/audit?limit=x', null, 400, PROBLEM_TYPE, problem(400)],
  [
    'explore report',
    'GET',
    '/explore',
    null,
    200,
    JSON_TYPE,
    {
      source: 'manifest-static',
      model: { provider: 'openai', id: 'gpt-5', reachable: null, latencyMs: null },
      tools: [
        { name: 'pay', declared: true, registered: null },
        { name: 'search', declared: true, registered: null },
      ],
      memory: { backend: 'redis', reachable: null },
      services: [{ name: 'db', reachable: false, latencyMs: null }],
      mcpServers: [],
      endpoints: {
        health: { path: '/health', status: 200, latencyMs: expect.any(Number) },
        capabilities: { path: '/capabilities', status: 200, latencyMs: expect.any(Number) },
        agentCard: { path: '/.well-known/agent-card.json', status: 404, latencyMs: expect.any(Number) },
      },
      guardrails: { input: 1, output: 0 },
      declaredNotChecked: [],
      egress: { lanes: [], notRewritten: [], census: NO_CENSUS },
    },
  ],
  ['capability card', 'GET', '/capabilities', null, 200, JSON_TYPE, card],
  ['the same card at the path of A2A', 'GET', '/.well-known/agent-card.json', null, 200, JSON_TYPE, card],
  [
    'usage report, falls back to the audit ring',
    'GET',
    '/usage',
    null,
    200,
    JSON_TYPE,
    {
      source: 'audit-ring',
      models: [],
      totalTokens: 0,
      totalCalls: 0,
      costUsd: null,
      sampleSize: 0,
      callsWithoutUsage: 0,
    },
  ],
  [
    '200 {requestId, found: true, opaViolations}',
    'POST',
    '/events',
    batch('r-1'),
    200,
    JSON_TYPE,
    { requestId: 'r-1', found: true, opaViolations: [] },
  ],
  [
    '202 {requestId, found: false}: no audit entry for requestId',
    'POST',
    '/events',
    batch('unknown'),
    202,
    JSON_TYPE,
    { requestId: 'unknown', found: false },
  ],
  ['an invalid batch', 'POST', '/events', { events: 1 }, 400, PROBLEM_TYPE, problem(400, { errors: list })],
  ['200, array of proof records: none yet', 'GET', '/proof', null, 200, JSON_TYPE, []],
  ['absent + GET one: 404', 'GET', '/proof/rule/SEC-LLM-04', null, 404, PROBLEM_TYPE, problem(404)],
  ['absent + DELETE: 404', 'DELETE', '/proof/rule/SEC-LLM-04', null, 404, PROBLEM_TYPE, problem(404)],
  [
    'absent + POST, rule id known: 201 Created',
    'POST',
    '/proof/rule/SEC-LLM-04',
    PROOF,
    201,
    JSON_TYPE,
    record,
  ],
  ['present + POST: replaces, 201', 'POST', '/proof/rule/SEC-LLM-04', PROOF, 201, JSON_TYPE, record],
  [
    'POST unknown rule: 400',
    'POST',
    '/proof/rule/SEC-LLM-99',
    PROOF,
    400,
    PROBLEM_TYPE,
    problem(400, { validIds: RULE_IDS }),
  ],
  [
    'POST without required fields: 400',
    'POST',
    '/proof/rule/SEC-LLM-04',
    { verifiedBy: '' },
    400,
    PROBLEM_TYPE,
    problem(400, {
      errors: [
        { path: 'verifiedBy', message: text },
        { path: 'method', message: text },
      ],
    }),
  ],
  ['200 record', 'GET', '/proof/rule/SEC-LLM-04', null, 200, JSON_TYPE, record],
  ['200, array of proof records', 'GET', '/proof', null, 200, JSON_TYPE, [record]],
  ['present + DELETE: 204', 'DELETE', '/proof/rule/SEC-LLM-04', null, 204, null, null],
  [
    'for the kubelet',
    'GET',
    '/readyz',
    null,
    200,
    JSON_TYPE,
    { status: 'ok', policy: { mode: 'track', engine: 'none' } },
  ],
  ['for the kubelet, when the pod terminates', 'GET', '/drain', null, 200, JSON_TYPE, { forSeconds: 300 }],
  ['Prometheus', 'GET', '/metrics', null, 200, 'text/plain; version=0.0.4; charset=utf-8', null],
  ['this API', 'GET', '/openapi.json', null, 200, JSON_TYPE, expect.objectContaining({ openapi: '3.1.0' })],
  ['an unknown path', 'GET', '/nothing', null, 404, PROBLEM_TYPE, problem(404)],
];

/** `access`: whether a client outside loopback may use the route with CONTROL_ACCESS=local. */
const ALLOWED: [path: string, allow: string, access: 'open' | 'local'][] = [
  ['/health/live', 'GET, HEAD', 'open'],
  ['/health/ready', 'GET, HEAD', 'open'],
  ['/readyz', 'GET, HEAD', 'open'],
  ['/drain', 'GET, HEAD', 'open'],
  ['/metrics', 'GET, HEAD', 'open'],
  ['/gap', 'GET, HEAD', 'local'],
  ['/audit', 'GET, HEAD', 'local'],
  ['/audit/stream', 'GET, HEAD', 'local'],
  ['/egress', 'GET, HEAD', 'local'],
  ['/explore', 'GET, HEAD', 'local'],
  ['/capabilities', 'GET, HEAD', 'open'],
  ['/.well-known/agent-card.json', 'GET, HEAD', 'open'],
  ['/usage', 'GET, HEAD', 'local'],
  ['/events', 'POST', 'local'],
  ['/proof', 'GET, HEAD', 'local'],
  ['/proof/rule/MEM-01', 'DELETE, GET, HEAD, POST', 'local'],
  ['/openapi.json', 'GET, HEAD', 'local'],
];

test('the tables above have a row for every route', () => {
  const routes = sidecarRoutes({ metrics: createMetrics() } as SidecarContext, () => 0);
  const allowed = [...Map.groupBy(routes, ({ path }) => path)].map(([path, rows]) => [
    path.replace(':ruleId', 'MEM-01'),
    rows
      .flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
      .sort()
      .join(', '),
    [...new Set(rows.map(({ access }) => access))].join(),
  ]);
  expect(allowed.sort()).toEqual([...ALLOWED].sort());
  const rows = ENDPOINTS.map(([, method, path]) => ({ method, path }));
  // The response of the stream does not end: sidecar/routes/audit-stream-route.test.ts.
  expect(routesWithoutRow(routes, rows)).toEqual(['GET /audit/stream']);
});

describe.each(['', '/platform'])('each route under the prefix "%s"', (prefix) => {
  const rows = ENDPOINTS.map(([title, method, path, ...wanted]) => ({ title, method, path, wanted }));
  test.each(rows)('$title: $method $path', async ({ method, path, wanted }) => {
    const [sent, status, type, shape] = wanted;
    const response = await rig.control(prefix + path, {
      method,
      ...(sent === null
        ? {}
        : { body: JSON.stringify(sent), headers: { 'content-type': 'application/json' } }),
    });
    const body = await response.text();
    expect([response.status, response.headers.get('content-type')]).toEqual([status, type]);
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    if (type === JSON_TYPE || type === PROBLEM_TYPE) expect(JSON.parse(body)).toEqual(shape);
    else expect(body === '').toBe(status === 204);
  });

  test.each(ALLOWED)('%s by another method is 405 with Allow: %s', async (path, allow) => {
    const response = await rig.control(prefix + path, { method: 'PUT' });
    expect([response.status, response.headers.get('allow'), response.headers.get('content-type')]).toEqual([
      405,
      allow,
      PROBLEM_TYPE,
    ]);
    expect(await response.json()).toEqual(problem(405));
  });

  test.each(['/health/live', '/health/ready', '/gap', '/explore', '/usage', '/proof', '/capabilities'])(
    'HEAD %s returns the head of GET without a body',
    async (path) => {
      const response = await rig.control(prefix + path, { method: 'HEAD' });
      expect([response.status, response.headers.get('content-type'), await response.text()]).toEqual([
        200,
        JSON_TYPE,
        '',
      ]);
    },
  );
});
