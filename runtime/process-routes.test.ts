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

const get = async (path: string) => {
  const response = await fetch(`http://127.0.0.1:${listener.port}${path}`);
  return { status: response.status, body: await response.text() };
};

test('a process without a reason to be unready is live and ready', async () => {
  reason = null;
  expect(await get('/livez')).toEqual({ status: 200, body: '{"status":"live"}' });
  expect(await get('/readyz')).toEqual({ status: 200, body: '{"status":"ready"}' });
});

test('an unready process stays live, returns the reason, and logs no failure per probe', async () => {
  reason = 'the watch has not begun';
  expect((await get('/livez')).status).toBe(200);
  const response = await get('/readyz');
  expect([response.status, JSON.parse(response.body)]).toEqual([
    503,
    expect.objectContaining({ status: 503, detail: reason }),
  ]);
  expect(failures).toEqual([]);
});

test('serves metrics in the Prometheus text format', async () => {
  const response = await fetch(`http://127.0.0.1:${listener.port}/metrics`);
  expect(response.headers.get('content-type')).toContain('version=0.0.4');
});
