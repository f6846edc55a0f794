import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { AuditEntry } from '../../core/shapes/audit-entry.ts';
import { EVENT_BATCH_LIMITS } from '../../core/shapes/events.ts';
import { manifestText, startSidecarRig, type SidecarRig } from '../../testing/sidecar/sidecar-rig.ts';

let rig: SidecarRig;
beforeEach(async () => {
  rig = await startSidecarRig({ manifest: manifestText(), env: { AUDIT_RING_SIZE: '4' } });
  rig.agent.otherwise = (_request, response) => response.end('ok');
});
afterEach(() => rig.close());

const send = async (...ids: string[]): Promise<void> => {
  for (const id of ids) await (await fetch(`${rig.proxyUrl}/x`, { headers: { 'x-request-id': id } })).text();
};
const audit = (query = ''): Promise<AuditEntry[]> => rig.report<AuditEntry[]>(`/audit${query}`);
const postEvents = (body: unknown): Promise<Response> =>
  rig.control('/events', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
const TOOL = { type: 'tool', name: 't' };
const MODEL = { type: 'model', modelId: 'm', promptTokens: 2, completionTokens: 3 };
const tokensToday = async (): Promise<number> => {
  const metrics = await (await rig.control('/metrics')).text();
  return Number(/tokens_today\{instances="this"\} (\d+)/.exec(metrics)?.[1]);
};

describe('/audit of a ring with seq 3 to 6, where seq 3 has the id 5, returns for', () => {
  test.each([
    ['', [3, 4, 5, 6]],
    ['?limit=99999999999999999999', [3, 4, 5, 6]],
    ['?limit=002', [5, 6]],
    ['?since=0', [3, 4, 5, 6]],
    ['?since=1', [3, 4, 5, 6]],
    ['?since=05', [6]],
    ['?since=5', [6]],
    ['?since=6', []],
    ['?since=7', [3, 4, 5, 6]],
    ['?since=99999999999999999999', [3, 4, 5, 6]],
    ['?since=same', [5, 6]],
    ['?since=same&limit=1', [5]],
    ['?since=1&limit=2', [3, 4]],
    ['?since=unknown&limit=1', [3]],
    ['?since=-1', [3, 4, 5, 6]],
    ['?since=4.0', [3, 4, 5, 6]],
  ])('%s', async (query, seqs) => {
    await send('a', '9', '5', 'same', 'b', 'c');
    expect((await audit(query)).map(({ seq }) => seq)).toEqual(seqs);
  });

  test.each([
    ['', '0 0 0'],
    ['abcdef', '3 6 2'],
  ])('the range in its headers after the requests "%s"', async (ids, range) => {
    await send(...ids);
    const { headers } = await rig.control('/audit');
    expect(
      ['first', 'last', 'dropped'].map((name) => headers.get(`x-platform-audit-${name}`)).join(' '),
    ).toBe(range);
  });
});

describe('events', () => {
  test('are added to the newest entry with their request id', async () => {
    await send('a', 'a', 'b');
    await postEvents({ requestId: 'a', events: [TOOL] });
    expect((await audit()).map(({ toolsCalled }) => toolsCalled)).toEqual([['t'], undefined, undefined]);
  });

  test('of every variant are recorded unchanged, with the unchecked name of their sender', async () => {
    await send('a');
    const events = [
      { type: 'guardrail', guardrailType: 'toxicity-filter', invoked: true, blocked: false, score: 0.4 },
      { type: 'tool', name: 'pay', success: false, latencyMs: 5.5 },
      { type: 'model', modelId: 'm', promptTokens: 2, completionTokens: 3 },
      { type: 'memory', backend: 'redis', ttlSeconds: 60, piiScrubbed: true },
    ];
    const reply = await postEvents({ requestId: 'a', agentName: 'another agent', events });
    expect([reply.status, await reply.json()]).toEqual([
      200,
      { requestId: 'a', found: true, opaViolations: [] },
    ]);
    expect((await audit())[0]).toMatchObject({ events, agentName: 'another agent' });
  });

  test('of an overwritten entry return found: false', async () => {
    await send('a', 'b', 'c', 'd', 'e');
    const reply = await postEvents({ requestId: 'a', events: [TOOL] });
    expect([reply.status, await reply.json()]).toEqual([202, { requestId: 'a', found: false }]);
  });

  test('of a request in flight are recorded although its entry was overwritten', async () => {
    let respond = (): void => undefined;
    const arrived = new Promise<void>((resolve) => {
      rig.agent.otherwise = (_request, response) => {
        respond = () => void response.end('ok');
        resolve();
      };
    });
    const first = send('a');
    await arrived;
    rig.agent.otherwise = (_request, response) => response.end('ok');
    await send('b', 'c', 'd', 'e');
    expect((await audit()).map(({ requestId }) => requestId)).toEqual(['b', 'c', 'd', 'e']);
    expect((await postEvents({ requestId: 'a', events: [MODEL] })).status).toBe(200);
    expect(await tokensToday()).toBe(0);
    respond();
    await first;
    await rig.settled();
    expect(await tokensToday()).toBe(5);
    expect((await postEvents({ requestId: 'a', events: [MODEL] })).status).toBe(202);
  });

  test('without a request only count tokens', async () => {
    await send('a');
    const replies = [
      await postEvents({ requestId: null, events: [MODEL, MODEL] }),
      await postEvents({ events: [MODEL] }),
    ];
    for (const reply of replies)
      expect([reply.status, await reply.json()]).toEqual([202, { requestId: null, found: false }]);
    const [entry, ...others] = await audit();
    expect([await tokensToday(), entry?.events, others]).toEqual([15, undefined, []]);
    expect(await rig.report('/usage')).toEqual({
      source: 'audit-ring',
      models: [],
      totalTokens: 0,
      totalCalls: 0,
      costUsd: null,
      sampleSize: 0,
      callsWithoutUsage: 0,
      withoutRequest: { totalTokens: 15, totalCalls: 3 },
    });
  });

  test('without a request are rejected if one is not a model event', async () => {
    const reply = await postEvents({ events: [MODEL, TOOL] });
    expect([reply.status, await reply.json(), await tokensToday()]).toEqual([
      400,
      expect.objectContaining({
        errors: [{ path: 'events[1].type', message: 'must be model if requestId is absent' }],
      }),
      0,
    ]);
  });

  test('are limited to 500 per batch', async () => {
    await send('a');
    const batch = (count: number) => ({ requestId: 'a', events: Array<object>(count).fill(TOOL) });
    expect((await postEvents(batch(501))).status).toBe(400);
    expect((await audit())[0]).not.toHaveProperty('events');
    expect((await postEvents(batch(500))).status).toBe(200);
    expect((await audit())[0]?.events).toHaveLength(500);
  });

  test('are limited to 64 KiB per batch', async () => {
    await send('a');
    const body = (bytes: number) => {
      const batch = { requestId: 'a', events: [TOOL], more: '' };
      return { ...batch, more: 'x'.repeat(bytes - JSON.stringify(batch).length) };
    };
    expect((await postEvents(body(EVENT_BATCH_LIMITS.bytes + 1))).status).toBe(413);
    expect((await audit())[0]).not.toHaveProperty('events');
    expect((await postEvents(body(EVENT_BATCH_LIMITS.bytes))).status).toBe(200);
  });

  test('are rejected as a batch, with all reasons, if one is invalid', async () => {
    await send('a');
    const reply = await postEvents({
      requestId: 'a',
      agentName: 'x',
      events: [TOOL, { type: 'dance' }, { type: 'tool' }],
    });
    expect([reply.status, await reply.json()]).toEqual([
      400,
      {
        type: 'about:blank',
        title: 'Bad Request',
        status: 400,
        detail: 'the event batch is not valid',
        errors: [
          { path: 'events[1].type', message: 'must be one of guardrail, tool, model, memory' },
          { path: 'events[2].name', message: 'must be a string' },
        ],
      },
    ]);
    const [entry] = await audit();
    expect(entry).not.toHaveProperty('events');
    expect(entry).not.toHaveProperty('agentName');
  });
});
