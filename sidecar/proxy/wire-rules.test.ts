import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Server } from 'node:http';
import { afterEach, describe, expect, test } from '@jest/globals';
import { askRaw, startRawRig, startRig, type ProxyRig } from '../../testing/sidecar/proxy-rig.ts';

let rig: ProxyRig;
afterEach(async () => {
  await rig.close();
});

const lines = (...all: string[]): string => `${all.join('\r\n')}\r\n\r\n`;
const UUID = /[\da-f]{8}-[\da-f-]{27}/;

/** Starts an agent that responds to every request with these bytes. Returns a function for the bytes it received. */
async function startSending(bytes: string): Promise<() => string> {
  let seen = '';
  rig = await startRawRig((socket) => {
    socket.setEncoding('latin1').on('data', (text) => {
      seen += String(text);
      // Waits for the complete request: an agent that ends earlier may truncate its own response.
      if (seen.endsWith(/^transfer-encoding/im.test(seen) ? '\r\n0\r\n\r\n' : '\r\n\r\n'))
        socket.end(bytes, 'latin1');
    });
  });
  return () => seen;
}

const HOP_BY_HOP = [
  'Keep-Alive: timeout=5',
  'Proxy-Connection: keep-alive',
  'Proxy-Authenticate: Basic',
  'Proxy-Authorization: Basic x',
  'X-Listed: 1',
  'x-LISTED: 2',
];

describe.each([
  ['without a body', [], '', ['Host: shop.example', 'Connection: keep-alive', 'Content-Length: 0']],
  [
    'in chunks',
    ['Transfer-Encoding: chunked'],
    '0\r\n\r\n',
    ['Host: shop.example', 'Transfer-Encoding: chunked', 'Connection: keep-alive'],
  ],
])('a request %s', (_title, framing, body, added) => {
  const request = (...head: string[]): string =>
    lines('POST /a?b HTTP/1.1', 'Host: shop.example', ...head, ...framing) + body;

  test('reaches the agent without hop-by-hop headers and with forwarding headers', async () => {
    const seen = await startSending(lines('HTTP/1.1 204 No Content'));
    await askRaw(
      rig.port,
      request(
        'Connection: close, x-listed',
        ...HOP_BY_HOP,
        'TE: trailers, gzip',
        'traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
        'tracestate: a=1',
        'X-Forwarded-For: 10.0.0.1',
        'X-Forwarded-Proto: https',
        'X-Forwarded-Host: outer.example',
        'X-Platform-User-Confirmed: true',
        'Accept: a',
        'accept: b',
      ),
    );
    const [startLine, ...fields] = seen().split('\r\n\r\n')[0]!.split('\r\n');
    expect(startLine).toBe('POST /a?b HTTP/1.1');
    expect(fields.map((field) => field.replace(UUID, '<id>')).sort()).toEqual(
      [
        'traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
        'tracestate: a=1',
        'Accept: a',
        'accept: b',
        'TE: trailers',
        'X-Forwarded-For: 10.0.0.1',
        'X-Forwarded-Proto: https',
        'X-Forwarded-Host: outer.example',
        'X-Forwarded-Port: 80',
        'Forwarded: for=127.0.0.1;host=shop.example;proto=http',
        'X-Request-Id: <id>',
        ...added,
      ].sort(),
    );
  });

  test('gets its response without hop-by-hop headers', async () => {
    await startSending(
      lines(
        'HTTP/1.1 404 Gone fishing',
        'Connection: x-listed',
        ...HOP_BY_HOP.filter((field) => !field.startsWith('Proxy-Auth')),
        'Proxy-Authenticate: Basic',
        'Upgrade: h2c',
        'Date: now',
        'Set-Cookie: a=1',
        'set-cookie: b=2',
        'Content-Length: 0',
      ),
    );
    const response = await askRaw(rig.port, request('Connection: close', 'X-Request-Id: r-1'));
    const [startLine, ...fields] = response.split('\r\n\r\n')[0]!.split('\r\n');
    expect(startLine).toBe('HTTP/1.1 404 Gone fishing');
    expect(fields).toEqual([
      'Date: now',
      'Set-Cookie: a=1',
      'set-cookie: b=2',
      'Content-Length: 0',
      'X-Request-Id: r-1',
      'Connection: close',
    ]);
  });

  test.each([
    ['100', 'HTTP/1.1 100 Continue\r\n\r\n', []],
    ['102', 'HTTP/1.1 102 Processing\r\n\r\n', ['102']],
    ['103', 'HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n', ['103']],
    ['an unknown informational status', 'HTTP/1.1 150 X\r\n\r\n', []],
    [
      'several informational responses',
      'HTTP/1.1 100 X\r\n\r\nHTTP/1.1 102 X\r\n\r\nHTTP/1.1 103 X\r\nLink: </a>; rel=preload\r\n\r\n',
      ['102', '103'],
    ],
  ])('whose response begins with %s', async (_name, before, passed) => {
    await startSending(before + lines('HTTP/1.1 201 Created', 'Content-Length: 0'));
    const response = await askRaw(rig.port, request('Connection: close'));
    expect([...response.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual([
      ...passed,
      '201',
    ]);
  });
});

test('server time-outs do not cut long uploads, long responses or idle connections of load balancers', async () => {
  rig = await startRig((_request, response) => response.end());
  const servers: Server[] = [];
  const watch = (message: unknown): void => void servers.push((message as { server: Server }).server);
  subscribe('http.server.request.start', watch);
  await askRaw(rig.port, lines('GET / HTTP/1.1', 'Host: a', 'Connection: close'));
  unsubscribe('http.server.request.start', watch);
  const proxy = servers.find((server) => server !== rig.agent);
  expect(proxy).toMatchObject({
    requestTimeout: 0,
    headersTimeout: 60_000,
    keepAliveTimeout: 75_000,
    timeout: 0,
  });
});
