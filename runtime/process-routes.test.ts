import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createApp } from './http-app.ts';
import { listen, type Listener } from './http-listener.ts';
import { silentLogger, type Logger } from './logger.ts';
import { createMetrics } from './metrics.ts';
import { processRoutes } from './process-routes.ts';

let listener: Listener;
let reason: string | null = null;
const failures: string[] = [];
const logger: Logger = { ...silentLogger, error: (message) => void failures.push(message) };

beforeAll(async () => {
  const app = createApp({
    logger,
    routes: processRoutes({ metrics: createMetrics(), unready: () => reason }),
  });
  listener = await listen({ handler: app, port: 0, host: '127.0.0.1' });
});
afterAll(() => listener.close());

const ask = async (path: string) => {
  const answer = await fetch(`http://127.0.0.1:${listener.port}${path}`);
  return { status: answer.status, body: await answer.text() };
};

test('a process that can work is live and ready', async () => {
  reason = null;
  expect(await ask('/livez')).toEqual({ status: 200, body: '{"status":"live"}' });
  expect(await ask('/readyz')).toEqual({ status: 200, body: '{"status":"ready"}' });
});

test('one that cannot stays live, says why it is not ready, and logs no failure of each question', async () => {
  reason = 'the watch has not begun';
  expect((await ask('/livez')).status).toBe(200);
  const answer = await ask('/readyz');
  expect([answer.status, JSON.parse(answer.body)]).toEqual([
    503,
    expect.objectContaining({ status: 503, detail: reason }),
  ]);
  expect(failures).toEqual([]);
});

test('metrics are given in the Prometheus text format', async () => {
  const answer = await fetch(`http://127.0.0.1:${listener.port}/metrics`);
  expect(answer.headers.get('content-type')).toContain('version=0.0.4');
});
