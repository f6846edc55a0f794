import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { RequestListener } from 'node:http';
import type { Check } from '../core/shapes/health.ts';
import { clockAt } from '../testing/time/fixed-date.ts';
import { countRequests } from '../testing/http/count-requests.ts';
import { holdDeadlines } from '../testing/time/held-deadlines.ts';
import { GOOD_RESPONSES, NO_REPORTS, SLOW_NO_REPORTS, written } from '../testing/http/hostile-responses.ts';
import fc from '../testing/random/properties.ts';
import { until } from '../testing/time/until.ts';
import { manifestText, startSidecarRig, type SidecarRig } from '../testing/sidecar/sidecar-rig.ts';
import { TestServers } from '../testing/http/sockets.ts';

const ROUTES = Object.keys(GOOD_RESPONSES);

interface Reports {
  ready: { source: string; status: string; checks: Check[] };
  gap: {
    source: string;
    score: number;
    issues: { property: string; severity: string; description: string }[];
  };
  explore: { source: string; tools: { name: string; declared: boolean; registered: boolean | null }[] };
  usage: { source: string; models: { modelId: string }[]; totalTokens: number };
}

let rig: SidecarRig;
beforeEach(async () => {
  rig = await startSidecarRig({
    manifest: manifestText({
      model: { provider: 'openai', id: 'gpt-5', apiKey: 'literal' },
      guardrails: { input: [{ type: 'pii-detector' }] },
      tools: [{ name: 'pay' }],
    }),
    agent: { '/health': 200 },
    clock: clockAt('2026-03-01T10:00:00.000Z'),
  });
});
afterEach(() => rig.close());

/** The agent uses this listener for these paths and sends valid responses for the others. */
function respondWith(hostile: RequestListener, paths: readonly string[] = ROUTES): void {
  rig.agent.otherwise = (request, response) => {
    const path = request.url ?? '';
    if (paths.includes(path)) hostile(request, response);
    else if (path in GOOD_RESPONSES) response.end(JSON.stringify(GOOD_RESPONSES[path]));
    else response.writeHead(404).end();
  };
}

const REPORTS = ['/health/ready', '/gap', '/explore', '/usage'];

/**
 * Requests all reports at the same time. The sidecar's time limits do not pass by themselves. `afterMs`: lets this much time
 * pass after all requests have arrived at the sidecar and at the agent.
 */
async function requestReports(afterMs = 0): Promise<Reports & { bytes: number }> {
  using timers = holdDeadlines();
  using arrived = countRequests(rig.sidecar.controlPort);
  rig.agent.asked = {};
  const responses = Promise.all(REPORTS.map(async (path) => (await rig.control(path)).text()));
  if (afterMs > 0) {
    await until(
      () => arrived.count() === REPORTS.length && Object.keys(rig.agent.asked).length === ROUTES.length + 1,
      'the requests to the sidecar and to the agent',
    );
    await timers.pass(afterMs);
  }
  const texts = await responses;
  const [ready, gap, explore, usage] = texts.map((text) => JSON.parse(text) as unknown);
  return { ready, gap, explore, usage, bytes: texts.join('').length } as Reports & { bytes: number };
}

/** The sidecar still works: it uses the agent's data as soon as the agent sends valid responses. */
async function expectRecovery(): Promise<void> {
  respondWith(() => undefined, []);
  const { gap, usage } = await requestReports();
  expect([gap.source, gap.issues.map(({ property }) => property), usage.source]).toEqual([
    'agent-sdk',
    ['model.apiKey'],
    'agent-sdk',
  ]);
}

const sourcesOf = ({ ready, gap, explore, usage }: Reports): string[] =>
  [ready, gap, explore, usage].map(({ source }) => source);
const STATIC = ['manifest-static', 'manifest-static', 'manifest-static', 'audit-ring'];

describe('an agent that responds on all routes with', () => {
  const NAME = 'is reported from its manifest, in time and with bounded memory';
  async function expectStatic(hostile: RequestListener, afterMs: number): Promise<void> {
    respondWith(hostile);
    const before = { bytes: written.bytes, rss: process.memoryUsage().rss };
    const shown = await requestReports(afterMs);
    expect(sourcesOf(shown)).toEqual(STATIC);
    expect(shown.explore.tools).toEqual([{ name: 'pay', declared: true, registered: null }]);
    // The buffers at both ends of a few connections, even if only a part is read.
    expect(written.bytes - before.bytes).toBeLessThan(32 * 1024 * 1024);
    expect(process.memoryUsage().rss - before.rss).toBeLessThan(128 * 1024 * 1024);
    await expectRecovery();
  }

  test.each(Object.entries(NO_REPORTS))(`%s ${NAME}`, (_name, hostile) => expectStatic(hostile, 0));
  test.each(Object.entries(SLOW_NO_REPORTS))(`%s ${NAME}`, (_name, hostile) => expectStatic(hostile, 5_000));

  test.each(Object.entries(NO_REPORTS).slice(0, 6))(
    '%s on one route only does not affect the other routes',
    async (_name, hostile) => {
      respondWith(hostile, ['/platform/health']);
      expect(sourcesOf(await requestReports())).toEqual([...STATIC.slice(0, 3), 'agent-sdk']);
      respondWith(hostile, ['/platform/usage', '/capabilities']);
      expect(sourcesOf(await requestReports())).toEqual([
        'agent-sdk',
        'agent-sdk',
        'agent-sdk',
        'audit-ring',
      ]);
    },
  );
});

test.each([301, 302, 303, 307, 308])(
  'a redirect (%i) to a server with valid responses is not followed',
  async (status) => {
    const servers = new TestServers();
    let requests = 0;
    const port = await servers.http((request, response) => {
      requests += 1;
      response.end(JSON.stringify(GOOD_RESPONSES[request.url ?? '']));
    });
    respondWith((request, response) =>
      response.writeHead(status, { location: `http://127.0.0.1:${port}${request.url}` }).end(),
    );
    const shown = await requestReports();
    await servers.close();
    expect([sourcesOf(shown), requests]).toEqual([STATIC, 0]);
    expect(shown.gap.issues.map(({ property }) => property)).toEqual(['discoverable']);
  },
);

describe('a health report', () => {
  const report = GOOD_RESPONSES['/platform/health'];
  const withChecks = (...checks: unknown[]): object => ({ ...report, checks });
  const tool = (more: object): object => ({
    id: 'tool:pay',
    category: 'tool',
    status: 'pass',
    severity: 'info',
    ...more,
  });
  const send = (body: unknown): void =>
    respondWith(
      (_request, response) => response.end(typeof body === 'string' ? body : JSON.stringify(body)),
      ['/platform/health'],
    );

  test.each<[string, unknown]>([
    ['a name that is a list', { ...report, agentName: ['shop'] }],
    ['a name that is an object with a toString', { ...report, agentName: { toString: 'shop' } }],
    ['a time that is a number', { ...report, timestamp: 0 }],
    ['a time beyond the supported range', { ...report, timestamp: '+275760-09-13T00:00:00Z' }],
    ['a status that is true', { ...report, status: true }],
    ['checks that are an object with a length', { ...report, checks: { length: 1, 0: tool({}) } }],
    ['a check that is null', withChecks(null)],
    ['a check that is a list', withChecks([tool({})])],
    ['an unknown check status', withChecks(tool({ status: 'PASS' }))],
    ['an unknown check severity', withChecks(tool({ severity: 'fatal' }))],
    ['a negative latency', withChecks(tool({ latencyMs: -1 }))],
    [
      'an infinite latency',
      JSON.stringify(withChecks(tool({ latencyMs: 0 }))).replace('"latencyMs":0', '"latencyMs":1e999'),
    ],
    ['a latency that is a string', withChecks(tool({ latencyMs: '3' }))],
    ['an id that is a number', withChecks(tool({ id: 7 }))],
    ['a message that is an object', withChecks(tool({ message: {} }))],
    ['members of __proto__ only', `{"__proto__":1,"checks":[{"__proto__":${JSON.stringify(tool({}))}}]}`],
  ])('with %s is ignored', async (_name, body) => {
    send(body);
    expect(sourcesOf(await requestReports())).toEqual([...STATIC.slice(0, 3), 'agent-sdk']);
    await expectRecovery();
  });

  const shownChecks = async (): Promise<Check[]> => {
    const shown = await requestReports();
    expect(shown.ready.source).toBe('agent-sdk');
    return shown.ready.checks.filter(({ id }) => id !== 'agent:upstream');
  };
  const shownTool = { id: 'tool:pay', category: 'tool', status: 'pass', severity: 'info' };

  test.each<[string, unknown, unknown]>([
    [
      'the same check twice shows the worst status',
      withChecks(tool({}), tool({ status: 'fail' })),
      [{ ...shownTool, status: 'fail' }],
    ],
    [
      'its own severity shows the severity of the sidecar',
      withChecks(tool({ severity: 'error', status: 'fail' })),
      [{ ...shownTool, status: 'fail' }],
    ],
    [
      'a category that contradicts the id shows the category of the id',
      withChecks(tool({ category: 'model' })),
      [shownTool],
    ],
    [
      'unknown kinds of checks omits them',
      withChecks(tool({}), tool({ id: '__proto__:x' }), tool({ id: 'x' })),
      [shownTool],
    ],
    [
      'a check of its own port omits that check',
      withChecks(tool({}), tool({ id: 'agent:upstream', status: 'fail' })),
      [shownTool],
    ],
    [
      'texts of 100 KB truncates them',
      withChecks(tool({ status: 'fail', message: 'm'.repeat(100_000), remediation: 'r'.repeat(100_000) })),
      [{ ...shownTool, status: 'fail', message: 'm'.repeat(500), remediation: 'r'.repeat(500) }],
    ],
    [
      'control characters and a lone surrogate shows them unchanged',
      withChecks(tool({ status: 'fail', message: '\0\x1b[2J\r\n\u202e\ud800' })),
      [{ ...shownTool, status: 'fail', message: '\0\x1b[2J\r\n\u202e\ud800' }],
    ],
    [
      'names of prototype members ignores them',
      `{"agentName":"shop","timestamp":"2026-03-01T10:00:00Z","status":"x","constructor":1,"checks":[{"id":"tool:pay","status":"pass","__proto__":{"message":"m"},"toString":"t"}]}`,
      [shownTool],
    ],
    [
      'unknown members ignores them',
      withChecks(tool({ latencyMs: 3, nested: { a: [[[1]]] }, message: null })),
      [{ ...shownTool, latencyMs: 3 }],
    ],
  ])('with %s', async (_name, body, expected) => {
    send(body);
    expect(await shownChecks()).toEqual(expected);
  });

  test('with invalid UTF-8 shows replacement characters', async () => {
    const [head = '', tail = ''] = JSON.stringify(withChecks(tool({ message: '@' }))).split('@');
    respondWith(
      (_request, response) =>
        response.end(Buffer.concat([Buffer.from(head), Buffer.from([0xff, 0xc0]), Buffer.from(tail)])),
      ['/platform/health'],
    );
    expect(await shownChecks()).toEqual([{ ...shownTool, message: '\ufffd\ufffd' }]);
  });

  test('with thousands of checks is truncated to a thousand in readiness, score and explore report', async () => {
    send(withChecks(...Array.from({ length: 5000 }, (_, n) => ({ id: `tool:t${n}`, status: 'fail' }))));
    const { ready, gap, explore } = await requestReports();
    expect([ready.checks.length, gap.score, explore.tools.length]).toEqual([1001, 0, 1001]);
    await expectRecovery();
  });
});

describe('capabilities', () => {
  const shownGap = async (body: unknown): Promise<string[]> => {
    respondWith(
      (_request, response) => response.end(typeof body === 'string' ? body : JSON.stringify(body)),
      ['/capabilities'],
    );
    return (await requestReports()).gap.issues.map(({ property }) => property);
  };
  const missing = ['discoverable.pay'];
  test.each<[string, unknown, string[]]>([
    ['tools that are not a list', { tools: 'pay' }, []],
    ['a list without valid names', { tools: [1, null, [], {}, { name: 5 }] }, missing],
    ['names in __proto__', '{"tools":[{"__proto__":{"name":"pay"}}]}', missing],
    ['tools in __proto__', '{"__proto__":{"tools":[]}}', []],
    [
      'ten thousand tools before the declared one',
      { tools: [...Array<string>(10_000).fill('x'), 'pay'] },
      missing,
    ],
    ['a name of 50 KB', { tools: [`pay${'y'.repeat(50_000)}`, 'pay'] }, []],
    ['the declared tool with a NUL', { tools: ['pay\0'] }, missing],
    ['more than 64 KiB', { tools: ['pay'], padding: 'x'.repeat(70_000) }, []],
    ['a card with invalid skills', { skills: [{ id: ['pay'] }] }, missing],
    ['the declared tool twice', { tools: ['pay', { name: 'pay' }], skills: [{ id: 'pay' }] }, []],
  ])('with %s cause the expected issues', async (_name, body, issues) => {
    expect((await shownGap(body)).filter((property) => property !== 'model.apiKey')).toEqual(issues);
    await expectRecovery();
  });
});

test('for any JSON on every route, all reports are consistent and the sidecar keeps working', async () => {
  const status = fc.constantFrom('pass', 'fail', 'skip');
  const kind = fc.constantFrom('tool:pay', 'env:A', 'model:openai/gpt-5', 'agent:upstream', '__proto__:x');
  const check = fc.record({ id: fc.oneof(kind, fc.string()), status: fc.oneof(status, fc.jsonValue()) });
  const report = fc.record({
    agentName: fc.oneof(fc.string(), fc.jsonValue()),
    timestamp: fc.constantFrom('2026-03-01T10:00:00Z', 0, ''),
    status: fc.oneof(fc.string(), fc.jsonValue()),
    checks: fc.oneof(fc.array(fc.oneof(check, fc.jsonValue())), fc.jsonValue()),
    tools: fc.oneof(fc.array(fc.jsonValue()), fc.jsonValue()),
  });
  await fc.assert(
    fc.asyncProperty(fc.oneof(report, fc.jsonValue()), async (value) => {
      respondWith((_request, response) => response.end(JSON.stringify(value)));
      const shown = await requestReports();
      expect(['agent-sdk', 'manifest-static']).toContain(shown.gap.source);
      expect(new Set(sourcesOf(shown).slice(0, 3)).size).toBe(1);
      expect(shown.ready.checks.map(({ id }) => id)).toContain('agent:upstream');
      expect(new Set(shown.ready.checks.map(({ id }) => id)).size).toBe(shown.ready.checks.length);
    }),
    { numRuns: 40 },
  );
  await expectRecovery();
});

describe('a usage report', () => {
  const report = GOOD_RESPONSES['/platform/usage'] as { models: object[] };
  const [model] = report.models;
  const shown = async (body: unknown): Promise<Reports['usage']> => {
    respondWith(
      (_request, response) => response.end(typeof body === 'string' ? body : JSON.stringify(body)),
      ['/platform/usage'],
    );
    return (await requestReports()).usage;
  };
  const text = JSON.stringify(report);
  test.each<[string, unknown]>([
    ['another source', { ...report, source: 'audit-ring' }],
    ['no source', { ...report, source: undefined }],
    ['an invalid start', { ...report, windowStartedAt: 'just now' }],
    ['a negative count', { ...report, totalTokens: -1 }],
    ['a fraction of a token', { ...report, totalTokens: 0.5 }],
    ['a count beyond the safe integers', { ...report, totalTokens: 2 ** 53 }],
    ['an infinite count', text.replace('"totalTokens":3', '"totalTokens":1e999')],
    ['a count that is a string', { ...report, totalCalls: '1' }],
    ['totals that contradict its models', { ...report, totalTokens: 0 }],
    ['models that are not a list', { ...report, models: { length: 0 } }],
    ['a model without name', { ...report, models: [{ ...model, modelId: null }] }],
    ['a model with a count that is a list', { ...report, models: [{ ...model, callCount: [1] }] }],
    ['members in __proto__', `{"__proto__":${text},"source":"agent-sdk"}`],
  ])('with %s is ignored and the audit ring is used', async (_name, body) => {
    expect(await shown(body)).toEqual({
      source: 'audit-ring',
      models: [],
      totalTokens: 0,
      totalCalls: 0,
      costUsd: null,
      sampleSize: 0,
      callsWithoutUsage: 0,
    });
    await expectRecovery();
  });

  test('with a thousand models and names of 100 KB is truncated', async () => {
    const many = Array.from({ length: 1000 }, (_, n) => ({ ...model, modelId: `m${n}` }));
    const totals = { totalTokens: 3000, totalCalls: 1000 };
    expect((await shown({ ...report, ...totals, models: many })).models).toHaveLength(100);
    const named = await shown({ ...report, models: [{ ...model, modelId: 'm'.repeat(100_000), extra: 1 }] });
    expect(named.models).toEqual([{ ...model, modelId: 'm'.repeat(200) }]);
  });
});
