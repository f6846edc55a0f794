import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { startFakeApiServer, type FakeApiServer } from '../testing/cluster/fake-api-server.ts';
import { KubeClient, KubeError } from './client.ts';
import { createObject, deleteObject, getObject, listObjects } from './objects.ts';
import { PODS } from './resources.ts';

const KEY = { namespace: 'n', name: 'a' };
const PATH = '/api/v1/namespaces/n/pods';

describe('the client', () => {
  let server: FakeApiServer;
  let client: KubeClient;

  beforeEach(async () => {
    server = await startFakeApiServer();
    client = new KubeClient({ access: server.access, part: 'test' });
  });
  afterEach(async () => {
    await client.close();
    await server.close();
  });

  test('sends its user agent, credentials and JSON', async () => {
    await createObject(client, PODS, { metadata: KEY });
    const [request] = server.requests;
    expect(request).toMatchObject({
      method: 'POST',
      body: { apiVersion: 'v1', kind: 'Pod', metadata: KEY },
      headers: {
        'user-agent': `agent-compliance-test/0.0.0-source (${process.platform}/${process.arch})`,
        authorization: 'Bearer fake',
        accept: 'application/json',
        'content-type': 'application/json',
      },
    });
  });

  test('distinguishes existing, missing, already created and already deleted objects', async () => {
    expect(await getObject(client, PODS, KEY)).toBeNull();
    expect(await createObject(client, PODS, { metadata: KEY })).toMatchObject({ outcome: 'created' });
    expect(await createObject(client, PODS, { metadata: KEY })).toEqual({ outcome: 'exists' });
    expect(await getObject(client, PODS, KEY)).toMatchObject({ metadata: KEY });
    expect(await deleteObject(client, PODS, KEY, 'uid-1')).toBe(true);
    expect(server.requests.at(-1)?.body).toEqual({
      propagationPolicy: 'Background',
      preconditions: { uid: 'uid-1' },
    });
    expect(await deleteObject(client, PODS, KEY)).toBe(false);
  });

  const isBehind = (headers: Record<string, string>) => ({
    when: ({ url }: { url: URL }) => url.pathname === PATH,
    response: { status: 504, headers, body: { reason: 'Timeout', message: 'Too large resource version' } },
  });

  test('retries a list while the cache of the server is behind its store', async () => {
    await createObject(client, PODS, { metadata: KEY });
    for (let times = 0; times < 3; times += 1) server.fail(isBehind({ 'retry-after': '0' }));
    const { items } = await listObjects(client, PODS, { namespace: 'n' });
    expect(items).toMatchObject([{ metadata: KEY }]);
  });

  test.each([
    ['four times', Array(4).fill({ 'retry-after': '0' })],
    ['without Retry-After', [{}]],
  ])('gives up a list that is rejected %s', async (_, rejections: Record<string, string>[]) => {
    await createObject(client, PODS, { metadata: KEY });
    for (const headers of rejections) server.fail(isBehind(headers));
    const list = listObjects(client, PODS, { namespace: 'n' });
    await expect(list).rejects.toMatchObject({ code: 'KUBE_TIMEOUT', status: 504 });
  });

  test('escapes names in paths', async () => {
    expect(await getObject(client, PODS, { namespace: 'n', name: '../../secrets' })).toBeNull();
    expect(server.requests[0]?.url.pathname).toBe(`${PATH}/..%2F..%2Fsecrets`);
  });

  test('sends only GET requests while writes are blocked, and throws KUBE_FENCED for others', async () => {
    let mayWrite = false;
    const codes: string[] = [];
    const fenced = new KubeClient({
      access: server.access,
      part: 'test',
      mayWrite: () => mayWrite,
      observe: ({ method, code }) => codes.push(`${method} ${code}`),
    });
    const attempt = createObject(fenced, PODS, { metadata: KEY });
    await expect(attempt).rejects.toMatchObject({ code: 'KUBE_FENCED', status: 0 });
    expect(await getObject(fenced, PODS, KEY)).toBeNull();
    mayWrite = true;
    expect(await createObject(fenced, PODS, { metadata: KEY })).toMatchObject({ outcome: 'created' });
    expect(server.requests.map(({ method }) => method)).toEqual(['GET', 'POST']);
    expect(codes).toEqual(['POST <error>', 'GET 404', 'POST 201']);
    await fenced.close();
  });

  test('limits a longer Retry-After to half a minute', async () => {
    server.fail({ when: () => true, response: { status: 503, headers: { 'retry-after': '86400' } } });
    expect(await client.send({ method: 'GET', path: PATH })).toMatchObject({ retryAfterMs: 30_000 });
  });

  test('returns an error response with its reason and Retry-After', async () => {
    const body = { kind: 'Status', reason: 'TooManyRequests', message: 'slow down' };
    server.fail({ when: () => true, response: { status: 429, headers: { 'retry-after': '3' }, body } });
    expect(await client.send({ method: 'GET', path: PATH })).toEqual({
      ok: false,
      status: 429,
      reason: 'TooManyRequests',
      message: 'slow down',
      retryAfterMs: 3_000,
    });
  });

  test.each([
    ['a request without a response', 'hang' as const],
    ['a cut connection', 'cut' as const],
  ])('turns %s into a KubeError without a status', async (_, response) => {
    server.fail({ when: () => true, response });
    const error = await client
      .send({ method: 'GET', path: PATH, timeoutMs: 200 })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(KubeError);
    expect(error).toMatchObject({
      status: 0,
      code: 'KUBE_UNREACHABLE',
      message: `the API server did not respond to GET ${PATH}`,
    });
  });

  test("rejects with the caller's reason when the caller aborts", async () => {
    server.fail({ when: () => true, response: 'hang' });
    const reason = new Error('enough');
    const signal = AbortSignal.abort(reason);
    await expect(client.send({ method: 'GET', path: PATH, signal })).rejects.toBe(reason);
  });

  test('returns a failure for a response that does not come from an API server', async () => {
    server.fail({ when: () => true, response: { status: 502, body: '<html>Bad Gateway</html>' } });
    expect(await client.send({ method: 'GET', path: PATH })).toMatchObject({
      ok: false,
      status: 502,
      reason: '',
    });
  });
});

const addressOf = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

const UNANSWERED = { method: 'GET', path: '/unanswered', timeoutMs: 100 } as const;
const WITH_SIGNAL = () => ({ ...UNANSWERED, timeoutMs: 10_000, signal: AbortSignal.timeout(100) });

describe('the connection', () => {
  let server: Server;
  let sockets: Set<Socket>;
  let tokens: string[];
  let statuses: number[];

  beforeEach(async () => {
    sockets = new Set();
    tokens = [];
    statuses = [];
    server = createServer((request, response) => {
      tokens.push(request.headers.authorization ?? '');
      response.writeHead(statuses.shift() ?? 200, { 'content-type': 'application/json' });
      response.end('{"metadata":{"name":"a"}}');
    });
    // Longer than any test, so that the server does not close idle connections.
    server.keepAliveTimeout = 600_000;
    server.on('connection', (socket) => sockets.add(socket));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  function clientWith(
    credentials: () => Promise<{ headers: Record<string, string>; tls: object }>,
  ): KubeClient {
    const access = { server: `${addressOf(server)}/prefix/`, namespace: null, credentials };
    return new KubeClient({ access, part: 'test' });
  }

  test('is reused between requests', async () => {
    const client = clientWith(async () => ({ headers: {}, tls: {} }));
    for (let index = 0; index < 20; index += 1) await getObject(client, PODS, KEY);
    // The pool opens a second connection when the end of a response and the next request coincide.
    expect(sockets.size).toBeLessThanOrEqual(2);
    await client.close();
  });

  test.each([
    ['a request gets no response', (client: KubeClient) => client.send(UNANSWERED)],
    ['a request exceeds the limit of its caller', (client: KubeClient) => client.send(WITH_SIGNAL())],
    ['a watch gets no response', (client: KubeClient) => client.stream(UNANSWERED)],
  ])('is replaced after %s, while requests in flight continue', async (_, unanswered) => {
    // From one request on the server responds on new connections only, as behind a load balancer that dropped its state.
    const dead = new Set<Socket>();
    const held: ServerResponse[] = [];
    server.removeAllListeners('request').on('request', (request, response) => {
      if (request.url === UNANSWERED.path) for (const socket of sockets) dead.add(socket);
      if (request.url === '/slow') held.push(response);
      else if (!dead.has(request.socket)) setTimeout(() => response.end('{}'), 20);
    });
    const access = {
      ...{ server: addressOf(server), namespace: null },
      credentials: async () => ({ headers: {}, tls: {} }),
    };
    const client = new KubeClient({ access, part: 'test' });
    const slow = client.send({ method: 'PATCH', path: '/slow', body: {} });
    const get = () => client.send({ method: 'GET', path: '/x', timeoutMs: 2_000 });
    await Promise.all([get(), get(), get()]);
    await expect(unanswered(client)).rejects.toThrow();
    expect(await get()).toMatchObject({ ok: true });
    held[0]?.end('{"stored":true}');
    expect(await slow).toMatchObject({ ok: true, body: { stored: true } });
    await client.close();
  });

  test('re-reads a rotated token immediately after a 401', async () => {
    let token = 0;
    const client = clientWith(async () => ({
      headers: { authorization: `Bearer ${(token += 1)}` },
      tls: {},
    }));
    statuses = [200, 401];
    await client.send({ method: 'GET', path: '/x' });
    expect(await client.send({ method: 'GET', path: '/x' })).toMatchObject({ ok: false, status: 401 });
    await client.send({ method: 'GET', path: '/x' });
    expect(tokens).toEqual(['Bearer 1', 'Bearer 1', 'Bearer 2']);
    await client.close();
  });

  test('retries reading credentials after a read failure', async () => {
    let tries = 0;
    const client = clientWith(async () => {
      tries += 1;
      if (tries === 1) throw new Error('no such file');
      return { headers: {}, tls: {} };
    });
    await expect(client.send({ method: 'GET', path: '/x' })).rejects.toMatchObject({ status: 0 });
    expect(await client.send({ method: 'GET', path: '/x' })).toMatchObject({ ok: true });
    await client.close();
  });
});
