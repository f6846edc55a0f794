import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { RequestListener } from 'node:http';
import type { Check } from '../core/health/health.ts';
import { clockAt } from '../testing/fixed-date.ts';
import { countRequests } from '../testing/count-requests.ts';
import { holdDeadlines } from '../testing/held-deadlines.ts';
import { GOOD_ANSWERS, NO_REPORTS, SLOW_NO_REPORTS, written } from '../testing/hostile-answers.ts';
import fc from '../testing/properties.ts';
import { until } from '../testing/proxy-rig.ts';
import { manifestText, startSidecarRig, type SidecarRig } from '../testing/sidecar-rig.ts';
import { TestServers } from '../testing/sockets.ts';

const ROUTES = Object.keys(GOOD_ANSWERS);

interface Shown {
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

/** The agent answers these paths so, and the others well. */
function answer(hostile: RequestListener, paths: readonly string[] = ROUTES): void {
  rig.agent.otherwise = (request, response) => {
    const path = request.url ?? '';
    if (paths.includes(path)) hostile(request, response);
    else if (path in GOOD_ANSWERS) response.end(JSON.stringify(GOOD_ANSWERS[path]));
    else response.writeHead(404).end();
  };
}

const REPORTS = ['/health/ready', '/gap', '/explore', '/usage'];

/**
 * Every report, requested at once. The clock of the sidecar's limits stands still meanwhile: no report waits for one of
 * them to run out. `afterMs`: they run out so much later, once all requests have come to the sidecar and to the agent.
 */
async function look(afterMs = 0): Promise<Shown & { bytes: number }> {
  using timers = holdDeadlines();
  using arrived = countRequests(rig.sidecar.controlPort);
  rig.agent.asked = {};
  const answers = Promise.all(REPORTS.map(async (path) => (await rig.control(path)).text()));
  if (afterMs > 0) {
    await until(
      () => arrived.count() === REPORTS.length && Object.keys(rig.agent.asked).length === ROUTES.length + 1,
      'the requests to the sidecar and to the agent',
    );
    await timers.pass(afterMs);
  }
  const texts = await answers;
  const [ready, gap, explore, usage] = texts.map((text) => JSON.parse(text) as unknown);
  return { ready, gap, explore, usage, bytes: texts.join('').length } as Shown & { bytes: number };
}

/** It still serves, and says the truth as soon as the agent does. */
async function expectWell(): Promise<void> {
  answer(() => undefined, []);
  const { gap, usage } = await look();
  expect([gap.source, gap.issues.map(({ property }) => property), usage.source]).toEqual([
    'agent-sdk',
    ['model.apiKey'],
    'agent-sdk',
  ]);
}

const sourcesOf = ({ ready, gap, explore, usage }: Shown): string[] =>
  [ready, gap, explore, usage].map(({ source }) => source);
const STATIC = ['manifest-static', 'manifest-static', 'manifest-static', 'audit-ring'];

describe('an agent that answers on all routes with', () => {
  const NAME = 'is known by its manifest alone, in time and in bounded memory';
  async function expectStatic(hostile: RequestListener, afterMs: number): Promise<void> {
    answer(hostile);
    const before = { bytes: written.bytes, rss: process.memoryUsage().rss };
    const shown = await look(afterMs);
    expect(sourcesOf(shown)).toEqual(STATIC);
    expect(shown.explore.tools).toEqual([{ name: 'pay', declared: true, registered: null }]);
    // What both ends of a few connections hold, whoever reads how little of it.
    expect(written.bytes - before.bytes).toBeLessThan(32 * 1024 * 1024);
    expect(process.memoryUsage().rss - before.rss).toBeLessThan(128 * 1024 * 1024);
    await expectWell();
  }

  test.each(Object.entries(NO_REPORTS))(`%s ${NAME}`, (_name, hostile) => expectStatic(hostile, 0));
  test.each(Object.entries(SLOW_NO_REPORTS))(`%s ${NAME}`, (_name, hostile) => expectStatic(hostile, 5_000));

  test.each(Object.entries(NO_REPORTS).slice(0, 6))(
    '%s, or on one of them, leaves the others as they are',
    async (_name, hostile) => {
      answer(hostile, ['/platform/health']);
      expect(sourcesOf(await look())).toEqual([...STATIC.slice(0, 3), 'agent-sdk']);
      answer(hostile, ['/platform/usage', '/capabilities']);
      expect(sourcesOf(await look())).toEqual(['agent-sdk', 'agent-sdk', 'agent-sdk', 'audit-ring']);
    },
  );
});

test.each([301, 302, 303, 307, 308])(
  'a redirect (%i) to a place with a good answer is not followed',
  async (status) => {
    const servers = new TestServers();
    let asked = 0;
    const port = await servers.http((request, response) => {
      asked += 1;
      response.end(JSON.stringify(GOOD_ANSWERS[request.url ?? '']));
    });
    answer((request, response) =>
      response.writeHead(status, { location: `http://127.0.0.1:${port}${request.url}` }).end(),
    );
    const shown = await look();
    await servers.close();
    expect([sourcesOf(shown), asked]).toEqual([STATIC, 0]);
    expect(shown.gap.issues.map(({ property }) => property)).toEqual(['discoverable']);
  },
);

describe('a health report', () => {
  const report = GOOD_ANSWERS['/platform/health'];
  const withChecks = (...checks: unknown[]): object => ({ ...report, checks });
  const tool = (more: object): object => ({
    id: 'tool:pay',
    category: 'tool',
    status: 'pass',
    severity: 'info',
    ...more,
  });
  const send = (body: unknown): void =>
    answer(
      (_request, response) => response.end(typeof body === 'string' ? body : JSON.stringify(body)),
      ['/platform/health'],
    );

  test.each<[string, unknown]>([
    ['a name that is a list', { ...report, agentName: ['shop'] }],
    ['a name that is an object with a toString', { ...report, agentName: { toString: 'shop' } }],
    ['a time that is a number', { ...report, timestamp: 0 }],
    ['a time beyond all calendars', { ...report, timestamp: '+275760-09-13T00:00:00Z' }],
    ['a status that is true', { ...report, status: true }],
    ['checks that only look like a list', { ...report, checks: { length: 1, 0: tool({}) } }],
    ['a check that is null', withChecks(null)],
    ['a check that is a list', withChecks([tool({})])],
    ['a status that no check has', withChecks(tool({ status: 'PASS' }))],
    ['a severity that no check has', withChecks(tool({ severity: 'fatal' }))],
    ['a negative latency', withChecks(tool({ latencyMs: -1 }))],
    [
      'an infinite latency',
      JSON.stringify(withChecks(tool({ latencyMs: 0 }))).replace('"latencyMs":0', '"latencyMs":1e999'),
    ],
    ['a latency in words', withChecks(tool({ latencyMs: '3' }))],
    ['an id that is a number', withChecks(tool({ id: 7 }))],
    ['a message that is an object', withChecks(tool({ message: {} }))],
    ['members of a prototype only', `{"__proto__":1,"checks":[{"__proto__":${JSON.stringify(tool({}))}}]}`],
  ])('with %s is none', async (_name, body) => {
    send(body);
    expect(sourcesOf(await look())).toEqual([...STATIC.slice(0, 3), 'agent-sdk']);
    await expectWell();
  });

  const shownChecks = async (): Promise<Check[]> => {
    const shown = await look();
    expect(shown.ready.source).toBe('agent-sdk');
    return shown.ready.checks.filter(({ id }) => id !== 'agent:upstream');
  };
  const shownTool = { id: 'tool:pay', category: 'tool', status: 'pass', severity: 'info' };

  test.each<[string, unknown, unknown]>([
    [
      'the same check twice: the worst counts',
      withChecks(tool({}), tool({ status: 'fail' })),
      [{ ...shownTool, status: 'fail' }],
    ],
    [
      'a severity of its own choice: the product’s counts',
      withChecks(tool({ severity: 'error', status: 'fail' })),
      [{ ...shownTool, status: 'fail' }],
    ],
    ['a category that its id does not say', withChecks(tool({ category: 'model' })), [shownTool]],
    [
      'kinds of checks that nobody knows',
      withChecks(tool({}), tool({ id: '__proto__:x' }), tool({ id: 'x' })),
      [shownTool],
    ],
    [
      'a word about its own port',
      withChecks(tool({}), tool({ id: 'agent:upstream', status: 'fail' })),
      [shownTool],
    ],
    [
      'a text of 100 KB',
      withChecks(tool({ status: 'fail', message: 'm'.repeat(100_000), remediation: 'r'.repeat(100_000) })),
      [{ ...shownTool, status: 'fail', message: 'm'.repeat(500), remediation: 'r'.repeat(500) }],
    ],
    [
      'control characters and half a character',
      withChecks(tool({ status: 'fail', message: '\0\x1b[2J\r\n\u202e\ud800' })),
      [{ ...shownTool, status: 'fail', message: '\0\x1b[2J\r\n\u202e\ud800' }],
    ],
    [
      'members that a prototype has',
      `{"agentName":"shop","timestamp":"2026-03-01T10:00:00Z","status":"x","constructor":1,"checks":[{"id":"tool:pay","status":"pass","__proto__":{"message":"m"},"toString":"t"}]}`,
      [shownTool],
    ],
    [
      'more than is wanted',
      withChecks(tool({ latencyMs: 3, nested: { a: [[[1]]] }, message: null })),
      [{ ...shownTool, latencyMs: 3 }],
    ],
  ])('with %s', async (_name, body, expected) => {
    send(body);
    expect(await shownChecks()).toEqual(expected);
  });

  test('with bytes that are no UTF-8 is shown with the sign for them', async () => {
    const [head = '', tail = ''] = JSON.stringify(withChecks(tool({ message: '@' }))).split('@');
    answer(
      (_request, response) =>
        response.end(Buffer.concat([Buffer.from(head), Buffer.from([0xff, 0xc0]), Buffer.from(tail)])),
      ['/platform/health'],
    );
    expect(await shownChecks()).toEqual([{ ...shownTool, message: '\ufffd\ufffd' }]);
  });

  test('with thousands of checks is cut at a thousand, in the report, the score and what is explored', async () => {
    send(withChecks(...Array.from({ length: 5000 }, (_, n) => ({ id: `tool:t${n}`, status: 'fail' }))));
    const { ready, gap, explore } = await look();
    expect([ready.checks.length, gap.score, explore.tools.length]).toEqual([1001, 0, 1001]);
    await expectWell();
  });
});

describe('capabilities', () => {
  const shownGap = async (body: unknown): Promise<string[]> => {
    answer(
      (_request, response) => response.end(typeof body === 'string' ? body : JSON.stringify(body)),
      ['/capabilities'],
    );
    return (await look()).gap.issues.map(({ property }) => property);
  };
  const missing = ['discoverable.pay'];
  test.each<[string, unknown, string[]]>([
    ['no list of tools', { tools: 'pay' }, []],
    ['a list of anything but names', { tools: [1, null, [], {}, { name: 5 }] }, missing],
    ['names of a prototype', '{"tools":[{"__proto__":{"name":"pay"}}]}', missing],
    ['tools of a prototype', '{"__proto__":{"tools":[]}}', []],
    [
      'ten thousand tools before the declared one',
      { tools: [...Array<string>(10_000).fill('x'), 'pay'] },
      missing,
    ],
    ['a name of 50 KB', { tools: [`pay${'y'.repeat(50_000)}`, 'pay'] }, []],
    ['the declared tool with a NUL', { tools: ['pay\0'] }, missing],
    ['more than 64 KiB', { tools: ['pay'], padding: 'x'.repeat(70_000) }, []],
    ['a card whose skills are wrong', { skills: [{ id: ['pay'] }] }, missing],
    ['the declared tool twice', { tools: ['pay', { name: 'pay' }], skills: [{ id: 'pay' }] }, []],
  ])('with %s', async (_name, body, issues) => {
    expect((await shownGap(body)).filter((property) => property !== 'model.apiKey')).toEqual(issues);
    await expectWell();
  });
});

test('whatever JSON it gives on every route, each report is one and the sidecar stays', async () => {
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
      answer((_request, response) => response.end(JSON.stringify(value)));
      const shown = await look();
      expect(['agent-sdk', 'manifest-static']).toContain(shown.gap.source);
      expect(new Set(sourcesOf(shown).slice(0, 3)).size).toBe(1);
      expect(shown.ready.checks.map(({ id }) => id)).toContain('agent:upstream');
      expect(new Set(shown.ready.checks.map(({ id }) => id)).size).toBe(shown.ready.checks.length);
    }),
    { numRuns: 150 },
  );
  await expectWell();
});

describe('a usage report', () => {
  const report = GOOD_ANSWERS['/platform/usage'] as { models: object[] };
  const [model] = report.models;
  const shown = async (body: unknown): Promise<Shown['usage']> => {
    answer(
      (_request, response) => response.end(typeof body === 'string' ? body : JSON.stringify(body)),
      ['/platform/usage'],
    );
    return (await look()).usage;
  };
  const text = JSON.stringify(report);
  test.each<[string, unknown]>([
    ['another source', { ...report, source: 'audit-ring' }],
    ['no source', { ...report, source: undefined }],
    ['no start', { ...report, windowStartedAt: 'just now' }],
    ['a negative count', { ...report, totalTokens: -1 }],
    ['half a token', { ...report, totalTokens: 0.5 }],
    ['more tokens than can be counted', { ...report, totalTokens: 2 ** 53 }],
    ['an infinite count', text.replace('"totalTokens":3', '"totalTokens":1e999')],
    ['a count in words', { ...report, totalCalls: '1' }],
    ['totals that contradict its models', { ...report, totalTokens: 0 }],
    ['models that are no list', { ...report, models: { length: 0 } }],
    ['a model without name', { ...report, models: [{ ...model, modelId: null }] }],
    ['a model with a count that is a list', { ...report, models: [{ ...model, callCount: [1] }] }],
    ['models of a prototype', `{"__proto__":${text},"source":"agent-sdk"}`],
  ])('with %s is none: the ring counts', async (_name, body) => {
    expect(await shown(body)).toEqual({
      source: 'audit-ring',
      models: [],
      totalTokens: 0,
      totalCalls: 0,
      sampleSize: 0,
      callsWithoutUsage: 0,
    });
    await expectWell();
  });

  test('with a thousand models and names of 100 KB is cut', async () => {
    const many = Array.from({ length: 1000 }, (_, n) => ({ ...model, modelId: `m${n}` }));
    const totals = { totalTokens: 3000, totalCalls: 1000 };
    expect((await shown({ ...report, ...totals, models: many })).models).toHaveLength(100);
    const named = await shown({ ...report, models: [{ ...model, modelId: 'm'.repeat(100_000), extra: 1 }] });
    expect(named.models).toEqual([{ ...model, modelId: 'm'.repeat(200) }]);
  });
});
