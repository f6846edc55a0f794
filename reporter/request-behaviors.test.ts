import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import type { BehavioralEvent } from '../core/shapes/events.ts';
import { followRequests } from './current-request.ts';
import { createRequestBehaviors } from './request-behaviors.ts';

/** `reporter.behavior()` in requests of a real server. */

let events: [string | null, BehavioralEvent][];
let counted: unknown[];
let warnings: unknown[];
const servers: Server[] = [];
beforeEach(() => {
  [events, counted, warnings] = [[], [], []];
});
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

const aReporter = () =>
  createRequestBehaviors({
    events: {
      send: (id, sent) => {
        for (const event of sent) events.push([id, event]);
        return true;
      },
    },
    countUsage: (...call) => counted.push(call) > 0,
    warnOnce: (...warning) => void warnings.push(warning),
  });

async function serve(listener: RequestListener): Promise<string> {
  followRequests();
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

async function get(url: string, id = 'r-1'): Promise<Record<string, string>> {
  const response = await fetch(url, { headers: { 'x-request-id': id } });
  await response.text();
  return Object.fromEntries([...response.headers].filter(([name]) => name.startsWith('x-platform-')));
}

test('concurrent requests have their own behavior, and the same one in all their code', async () => {
  const behavior = aReporter();
  const url = await serve((request, response) => {
    void (async () => {
      behavior().tool(`first-${String(request.headers['x-request-id'])}`);
      await sleep(1);
      behavior().tool(`second-${String(request.headers['x-request-id'])}`);
      response.end();
    })();
  });
  const ids = Array.from({ length: 20 }, (_, index) => `r${index}`);
  const headers = await Promise.all(ids.map((id) => get(url, id)));
  expect(headers).toEqual(
    ids.map((id) => ({
      'x-platform-guardrails-invoked': '',
      'x-platform-tools-called': `first-${id}, second-${id}`,
    })),
  );
});

test('a request that reports nothing has no headers', async () => {
  const behavior = aReporter();
  const url = await serve((_request, response) => {
    behavior().facts();
    response.end();
  });
  expect(await get(url)).toEqual({});
});

test('behavior() is the object of behavior(request, response), in both orders', async () => {
  const behavior = aReporter();
  const url = await serve((request, response) => {
    if (request.url === '/first') behavior(request, response);
    behavior().guardrail('pii-detector');
    behavior(request, response).tool('search');
    response.end();
  });
  const expected = { 'x-platform-guardrails-invoked': 'pii-detector', 'x-platform-tools-called': 'search' };
  expect([await get(`${url}first`), await get(`${url}second`)]).toEqual([expected, expected]);
});

test('reports after the head are events of the request, also after its response has closed', async () => {
  const behavior = aReporter();
  let later = (): void => undefined;
  const url = await serve((_request, response) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    later = resolve;
    behavior().begin();
    void promise.then(() => behavior().tool('later'));
    response.flushHeaders();
    behavior().guardrail('pii-detector');
    behavior().model('gpt', 1, 2, 'call-1');
    behavior().model('gpt', 1, 2, 'call-1');
    response.end();
  });
  await get(url);
  later();
  await sleep(0);
  expect([events, counted]).toEqual([
    [
      ['r-1', { type: 'guardrail', guardrailType: 'pii-detector', invoked: true }],
      ['r-1', { type: 'tool', name: 'later' }],
    ],
    [['r-1', 'gpt', 1, 2]],
  ]);
});

test('Hono sends the headers without the help of its code', async () => {
  const behavior = aReporter();
  const app = new Hono();
  app.get('/', async (context) => {
    await sleep(1);
    behavior().tool('search');
    return context.text('done');
  });
  const listen = getRequestListener(app.fetch);
  const url = await serve((request, response) => void listen(request, response));
  expect(await get(url)).toEqual({
    'x-platform-guardrails-invoked': '',
    'x-platform-tools-called': 'search',
  });
});

test('outside of a request, model calls are counted and the rest is dropped, with one warning', () => {
  const behavior = aReporter()();
  behavior.begin();
  expect([
    behavior.guardrail('pii-detector', { blocked: true }),
    behavior.tool('search', { success: true }),
    behavior.confirmed(),
    behavior.model('gpt', 1, 2, 'call-1'),
    behavior.headers(),
    behavior.facts(),
  ]).toEqual([false, false, false, true, {}, { guardrailsInvoked: null, userConfirmed: null }]);
  expect([events, counted]).toEqual([[], [[null, 'gpt', 1, 2]]]);
  expect(new Set(warnings.map((warning) => JSON.stringify(warning))).size).toBe(1);
});

test('a behavior of a request that is not the current one stays separate', async () => {
  const behavior = aReporter();
  const url = await serve((_request, response) => {
    behavior({ headers: { 'x-request-id': 'other' } }).tool('search', { success: true });
    response.end();
  });
  expect([await get(url), events]).toEqual([
    {},
    [['other', { type: 'tool', name: 'search', success: true }]],
  ]);
});
