import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { getRequestListener } from '@hono/node-server';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import type { HealthReport } from '../core/shapes/health.ts';
import { createHandlers, type ReportSource } from './handlers.ts';

const HEALTH: HealthReport = {
  agentName: 'shop',
  timestamp: '2026-03-01T10:00:00.000Z',
  status: 'healthy',
  summary: { passed: 0, failed: 0, warnings: 0, skipped: 0 },
  checks: [],
};
const USAGE = {
  source: 'agent-sdk' as const,
  windowStartedAt: '2026-03-01T10:00:00.000Z',
  models: [],
  totalTokens: 0,
  totalCalls: 0,
};

let server: Server;
let getHealth: ReportSource['getReport'];
const source: ReportSource = { getReport: () => getHealth(), getUsage: () => USAGE };

async function serve(listener: Parameters<typeof createServer>[1]): Promise<string> {
  server = createServer(listener as Parameters<typeof createServer>[0]);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function get(url: string, method = 'GET'): Promise<[number, string | null, unknown]> {
  const response = await fetch(url, { method });
  const text = await response.text();
  return [response.status, response.headers.get('content-type'), text === '' ? '' : JSON.parse(text)];
}

beforeEach(() => {
  getHealth = () => Promise.resolve(HEALTH);
});
afterEach(() => new Promise((resolve) => server.close(resolve)));

const JSON_TYPE = 'application/json';
const PROBLEM_TYPE = 'application/problem+json';

describe('mounted in a node:http server', () => {
  let url: string;
  beforeEach(async () => {
    const { handle } = createHandlers(source);
    url = await serve((request, response) => {
      if (!handle(request, response)) response.writeHead(418).end('"mine"');
    });
  });

  test.each<[string, string, [number, string | null, unknown]]>([
    ['GET', '/platform/health', [200, JSON_TYPE, HEALTH]],
    ['GET', '/platform/usage?x=1', [200, JSON_TYPE, USAGE]],
    ['HEAD', '/platform/health', [200, JSON_TYPE, '']],
    ['GET', '/platform/healthy', [418, null, 'mine']],
    ['GET', '/', [418, null, 'mine']],
    [
      'POST',
      '/platform/usage',
      [
        405,
        PROBLEM_TYPE,
        {
          type: 'about:blank',
          title: 'Method Not Allowed',
          status: 405,
          detail: 'POST is not allowed on /platform/usage',
        },
      ],
    ],
  ])('%s %s', async (method, path, expected) => {
    expect(await get(url + path, method)).toEqual(expected);
  });

  test.each([
    ['was never started', () => Promise.resolve(null), 'the reporter was not started'],
    [
      'cannot run its checks',
      () => Promise.reject(new Error('secret inside')),
      'the health checks could not run',
    ],
  ])('a reporter that %s returns 503 without internal details', async (_name, getReport, detail) => {
    getHealth = getReport;
    expect(await get(`${url}/platform/health`)).toEqual([
      503,
      PROBLEM_TYPE,
      { type: 'about:blank', title: 'Service Unavailable', status: 503, detail },
    ]);
  });
});

describe('mounted in Express', () => {
  let url: string;
  beforeEach(async () => {
    const app = express();
    app.get('/platform/health', createHandlers(source).healthHandler);
    app.get('/platform/usage', createHandlers(source).usageHandler);
    url = await serve(app);
  });

  test('serves both routes', async () => {
    const [health, usage] = [await get(`${url}/platform/health`), await get(`${url}/platform/usage`)];
    expect([health[0], health[2], usage[0], usage[2]]).toEqual([200, HEALTH, 200, USAGE]);
  });

  test('returns 503 while there is no report', async () => {
    getHealth = () => Promise.resolve(null);
    expect((await get(`${url}/platform/health`))[0]).toBe(503);
  });
});

/** One row per framework; all of them return the same responses. */
const MOUNTS: readonly [string, () => Promise<string>][] = [
  [
    'Express, before its own routes',
    () => {
      const app = express();
      const { handle } = createHandlers(source);
      app.use((request, response, next) => {
        if (!handle(request, response)) next();
      });
      app.get('/mine', (_request, response) => void response.json('mine'));
      return serve(app);
    },
  ],
  [
    'Fastify',
    async () => {
      const app = fastify();
      await app.register(createHandlers(source).fastify);
      app.get('/mine', () => JSON.stringify('mine'));
      await app.ready();
      server = app.server;
      await app.listen({ port: 0, host: '127.0.0.1' });
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    },
  ],
  [
    'Hono',
    () => {
      const app = new Hono();
      const respond = createHandlers(source).fetch;
      app.get('/platform/*', (context) => respond(context.req.raw));
      app.get('/mine', (context) => context.json('mine'));
      const listen = getRequestListener(app.fetch);
      return serve((request, response) => void listen(request, response));
    },
  ],
  [
    'a server of Request and Response',
    () => {
      const respond = createHandlers(source).fetch;
      const listen = getRequestListener((request) =>
        new URL(request.url).pathname === '/mine' ? Response.json('mine') : respond(request),
      );
      return serve((request, response) => void listen(request, response));
    },
  ],
];

describe.each(MOUNTS)('mounted in %s', (_name, mount) => {
  let url: string;
  beforeEach(async () => {
    url = await mount();
  });

  test.each<[string, unknown]>([
    ['/platform/health', HEALTH],
    ['/platform/health?x=1', HEALTH],
    ['/platform/usage', USAGE],
  ])('GET %s', async (path, body) => {
    const response = await fetch(url + path);
    const type = response.headers.get('content-type')?.replace(/;.*/, '');
    expect([response.status, type, response.headers.get('cache-control'), await response.json()]).toEqual([
      200,
      JSON_TYPE,
      'no-store',
      body,
    ]);
  });

  test('HEAD', async () => {
    const response = await fetch(`${url}/platform/health`, { method: 'HEAD' });
    expect([response.status, await response.text()]).toEqual([200, '']);
  });

  test.each([
    ['POST', '/platform/health', [404, 405]],
    ['GET', '/platform/other', [404]],
  ])('rejects %s %s', async (method, path, statuses) => {
    const response = await fetch(url + path, { method });
    await response.text();
    expect(statuses).toContain(response.status);
  });

  test("does not affect the agent's own routes", async () => {
    expect(await (await fetch(`${url}/mine`)).text()).toBe('"mine"');
  });

  test('returns 503 without internal details if the report fails', async () => {
    getHealth = () => Promise.reject(new Error('secret inside'));
    const response = await fetch(`${url}/platform/health`);
    expect([response.status, await response.json()]).toEqual([
      503,
      {
        type: 'about:blank',
        title: 'Service Unavailable',
        status: 503,
        detail: 'the health checks could not run',
      },
    ]);
  });

  test('responds to a hundred concurrent requests', async () => {
    const results = await Promise.all(Array.from({ length: 100 }, () => get(`${url}/platform/usage`)));
    expect(
      results.every(([status, , body]) => status === 200 && JSON.stringify(body) === JSON.stringify(USAGE)),
    ).toBe(true);
  });
});

test('the fetch handler returns a problem for a wrong method or path', async () => {
  server = createServer();
  const respond = createHandlers(source).fetch;
  const resultOf = async (method: string, path: string): Promise<unknown[]> => {
    const response = await respond(new Request(`http://agent${path}`, { method }));
    return [
      response.status,
      response.headers.get('allow'),
      response.headers.get('content-type'),
      await response.json(),
    ];
  };
  const problem = (status: number, title: string, detail: string): object => ({
    type: 'about:blank',
    title,
    status,
    detail,
  });
  expect(await resultOf('DELETE', '/platform/usage')).toEqual([
    405,
    'GET, HEAD',
    PROBLEM_TYPE,
    problem(405, 'Method Not Allowed', 'DELETE is not allowed on /platform/usage'),
  ]);
  expect(await resultOf('GET', '/platform/gap')).toEqual([
    404,
    null,
    PROBLEM_TYPE,
    problem(404, 'Not Found', 'no route /platform/gap'),
  ]);
});
