import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { AuditEntry } from '../../core/behavior/audit-entry.ts';
import { EVENT_BATCH_LIMITS } from '../../core/behavior/parse-event-batch.ts';
import { manifestText, startSidecarRig, type SidecarRig } from '../../testing/sidecar-rig.ts';

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
const tell = (body: unknown): Promise<Response> =>
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

describe('a page of a ring that holds seq 3 to 6, of which seq 3 has the id 5', () => {
  test.each([
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
    ['?since=-1', [3, 4, 5, 6]],
    ['?since=4.0', [3, 4, 5, 6]],
  ])('%s', async (query, seqs) => {
    await send('a', '9', '5', 'same', 'b', 'c');
    expect((await audit(query)).map(({ seq }) => seq)).toEqual(seqs);
  });
});

describe('events', () => {
  test('go to the entry of their id, also when a later client sent the same one', async () => {
    await send('a', 'a', 'b');
    await tell({ requestId: 'a', events: [TOOL] });
    expect((await audit()).map(({ toolsCalled }) => toolsCalled)).toEqual([['t'], undefined, undefined]);
  });

  test('of every variant are recorded as they came, with the name of who told them, unchecked', async () => {
    await send('a');
    const events = [
      { type: 'guardrail', guardrailType: 'toxicity-filter', invoked: true, blocked: false, score: 0.4 },
      { type: 'tool', name: 'pay', success: false, latencyMs: 5.5 },
      { type: 'model', modelId: 'm', promptTokens: 2, completionTokens: 3 },
      { type: 'memory', backend: 'redis', ttlSeconds: 60, piiScrubbed: true },
    ];
    const reply = await tell({ requestId: 'a', agentName: 'somebody else', events });
    expect([reply.status, await reply.json()]).toEqual([
      200,
      { requestId: 'a', found: true, opaViolations: [] },
    ]);
    expect((await audit())[0]).toMatchObject({ events, agentName: 'somebody else' });
  });

  test('of an id that is overwritten are not found', async () => {
    await send('a', 'b', 'c', 'd', 'e');
    const reply = await tell({ requestId: 'a', events: [TOOL] });
    expect([reply.status, await reply.json()]).toEqual([202, { requestId: 'a', found: false }]);
  });

  test('of a request in flight are found although its entry is overwritten', async () => {
    let answer = (): void => undefined;
    const isThere = new Promise<void>((resolve) => {
      rig.agent.otherwise = (_request, response) => {
        answer = () => void response.end('ok');
        resolve();
      };
    });
    const first = send('a');
    await isThere;
    rig.agent.otherwise = (_request, response) => response.end('ok');
    await send('b', 'c', 'd', 'e');
    expect((await audit()).map(({ requestId }) => requestId)).toEqual(['b', 'c', 'd', 'e']);
    expect((await tell({ requestId: 'a', events: [MODEL] })).status).toBe(200);
    expect(await tokensToday()).toBe(0);
    answer();
    await first;
    await rig.settled();
    expect(await tokensToday()).toBe(5);
    expect((await tell({ requestId: 'a', events: [MODEL] })).status).toBe(202);
  });

  test('of no request count tokens alone', async () => {
    await send('a');
    const replies = [
      await tell({ requestId: null, events: [MODEL, MODEL] }),
      await tell({ events: [MODEL] }),
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
      sampleSize: 0,
      callsWithoutUsage: 0,
      withoutRequest: { totalTokens: 15, totalCalls: 3 },
    });
  });

  test('of no request that are not all of a model count nothing', async () => {
    const reply = await tell({ events: [MODEL, TOOL] });
    expect([reply.status, await reply.json(), await tokensToday()]).toEqual([
      400,
      expect.objectContaining({
        errors: [{ path: 'events[1].type', message: 'must be model where requestId is absent' }],
      }),
      0,
    ]);
  });

  test('are at most 500', async () => {
    await send('a');
    const batch = (count: number) => ({ requestId: 'a', events: Array<object>(count).fill(TOOL) });
    expect((await tell(batch(501))).status).toBe(400);
    expect((await audit())[0]).not.toHaveProperty('events');
    expect((await tell(batch(500))).status).toBe(200);
    expect((await audit())[0]?.events).toHaveLength(500);
  });

  test('are at most 64 KiB', async () => {
    await send('a');
    const body = (bytes: number) => {
      const batch = { requestId: 'a', events: [TOOL], more: '' };
      return { ...batch, more: 'x'.repeat(bytes - JSON.stringify(batch).length) };
    };
    expect((await tell(body(EVENT_BATCH_LIMITS.bytes + 1))).status).toBe(413);
    expect((await audit())[0]).not.toHaveProperty('events');
    expect((await tell(body(EVENT_BATCH_LIMITS.bytes))).status).toBe(200);
  });

  test('of which one is not valid are not recorded, and each reason is said', async () => {
    await send('a');
    const reply = await tell({
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
