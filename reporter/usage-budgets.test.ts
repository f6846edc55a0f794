import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { AuditEntry } from '../core/behavior/audit-entry.ts';
import { manifestText, startSidecarRig, type SidecarRig } from '../testing/sidecar-rig.ts';
import { createReporter, type Manifest, type Reporter, type RequestBehavior } from './index.ts';

const MODEL = 'gpt-5';
/** 194 tokens a day, or 194 dollars: a token of an answer costs one. */
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

/** The agent handles each request but the reporter's own like this. */
function agentThat(handle: (exchange: Exchange) => void): void {
  rig.agent.otherwise = (request, response) => {
    if (reporter.handle(request, response)) return;
    const behavior = () => reporter.behavior(request, response);
    if (request.url === '/v1/chat') handle({ request, response, behavior });
    else response.writeHead(404).end();
  };
}

const answerWith = (response: ServerResponse, used?: number): void => {
  const usage = used === undefined ? {} : { usage: { prompt_tokens: 0, completion_tokens: used } };
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ id: 'x', ...usage }));
};

/** One request to the proxy, or past it; its status. */
async function ask(url = rig.proxyUrl, headers: Record<string, string> = {}): Promise<number> {
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
      'by the behavior of the request',
      ({ response, behavior }) => {
        behavior().model(MODEL, 60, 40);
        answerWith(response);
      },
      { usage: 100, today: 100, events: [1] },
    ],
    [
      'inside of the request',
      ({ response }) => {
        record(100);
        answerWith(response);
      },
      { usage: 100, today: 100, events: [1] },
    ],
    [
      'inside, in several calls',
      ({ response }) => {
        for (const tokens of [40, 50, 10]) record(tokens);
        answerWith(response);
      },
      { usage: 100, today: 100, events: [3] },
    ],
    [
      'inside, which the response states too',
      ({ response }) => {
        record(100);
        answerWith(response, 100);
      },
      { usage: 100, today: 100, events: [1] },
    ],
    [
      'inside, of which the response states a part',
      ({ response }) => {
        record(100);
        answerWith(response, 80);
      },
      { usage: 100, today: 100, events: [1] },
    ],
    [
      'inside, where the response states more',
      ({ response }) => {
        record(100);
        answerWith(response, 150);
      },
      { usage: 100, today: 150, events: [1] },
    ],
    [
      'when the body of the request has ended',
      ({ request, response }) => {
        request.resume().on('end', () => {
          record(100);
          answerWith(response, 100);
        });
      },
      { usage: 100, today: 100, events: [1] },
    ],
    [
      'after an await',
      ({ request, response }) => {
        void request.toArray().then(() => {
          record(100);
          answerWith(response, 100);
        });
      },
      { usage: 100, today: 100, events: [1] },
    ],
    [
      'after the response was sent',
      ({ response }) => {
        answerWith(response, 100);
        response.on('close', () => setImmediate(() => record(100)));
      },
      { usage: 100, today: 100, events: [1] },
    ],
    [
      'with counts that cannot be, which count nowhere',
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
          ['usage is not counted', { reason: 'promptTokens must be a whole number from 0 to 1000000000' }],
          ['usage is not counted', { reason: 'modelId must be a non-empty string' }],
          [
            'usage is not counted',
            { reason: 'completionTokens must be a whole number from 0 to 1000000000' },
          ],
        ]);
        answerWith(response, 7);
      },
      { usage: 0, today: 7, events: [0] },
    ],
  ])('%s', async (_name, handle, expected) => {
    // A listener of 'close' may run when the client has its answer.
    const isOver = new Promise<void>((resolve) => {
      agentThat((exchange) => {
        exchange.response.on('close', () => setImmediate(() => setImmediate(resolve)));
        handle(exchange);
      });
    });
    expect(await ask()).toBe(200);
    await isOver;
    expect(await counted()).toEqual(expected);
  });

  test('outside of a request count without one', async () => {
    agentThat(({ response }) => {
      record(100);
      answerWith(response, 80);
    });
    await ask();
    expect(record(94)).toBe(true);
    expect(await counted()).toEqual({ usage: 194, today: 194, events: [1] });
  });

  test('outside of a request are not what another response states', async () => {
    agentThat(({ response }) => answerWith(response, 100));
    record(94);
    await ask();
    expect(await counted()).toEqual({ usage: 94, today: 194, events: [0] });
  });

  test.each([
    ['that has an id of its own', { 'x-request-id': 'of-an-ingress' }],
    ['that has no id', {}],
    ['whose id is longer than the sidecar allows', { 'x-request-id': 'r'.repeat(129) }],
  ])('for a request past the sidecar %s count without it', async (_name, headers) => {
    agentThat(({ response }) => {
      record(100);
      answerWith(response, 100);
    });
    await ask(rig.agent.url, headers);
    expect(await counted()).toEqual({ usage: 100, today: 100, events: [] });
    expect(reporter.events.counts()).toEqual({ delivered: 1, dropped: 0, queued: 0 });
  });

  test('go to the request of each, however they are interleaved', async () => {
    const waiting: (() => void)[] = [];
    agentThat(({ response }) => {
      const tokens = 10 ** waiting.length;
      waiting.push(() => undefined);
      void new Promise<void>((resolve) => {
        waiting[waiting.length - 1] = resolve;
        if (waiting.length === 3) for (const goOn of waiting.toReversed()) goOn();
      }).then(() => {
        record(tokens);
        answerWith(response, tokens);
      });
    });
    await Promise.all([ask(), ask(), ask()]);
    expect(await counted()).toEqual({ usage: 111, today: 111, events: [1, 1, 1] });
  });

  test('go to the request of each on one connection', async () => {
    agentThat(({ request, response }) => {
      request.resume().on('end', () => {
        record(10);
        answerWith(response, 10);
      });
    });
    for (let n = 0; n < 3; n += 1) await ask();
    expect(await counted()).toEqual({ usage: 30, today: 30, events: [1, 1, 1] });
  });
});

describe('the budgets of the policy', () => {
  const denials = async (): Promise<string[]> => {
    const { issues } = await rig.report<{ issues: { property: string }[] }>('/gap');
    return issues.map(({ property }) => property).filter((property) => property.startsWith('policy.'));
  };

  test('see the tokens of requests and the others: the next response is denied', async () => {
    agentThat(({ response, behavior }) => {
      behavior().model(MODEL, 0, 100);
      answerWith(response, 90);
    });
    expect([await ask(), record(93)]).toEqual([200, true]);
    expect(await counted()).toMatchObject({ usage: 193, today: 193 });
    expect(await denials()).toEqual([]);
    agentThat(({ response, behavior }) => {
      behavior();
      answerWith(response);
    });
    record(1);
    expect(await counted()).toMatchObject({ usage: 194, today: 194 });
    expect((await denials()).toSorted()).toEqual([
      'policy.daily_token_limit_exceeded',
      'policy.monthly_cost_limit_exceeded',
    ]);
    expect(await ask()).toBe(403);
  });
});
