import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createMetrics } from '../runtime/metrics.ts';
import { ManualClock } from '../testing/time/manual-clock.ts';
import { ask, askRaw } from '../testing/sidecar/proxy-rig.ts';
import { sidecarRoutes } from './app.ts';
import type { SidecarContext } from './context.ts';
import { routesWithoutRow } from '../testing/sidecar/route-rows.ts';
import { manifestText, startSidecarRig, type SidecarRig } from '../testing/sidecar/sidecar-rig.ts';

/** A non-loopback address of this machine. Connections to that address also have that source address. */
const addressOf = (family: string): string | undefined =>
  Object.values(networkInterfaces())
    .flat()
    .find((each) => each?.family === family && !each.internal && !each.address.startsWith('fe80:'))?.address;
const address = addressOf('IPv4');
const address6 = addressOf('IPv6');

/** The expected status for a client outside loopback with CONTROL_ACCESS=local. `bare`: 200 without a body. */
const ROWS: [path: string, method: string, outside: number | 'bare'][] = [
  ['/readyz', 'GET', 200],
  // For an address of the pod itself. `other-pods.integration.test.ts` has other pods.
  ['/drain', 'GET', 200],
  ['/health/live', 'GET', 200],
  ['/health/ready', 'GET', 'bare'],
  ['/metrics', 'GET', 200],
  ['/capabilities', 'GET', 200],
  ['/.well-known/agent-card.json', 'GET', 200],
  ['/gap', 'GET', 403],
  ['/gap?view=alignment', 'GET', 403],
  ['/explore', 'GET', 403],
  ['/usage', 'GET', 403],
  ['/audit', 'GET', 403],
  ['/audit/stream', 'GET', 403],
  ['/egress', 'GET', 403],
  ['/events', 'POST', 403],
  ['/proof', 'GET', 403],
  ['/proof/rule/MEM-01', 'GET', 403],
  ['/proof/rule/MEM-01', 'POST', 403],
  ['/proof/rule/MEM-01', 'DELETE', 403],
  ['/openapi.json', 'GET', 403],
  ['/nothing', 'GET', 403],
  ['/%67ap', 'GET', 403],
  ['//gap', 'GET', 403],
  ['/health/live/../../gap', 'GET', 403],
  ['/readyz', 'POST', 405],
];

test('ROWS has every route', () => {
  const routes = sidecarRoutes({ metrics: createMetrics() } as SidecarContext, () => 0);
  const rows = ROWS.map(([path, method]) => ({ path, method }));
  expect(routesWithoutRow(routes, rows)).toEqual([]);
});

(address === undefined ? describe.skip : describe)('a request from outside loopback', () => {
  let rig: SidecarRig;
  const send = async (path: string, method: string): Promise<Response> =>
    fetch(`http://${address}:${rig.sidecar.controlPort}${path}`, { method });

  describe.each(['local', 'any'] as const)('with CONTROL_ACCESS=%s', (access) => {
    beforeAll(async () => {
      rig = await startSidecarRig({
        manifest: manifestText(),
        bindAddress: '::',
        env: { CONTROL_ACCESS: access, OPENAI_API_KEY: 'k' },
      });
    });
    afterAll(() => rig.close());

    describe.each(['', '/platform'])('under the prefix "%s"', (prefix) => {
      test.each(ROWS)('%s by %s: local returns %s', async (path, method, outside) => {
        const controller = new AbortController();
        const response = await fetch(`http://${address}:${rig.sidecar.controlPort}${prefix}${path}`, {
          method,
          signal: controller.signal,
        });
        if (access === 'any') {
          expect(response.status).not.toBe(403);
          controller.abort();
          return;
        }
        const body = await response.text();
        expect(response.status).toBe(outside === 'bare' ? 200 : outside);
        if (outside === 'bare') expect(body).toBe('');
        if (outside === 403)
          expect(JSON.parse(body)).toEqual({
            type: 'about:blank',
            title: 'Forbidden',
            status: 403,
            detail: 'this route is available on loopback only',
          });
      });
    });
  });

  test('to /health/ready shares one probe run per second, and over loopback each request has its own run', async () => {
    const clock = new ManualClock('2026-01-01T00:00:00Z');
    rig = await startSidecarRig({ manifest: manifestText(), bindAddress: '0.0.0.0', clock });
    const runs: (number | undefined)[] = [];
    const note = async (response: Promise<Response>): Promise<void> => {
      await (await response).text();
      runs.push(rig.agent.asked['/health']);
    };
    for (let i = 0; i < 5; i += 1) await note(send('/health/ready', 'GET'));
    await note(rig.control('/health/ready'));
    await note(send('/platform/health/ready', 'GET'));
    clock.advance(999);
    await note(send('/health/ready', 'GET'));
    clock.advance(1);
    await note(send('/health/ready', 'GET'));
    await note(rig.control('/health/ready'));
    await rig.close();
    expect(runs).toEqual([1, 1, 1, 1, 1, 2, 2, 2, 3, 4]);
  });

  (address6 === undefined ? test.skip : test)('has the same access over IPv6', async () => {
    rig = await startSidecarRig({
      manifest: manifestText(),
      bindAddress: '::',
      env: { CONTROL_ACCESS: 'local' },
    });
    const statusOf = async (host: string, path: string): Promise<number> =>
      (await fetch(`http://${host}:${rig.sidecar.controlPort}${path}`)).status;
    const other = `[${address6 ?? ''}]`;
    expect([await statusOf(other, '/gap'), await statusOf(other, '/readyz')]).toEqual([403, 200]);
    // A dual-stack socket reports the IPv4 peer as ::ffff:127.0.0.1.
    expect([await statusOf('[::1]', '/gap'), await statusOf('127.0.0.1', '/gap')]).toEqual([200, 200]);
    await rig.close();
  });

  test('gets 503 without a body when the agent is not ready', async () => {
    rig = await startSidecarRig({
      manifest: manifestText(),
      bindAddress: '::',
      env: { CONTROL_ACCESS: 'local' },
    });
    const outside = await send('/health/ready', 'GET');
    const inside = await rig.control('/health/ready');
    const bodies = [await outside.text(), ((await inside.json()) as { status: string }).status];
    await rig.close();
    expect([outside.status, inside.status, ...bodies]).toEqual([503, 503, '', 'not-ready']);
  });
});

/** DNS rebinding: a web page whose host name resolves to 127.0.0.1 connects over loopback, also through a port-forward. */
describe('a request over loopback with CONTROL_ACCESS=local', () => {
  const FOREIGN_HOST = 'this route requires a loopback Host: localhost, 127.0.0.0/8 or [::1]';
  const FOREIGN_ORIGIN = 'this route rejects a foreign Origin';
  let rig: SidecarRig;
  beforeAll(async () => {
    rig = await startSidecarRig({
      manifest: manifestText(),
      env: { CONTROL_ACCESS: 'local', OPENAI_API_KEY: 'k' },
    });
  });
  afterAll(() => rig.close());
  const send = (path: string, headers: Record<string, string>) =>
    ask(rig.sidecar.controlPort, { path, headers });

  test.each<[headers: Record<string, string>, reason: string | null]>([
    [{ host: 'localhost' }, null],
    [{ host: 'LocalHost:4001' }, null],
    [{ host: '127.0.0.1:4001' }, null],
    [{ host: '127.8.9.10' }, null],
    [{ host: '[::1]:14001' }, null],
    [{ host: 'localhost', origin: 'http://localhost:3000' }, null],
    [{ host: 'localhost', origin: 'https://127.0.0.1' }, null],
    [{ host: 'localhost', origin: 'http://[::1]:8080' }, null],
    [{ host: 'rebound.example:4001' }, FOREIGN_HOST],
    [{ host: 'rebound.example:4001', origin: 'http://localhost' }, FOREIGN_HOST],
    [{ host: 'localhost.rebound.example' }, FOREIGN_HOST],
    [{ host: 'a.localhost' }, FOREIGN_HOST],
    [{ host: '127.0.0.1.rebound.example' }, FOREIGN_HOST],
    [{ host: '127.rebound.example' }, FOREIGN_HOST],
    [{ host: '127.1' }, FOREIGN_HOST],
    [{ host: '10.0.0.7:4001' }, FOREIGN_HOST],
    [{ host: '[::2]' }, FOREIGN_HOST],
    [{ host: 'localhost', origin: 'https://rebound.example' }, FOREIGN_ORIGIN],
    [{ host: 'localhost', origin: 'http://localhost.rebound.example' }, FOREIGN_ORIGIN],
    [{ host: 'localhost', origin: 'http://localhost@rebound.example' }, FOREIGN_ORIGIN],
    [{ host: 'localhost', origin: 'null' }, FOREIGN_ORIGIN],
    [{ host: 'localhost', origin: '' }, FOREIGN_ORIGIN],
    [{ host: 'localhost', origin: 'chrome-extension://localhost' }, FOREIGN_ORIGIN],
  ])('with %j is rejected with: %s', async (headers, reason) => {
    for (const prefix of ['', '/platform']) {
      const { status, body } = await send(`${prefix}/audit`, headers);
      const problem = { type: 'about:blank', title: 'Forbidden', status: 403, detail: reason };
      expect([status, JSON.parse(body)]).toEqual(reason === null ? [200, []] : [403, problem]);
      // On an open route, such a client is treated as outside loopback.
      const ready = await send(`${prefix}/health/ready`, headers);
      expect([ready.status, ready.body === '']).toEqual([200, reason !== null]);
    }
  });

  test('without a Host is rejected', async () => {
    const response = await askRaw(rig.sidecar.controlPort, 'GET /audit HTTP/1.0\r\n\r\n');
    expect(response).toContain('403 Forbidden');
    expect(response).toContain(FOREIGN_HOST);
  });
});
