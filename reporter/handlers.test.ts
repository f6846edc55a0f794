import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import express from 'express';
import type { HealthReport } from '../core/health/health.ts';
import { createHealthHandler, createNodeHandler, createUsageHandler, type ReportSource } from './handlers.ts';

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
let answerHealth: ReportSource['getReport'];
const source: ReportSource = { getReport: () => answerHealth(), getUsage: () => USAGE };

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
  answerHealth = () => Promise.resolve(HEALTH);
});
afterEach(() => new Promise((resolve) => server.close(resolve)));

const JSON_TYPE = 'application/json';
const PROBLEM_TYPE = 'application/problem+json';

describe('mounted in a node:http server', () => {
  let url: string;
  beforeEach(async () => {
    const handle = createNodeHandler(source);
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
  ])('%s %s', async (method, path, answer) => {
    expect(await get(url + path, method)).toEqual(answer);
  });

  test.each([
    ['was never started', () => Promise.resolve(null), 'the reporter was not started'],
    ['cannot check', () => Promise.reject(new Error('secret inside')), 'the health checks could not run'],
  ])('a reporter that %s answers 503 without internals', async (_name, getReport, detail) => {
    answerHealth = getReport;
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
    app.get('/platform/health', createHealthHandler(source));
    app.get('/platform/usage', createUsageHandler(source));
    url = await serve(app);
  });

  test('answers both routes', async () => {
    const [health, usage] = [await get(`${url}/platform/health`), await get(`${url}/platform/usage`)];
    expect([health[0], health[2], usage[0], usage[2]]).toEqual([200, HEALTH, 200, USAGE]);
  });

  test('answers 503 while there is no report', async () => {
    answerHealth = () => Promise.resolve(null);
    expect((await get(`${url}/platform/health`))[0]).toBe(503);
  });
});
