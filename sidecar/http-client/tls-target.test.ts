import { once } from 'node:events';
import { createServer, createSecureContext, type Server, type TLSSocket } from 'node:tls';
import { Readable } from 'node:stream';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { eachRequest } from '../../testing/http/each-request.ts';
import { stillness } from '../../testing/time/moment.ts';
import { until } from '../../testing/time/until.ts';
import { issueCa, issueLeaf } from '../../webhook/certificates/issue.ts';
import type {
  TlsTrust,
  Upstream,
  UpstreamFailure,
  UpstreamHandler,
  UpstreamRequest,
  UpstreamRequestHandle,
} from '../proxy/upstream.ts';
import { createHttpUpstream } from './create-http-upstream.ts';

const validity = { now: new Date(), days: 1 };
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

interface Reply {
  status: number;
  body: string;
  failure: UpstreamFailure | null;
}

let ca: Awaited<ReturnType<typeof issueCa>>;
let trust: TlsTrust;
beforeAll(async () => {
  ca = await issueCa(validity);
  trust = { rejectUnauthorized: true, secureContext: createSecureContext({ ca: ca.cert }) };
});

let server: Server;
let sockets: TLSSocket[] = [];
/** For each connection, whether it resumes a session. */
let resumed: boolean[] = [];
const upstreams: Upstream[] = [];
let onRequest: (socket: TLSSocket, text: string) => void;

afterEach(async () => {
  for (const upstream of upstreams.splice(0)) await upstream.close();
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
});

/** Starts a server whose certificate is valid for `hosts`. Returns its port. */
async function serve(hosts: string[], more: { maxVersion?: 'TLSv1.2' } = {}): Promise<number> {
  sockets = [];
  resumed = [];
  onRequest = (socket) => void socket.write(OK);
  server = createServer({ ...(await issueLeaf(ca, hosts, validity)), ...more }, (socket) => {
    sockets.push(socket);
    resumed.push(socket.isSessionReused());
    socket.on('error', () => undefined);
    eachRequest(socket, (request) => onRequest(socket, request));
  });
  // A handshake that the client rejects.
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

function connectTo(url: string, tls: TlsTrust | undefined = trust): Upstream {
  const upstream = createHttpUpstream({
    url: new URL(url),
    timeoutMs: null,
    ...(tls !== undefined && { tls }),
  });
  upstreams.push(upstream);
  return upstream;
}

const GET: UpstreamRequest = {
  ...{ method: 'GET', path: '/', headers: ['Host', 'a'], body: null, chunked: false },
  trailers: () => [],
};

function ask(
  upstream: Upstream,
  request: Partial<UpstreamRequest> = {},
  onData: (chunk: Buffer, control: UpstreamRequestHandle) => void = () => undefined,
): Promise<Reply> {
  return new Promise((resolve) => {
    const reply: Reply = { status: 0, body: '', failure: null };
    let control: UpstreamRequestHandle;
    const handler: UpstreamHandler = {
      onStart: (handle) => void (control = handle),
      onInformation: () => undefined,
      onHead: (status) => void (reply.status = status),
      onData: (chunk) => {
        reply.body += chunk.toString('latin1');
        onData(chunk, control);
      },
      onRead: () => undefined,
      // The connection can be used again in the next turn of the event loop.
      onEnd: () => void setImmediate(() => setImmediate(() => resolve(reply))),
      onError: (failure) => resolve({ ...reply, failure }),
    };
    upstream.send({ ...GET, ...request }, handler);
  });
}

describe('the certificate', () => {
  test('is checked for the host of the URL, which is sent as the server name', async () => {
    const port = await serve(['localhost']);
    expect(await ask(connectTo(`https://localhost:${port}`))).toMatchObject({ status: 200, body: 'ok' });
    expect(sockets.map(({ servername }) => servername)).toEqual(['localhost']);
  });

  test('is checked for an address, which is not sent as a server name', async () => {
    const port = await serve(['127.0.0.1']);
    expect(await ask(connectTo(`https://127.0.0.1:${port}`))).toMatchObject({ status: 200 });
    expect(sockets.map(({ servername }) => servername)).toEqual([false]);
  });

  test.each(['localhost', '127.0.0.1'])(
    'of another host than %s is refused, also if a client names that host',
    async (host) => {
      const port = await serve(['other.example']);
      let served = 0;
      onRequest = () => void (served += 1);
      const upstream = connectTo(`https://${host}:${port}`);
      for (const name of [`${host}:${port}`, 'other.example']) {
        const { failure } = await ask(upstream, { headers: ['Host', name, 'Authorization', 'secret'] });
        expect(failure).toMatchObject({
          kind: 'unreachable',
          error: { code: 'ERR_TLS_CERT_ALTNAME_INVALID' },
        });
      }
      expect(served).toBe(0);
    },
  );

  test('of an unknown CA is refused', async () => {
    const port = await serve(['127.0.0.1']);
    const others = createSecureContext({ ca: (await issueCa(validity)).cert });
    const url = `https://127.0.0.1:${port}`;
    const own = await ask(connectTo(url, { rejectUnauthorized: true, secureContext: others }));
    expect(own.failure).toMatchObject({
      kind: 'unreachable',
      error: { code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' },
    });
    const upstream = createHttpUpstream({ url: new URL(url), timeoutMs: null });
    upstreams.push(upstream);
    expect((await ask(upstream)).failure).toMatchObject({ kind: 'unreachable' });
  });
});

describe.each(['TLSv1.2', undefined] as const)('a connection with at most %s', (maxVersion) => {
  const version = maxVersion === undefined ? {} : { maxVersion };

  test('resumes the session of the connection before it', async () => {
    const port = await serve(['localhost'], version);
    const upstream = connectTo(`https://localhost:${port}`);
    onRequest = (socket) => void socket.end(OK.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'));
    for (let i = 0; i < 3; i += 1) expect(await ask(upstream)).toMatchObject({ status: 200, body: 'ok' });
    expect(resumed).toEqual([false, true, true]);
  });

  test('serves one request after the other', async () => {
    const port = await serve(['localhost'], version);
    const upstream = connectTo(`https://localhost:${port}/v1`);
    const texts: string[] = [];
    onRequest = (socket, text) => {
      texts.push(text);
      socket.write(OK);
    };
    await ask(upstream);
    const body = Buffer.alloc(100_000, 'x');
    expect(await ask(upstream, { method: 'POST', path: '/p', body })).toMatchObject({ body: 'ok' });
    expect(sockets).toHaveLength(1);
    expect(texts[1]).toMatch(/^POST \/v1\/p HTTP\/1\.1\r\n/);
    expect(texts[1]?.endsWith(`\r\n\r\n${body.toString()}`)).toBe(true);
  });

  test('sends a body as it arrives, and its trailers', async () => {
    const port = await serve(['localhost'], version);
    let text = '';
    onRequest = (socket, request) => {
      text = request;
      socket.write(OK);
    };
    const pieces = Array.from({ length: 50 }, (_, index) => Buffer.alloc(20_000, String(index % 10)));
    const request = {
      method: 'POST',
      body: Readable.from(pieces),
      chunked: true,
      trailers: () => ['X-End', 'yes'],
    };
    expect(await ask(connectTo(`https://localhost:${port}`), request)).toMatchObject({ body: 'ok' });
    expect(text).toContain('\r\n0\r\nX-End: yes\r\n\r\n');
    expect(
      text
        .split(/\r\n4e20\r\n/)
        .slice(1)
        .map((chunk) => chunk.slice(0, 20_000)),
    ).toEqual(pieces.map(String));
  });

  test('stops reading while the response is paused', async () => {
    const port = await serve(['localhost'], version);
    const size = 32 * 1024 * 1024;
    let sent = 0;
    onRequest = (socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n`);
      const chunk = Buffer.alloc(64 * 1024, 'abcdefg');
      const more = (): void => {
        while (sent < size) {
          sent += chunk.length;
          if (!socket.write(chunk)) return void socket.once('drain', more);
        }
      };
      more();
    };
    let received = 0;
    let control: UpstreamRequestHandle | undefined;
    const over = ask(connectTo(`https://localhost:${port}`), {}, (chunk, handle) => {
      received += chunk.length;
      if (control === undefined) handle.pause();
      control = handle;
    });
    await until(() => received > 0);
    await stillness(() => sent + received);
    expect(received).toBeLessThanOrEqual(128 * 1024);
    expect(sent).toBeLessThan(size);
    control?.resume();
    const { body, failure } = await over;
    expect([body.length, failure]).toEqual([size, null]);
    expect(
      body ===
        'abcdefg'
          .repeat(size / 7 + 1)
          .slice(0, 64 * 1024)
          .repeat(size / 65536),
    ).toBe(true);
  });

  test('reads the next response after one that ended while it was paused', async () => {
    const upstream = connectTo(`https://127.0.0.1:${await serve(['127.0.0.1'])}`);
    // More than one record, so that the rest arrives although reading was stopped after the first one.
    const body = 'x'.repeat(20_000);
    onRequest = (socket) => void socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n${body}`);
    for (let request = 1; request <= 3; request++) {
      let isFirst = true;
      const reply = await ask(upstream, {}, (_chunk, control) => {
        // As the writer of the response does, after the chunks of this turn.
        if (isFirst) process.nextTick(() => control.pause());
        isFirst = false;
      });
      expect(reply).toEqual({ status: 200, body, failure: null });
    }
    expect(sockets).toHaveLength(1);
  });

  test('that breaks fails its response, and is not used again', async () => {
    const port = await serve(['localhost'], version);
    const upstream = connectTo(`https://localhost:${port}`);
    await ask(upstream);
    onRequest = (socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe', () => socket.destroy());
    };
    expect(await ask(upstream)).toMatchObject({ status: 200, body: 'he', failure: { kind: 'broken' } });
    onRequest = (socket) => void socket.destroy();
    expect((await ask(upstream)).failure?.kind).toBe('broken');
    onRequest = (socket) => void socket.write(OK);
    expect(await ask(upstream)).toMatchObject({ body: 'ok' });
    onRequest = (socket) => void socket.destroy();
    expect((await ask(upstream)).failure?.kind).toBe('stale');
  });
});
