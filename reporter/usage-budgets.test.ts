import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { AuditEntry } from '../core/shapes/audit-entry.ts';
import type { ShownUsageReport } from '../core/shapes/sidecar-reports.ts';
import { manifestText, startSidecarRig, type SidecarRig } from '../testing/sidecar/sidecar-rig.ts';
import { createReporter, type Manifest, type Reporter, type RequestBehavior } from './index.ts';

const MODEL = 'gpt-5';
/** 194 tokens or 194 dollars a day: one completion token costs one dollar. */
const usdPerMillionTokens = { input: 0, output: 1e6 };
const LIMITS = { maxTokensPerDay: 194, maxMonthlyUSD: 30 * 194, usdPerMillionTokens };
const MANIFEST = manifestText({
  model: { provider: 'openai', id: MODEL, apiKey: '$env:OPENAI_API_KEY', costControls: LIMITS },
});

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  behavior: () => RequestBehavior;
}

let rig: SidecarRig;
let reporter: Reporter;
let warnings: unknown[][];

beforeEach(async () => {
  warnings = [];
  const env = { OPENAI_API_KEY: 'k', OPENAI_BASE_URL: 'http://127.0.0.1:9/v1' };
  rig = await startSidecarRig({
    manifest: MANIFEST,
    env: { ...env, POLICY_ENGINE: 'builtin', POLICY_PROXY_MODE: 'enforce' },
  });
  const sidecarUrl = `http://127.0.0.1:${rig.sidecar.controlPort}`;
  const logger = {
    warn: (...entry: unknown[]) => void warnings.push(entry),
    info: () => undefined,
    debug: () => undefined,
  };
  reporter = createReporter({ manifest: JSON.parse(MANIFEST) as Manifest, env, sidecarUrl, logger });
});
afterEach(async () => {
  await reporter.stop();
  await rig.close();
});

/** Sets the handler of the agent for all requests that the reporter does not serve. */
function setAgent(handle: (exchange: Exchange) => void): void {
  rig.agent.otherwise = (request, response) => {
    if (reporter.handle(request, response)) return;
    const behavior = () => reporter.behavior(request, response);
    if (request.url === '/v1/chat') handle({ request, response, behavior });
    else response.writeHead(404).end();
  };
}

const respond = (response: ServerResponse, used?: number): void => {
  const usage = used === undefined ? {} : { usage: { prompt_tokens: 0, completion_tokens: used } };
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ id: 'x', ...usage }));
};

/** Sends one request to the proxy, or directly to the agent; returns the status. */
async function chat(url = rig.proxyUrl, headers: Record<string, string> = {}): Promise<number> {
  const response = await fetch(`${url}/v1/chat`, { method: 'POST', body: '{"input":"hi"}', headers });
  await response.text();
  return response.status;
}

async function counted(): Promise<{ usage: number; today: number; events: number[] }> {
  await reporter.events.flush(60_000);
  await rig.settled();
  const { totalTokens } = await rig.report<{ totalTokens: number }>('/usage');
  const metrics = await (await rig.control('/metrics')).text();
  const today = Number(/tokens_today\{instances="this"\} (\d+)/.exec(metrics)?.[1]);
  const entries = await rig.report<AuditEntry[]>('/audit');
  return { usage: totalTokens, today, events: entries.map(({ events }) => events?.length ?? 0) };
}

const record = (tokens: number): boolean => reporter.recordUsage(MODEL, 0, tokens);

describe('tokens that an agent records', () => {
  test.each<[string, (exchange: Exchange) => void, Awaited<ReturnType<typeof counted>>]>([
    [
      'with the behavior of the request',
      ({ response, behavior }) => {
        behavior().model(MODEL, 60, 40);
        respond(response);
      },
      { usage: 100, today: 100, events: [1] },
    ],
    [
      'within the request',
      ({ response }) => {
        record(100);
        respond(response);
      },
      { usage: 100, today: 100, events: [1] },
    ],
    [
      'within the request, in several calls',
      ({ response }) => {
        for (const tokens of [40, 50, 10]) record(tokens);
        respond(response);
      },
      { usage: 100, today: 100, events: [3] },
    ],
    [
      'within the request, with the same usage in the response',
      ({ response }) => {
        record(100);
        respond(response, 100);
      },
      { usage: 100, today: 100, events: [1] },
    ],
    [
      'within the request, with lower usage in the response',
      ({ response }) => {
        record(100);
        respond(response, 80);
      },
      { usage: 100, today: 100, events: [1] },
    ],
    [
      'within the request, with higher usage in the response',
      ({ response }) => {
        record(100);
        respond(response, 150);
      },
      { usage: 100, today: 150, events: [1] },
    ],
    [
      'after the end of the request body',
      ({ request, response }) => {
        request.resume().on('end', () => {
          record(100);
          respond(response, 100);
        });
      },
      { usage: 100, today: 100, events: [1] },
    ],
    [
      'after an await',
      ({ request, response }) => {
        void request.toArray().then(() => {
          record(100);
          respond(response, 100);
        });
      },
      { usage: 100, today: 100, events: [1] },
    ],
    [
      'after the response',
      ({ response }) => {
        respond(response, 100);
        response.on('close', () => setImmediate(() => record(100)));
      },
      { usage: 100, today: 100, events: [1] },
    ],
    [
      'with invalid counts, which are ignored',
      ({ response, behavior }) => {
        const own = behavior();
        const results = [
          own.model(MODEL, -1, 5),
          own.model(MODEL, 1e10, 0),
          own.model(' ', 1, 1),
          record(0.5),
        ];
        expect(results).toEqual([false, false, false, false]);
        expect(warnings).toEqual([
          [
            'invalid usage arguments, usage not counted',
            { reason: 'promptTokens must be a whole number from 0 to 1000000000' },
          ],
          ['invalid usage arguments, usage not counted', { reason: 'modelId must be a non-empty string' }],
          [
            'invalid usage arguments, usage not counted',
            { reason: 'completionTokens must be a whole number from 0 to 1000000000' },
          ],
        ]);
        respond(response, 7);
      },
      { usage: 0, today: 7, events: [0] },
    ],
  ])('%s', async (_name, handle, expected) => {
    // A listener of 'close' can run after the client has received the response.
    const isClosed = new Promise<void>((resolve) => {
      setAgent((exchange) => {
        exchange.response.on('close', () => setImmediate(() => setImmediate(resolve)));
        handle(exchange);
      });
    });
    expect(await chat()).toBe(200);
    await isClosed;
    expect(await counted()).toEqual(expected);
  });

  test('outside of a request count without a request', async () => {
    setAgent(({ response }) => {
      record(100);
      respond(response, 80);
    });
    await chat();
    expect(record(94)).toBe(true);
    expect(await counted()).toEqual({ usage: 194, today: 194, events: [1] });
  });

  test('outside of a request count in addition to the usage of a response', async () => {
    setAgent(({ response }) => respond(response, 100));
    record(94);
    await chat();
    expect(await counted()).toEqual({ usage: 94, today: 194, events: [0] });
  });

  test.each([
    ['with its own id', { 'x-request-id': 'of-an-ingress' }],
    ['without an id', {}],
    ['with an id that is longer than the sidecar allows', { 'x-request-id': 'r'.repeat(129) }],
  ])('for a request that bypasses the sidecar, %s, count without a request', async (_name, headers) => {
    setAgent(({ response }) => {
      record(100);
      respond(response, 100);
    });
    await chat(rig.agent.url, headers);
    expect(await counted()).toEqual({ usage: 100, today: 100, events: [] });
    expect(reporter.events.counts()).toEqual({ delivered: 1, dropped: 0, queued: 0 });
  });

  test('count for their own request when requests are interleaved', async () => {
    const waiting: (() => void)[] = [];
    setAgent(({ response }) => {
      const tokens = 10 ** waiting.length;
      waiting.push(() => undefined);
      void new Promise<void>((resolve) => {
        waiting[waiting.length - 1] = resolve;
        if (waiting.length === 3) for (const resume of waiting.toReversed()) resume();
      }).then(() => {
        record(tokens);
        respond(response, tokens);
      });
    });
    await Promise.all([chat(), chat(), chat()]);
    expect(await counted()).toEqual({ usage: 111, today: 111, events: [1, 1, 1] });
  });

  test('count for their own request on one connection', async () => {
    setAgent(({ request, response }) => {
      request.resume().on('end', () => {
        record(10);
        respond(response, 10);
      });
    });
    for (let n = 0; n < 3; n += 1) await chat();
    expect(await counted()).toEqual({ usage: 30, today: 30, events: [1, 1, 1] });
  });
});

test('of 13 worker processes, usage is the sum of their events, and the report of one of them is named', async () => {
  const sidecarUrl = `http://127.0.0.1:${rig.sidecar.controlPort}`;
  const workers = Array.from({ length: 13 }, () =>
    createReporter({ manifest: JSON.parse(MANIFEST) as Manifest, env: {}, sidecarUrl }),
  );
  let requests = 0;
  rig.agent.otherwise = (request, response) => {
    const worker = workers[requests % workers.length]!;
    if (request.url === '/v1/chat') requests += 1;
    if (worker.handle(request, response)) return;
    worker.recordUsage(MODEL, 30, 10);
    respond(response);
  };
  const usageOf = () => rig.report<ShownUsageReport>('/usage');
  await chat();
  await workers[0]!.events.flush(60_000);
  requests = 0;
  expect(await usageOf()).toEqual({ ...workers[0]!.getUsage(), costUsd: 10 });
  requests = 1;
  for (let n = 1; n < workers.length; n += 1) await chat();
  for (const worker of workers) await worker.events.flush(60_000);
  expect(await usageOf()).toEqual({
    source: 'agent-sdk',
    windowStartedAt: expect.any(String),
    models: [{ modelId: MODEL, promptTokens: 390, completionTokens: 130, totalTokens: 520, callCount: 13 }],
    totalTokens: 520,
    totalCalls: 13,
    costUsd: 130,
    processReport: { totalTokens: 40, totalCalls: 1 },
  });
  for (const worker of workers) await worker.stop();
});

describe('the budgets of the policy', () => {
  const denials = async (): Promise<string[]> => {
    const { issues } = await rig.report<{ issues: { property: string }[] }>('/gap');
    return issues.map(({ property }) => property).filter((property) => property.startsWith('policy.'));
  };

  test('include tokens with and without a request, and the next response is denied', async () => {
    setAgent(({ response, behavior }) => {
      behavior().model(MODEL, 0, 100);
      respond(response, 90);
    });
    expect([await chat(), record(93)]).toEqual([200, true]);
    expect(await counted()).toMatchObject({ usage: 193, today: 193 });
    expect(await denials()).toEqual([]);
    setAgent(({ response, behavior }) => {
      behavior();
      respond(response);
    });
    record(1);
    expect(await counted()).toMatchObject({ usage: 194, today: 194 });
    expect((await denials()).toSorted()).toEqual([
      'policy.daily_token_limit_exceeded',
      'policy.monthly_cost_limit_exceeded',
    ]);
    expect(await chat()).toBe(403);
  });
});
