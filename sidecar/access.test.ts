import { afterEach, describe, expect, test } from '@jest/globals';
import type { Response as ExpressResponse } from 'express';
import { createApp } from '../runtime/http-app.ts';
import { listen, type Listener } from '../runtime/http-listener.ts';
import { silentLogger } from '../runtime/logger.ts';
import { ManualClock } from '../testing/time/manual-clock.ts';
import { isBodyHidden, KubeletAddresses, localAccess } from './access.ts';

const CARD = '/.well-known/agent-card.json';

let listener: Listener | undefined;
afterEach(async () => {
  await listener?.close();
  listener = undefined;
});

/** Starts an application that sees `address` as the address of every client. */
async function startFor(address: string): Promise<(path: string) => Promise<Response>> {
  const response = {
    handlers: [
      (_request: unknown, response: ExpressResponse) =>
        void response.json({ hidden: isBodyHidden(response) }),
    ],
  };
  const row = (path: string, access: 'open' | 'local') =>
    ({ method: 'GET', path, access, summary: '', ...response }) as const;
  const open = ['/readyz', '/health/live', '/health/ready', '/metrics', '/capabilities', CARD];
  const local = ['/gap', '/audit', '/audit/stream', '/usage', '/explore', '/proof', '/shared'];
  const routes = [
    ...open.map((path) => row(path, 'open')),
    ...local.map((path) => row(path, 'local')),
    // One local route closes the path.
    { ...row('/shared', 'open'), method: 'POST' as const },
  ];
  const prefixes = ['', '/platform'];
  const app = createApp({
    logger: silentLogger,
    prefixes,
    before: [
      (request, _response, next) => {
        Object.defineProperty(request.socket, 'remoteAddress', { value: address });
        next();
      },
      localAccess(routes, prefixes),
    ],
    routes,
  });
  listener = await listen({ handler: app, port: 0, host: '127.0.0.1' });
  const { port } = listener;
  return (path) => fetch(`http://127.0.0.1:${port}${path}`);
}

describe('a client outside loopback', () => {
  test.each([
    '/readyz',
    '/health/live',
    '/health/ready',
    '/metrics',
    '/capabilities',
    CARD,
    '/platform/readyz',
  ])('gets a response without reasons on %s', async (path) => {
    const response = await (await startFor('10.0.0.7'))(path);
    expect([response.status, await response.json()]).toEqual([200, { hidden: true }]);
  });

  test.each([
    '/gap',
    '/audit',
    '/audit/stream',
    '/usage',
    '/explore',
    '/proof',
    '/shared',
    '/platform/gap',
    '/GAP',
    '/gap/',
    '/unknown',
  ])('is rejected on %s', async (path) => {
    const response = await (await startFor('10.0.0.7'))(path);
    expect([response.status, await response.json()]).toEqual([
      403,
      {
        type: 'about:blank',
        title: 'Forbidden',
        status: 403,
        detail: 'this route is available on loopback only',
      },
    ]);
  });
});

test.each(['127.0.0.1', '::1', '::ffff:127.0.0.1'])(
  'a client at %s has access to every route',
  async (address) => {
    const response = await (await startFor(address))('/gap');
    expect([response.status, await response.json()]).toEqual([200, { hidden: false }]);
  },
);

test.each([
  '128.0.0.1',
  '127.0.0.6',
  '127.0.0.10',
  '::ffff:127.0.0.6',
  '::6',
  '::ffff:10.127.0.1',
  '10.0.0.127',
])('a client at %s is not on loopback', async (address) => {
  expect((await (await startFor(address))('/gap')).status).toBe(403);
});

describe('the address of the kubelet', () => {
  const [node, other] = [{ remoteAddress: '10.0.0.1' }, { remoteAddress: '10.0.0.7' }];
  const clock = (): ManualClock => new ManualClock('2026-01-01T00:00:00Z');

  test('is that of the first probe', () => {
    const time = clock();
    const kubelet = new KubeletAddresses(time);
    expect([kubelet.has(node), kubelet.has(other)]).toEqual([false, false]);
    time.advance(3_600_000);
    kubelet.add(node);
    time.advance(10_001);
    kubelet.add(other);
    expect([kubelet.has(node), kubelet.has(other)]).toEqual([true, false]);
  });

  test('is known although another client was first', () => {
    const time = clock();
    const kubelet = new KubeletAddresses(time);
    kubelet.add(other);
    time.advance(10_000);
    kubelet.add(node);
    expect(kubelet.has(node)).toBe(true);
  });

  test('is waited for while only the pod sends requests', () => {
    const time = clock();
    const kubelet = new KubeletAddresses(time);
    kubelet.add({ remoteAddress: '::ffff:127.0.0.1' });
    time.advance(60_000);
    kubelet.add(node);
    expect(kubelet.has(node)).toBe(true);
  });

  test.each(['127.0.0.1', '::ffff:127.0.0.6', '::1'])('may also be %s, in the pod', (remoteAddress) => {
    expect(new KubeletAddresses(clock()).has({ remoteAddress })).toBe(true);
  });

  test('is not that of a closed connection', () => {
    const kubelet = new KubeletAddresses(clock());
    kubelet.add({});
    expect(kubelet.has({})).toBe(false);
  });
});
