import { once } from 'node:events';
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { aMoment } from '../../testing/time/moment.ts';
import { ask, startRig, type ProxyRig } from '../../testing/sidecar/proxy-rig.ts';
import { until } from '../../testing/time/until.ts';

const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
const SETTINGS = '\0\0\0\x04\0\0\0\0\0';
/** Frame header: length 39, type 7, no flags, stream 0. Payload: last stream 0, error 13, debug data. */
const GOAWAY = '\0\0\x27\x07\0\0\0\0\0' + '\0\0\0\0' + '\0\0\0\x0d' + 'this proxy serves HTTP/1.1 only';
const request = (path: string, ...more: string[]): string =>
  ['GET ' + path + ' HTTP/1.1', 'Host: a', ...more].join('\r\n') + '\r\n\r\n';

let rig: ProxyRig;
let seen: string[];
beforeEach(async () => {
  seen = [];
  rig = await startRig((incoming, response) => {
    seen.push(incoming.url ?? '');
    response.end(`<${incoming.url}>`);
  });
});
afterEach(() => rig.close());

/** Sends each part once the proxy has read the previous parts. Returns everything received until the connection closed. */
async function send(...parts: string[]): Promise<string> {
  let text = '';
  const socket = connect(rig.port, '127.0.0.1').setEncoding('latin1').setNoDelay();
  socket.on('data', (chunk: string) => (text += chunk)).on('error', () => undefined);
  const closed = once(socket, 'close');
  for (const part of parts) {
    socket.write(part, 'latin1');
    await aMoment();
  }
  await closed;
  return text;
}

describe('a client that starts with HTTP/2', () => {
  test('gets HTTP_1_1_REQUIRED: Node’s own client receives the code and its request fails', async () => {
    const session: ClientHttp2Session = connectHttp2(`http://127.0.0.1:${rig.port}`);
    session.on('error', () => undefined);
    const goaway = once(session, 'goaway');
    const stream = session.request({ ':path': '/' });
    const failed = new Promise<Error>((resolve) => stream.on('error', resolve));
    const [code, lastStream, reason] = (await goaway) as [number, number, Buffer];
    expect([code, lastStream, String(reason)]).toEqual([13, 0, 'this proxy serves HTTP/1.1 only']);
    expect((await failed).message).not.toBe('');
    if (!session.destroyed) await once(session, 'close');
    expect(seen).toEqual([]);
    expect(rig.audit.ring.last).toBe(0);
    expect(rig.http2.count).toBe(1);
  });

  test.each([
    ['gets GOAWAY for a preface in one segment', [PREFACE + SETTINGS]],
    ['gets GOAWAY for a preface in two segments', [PREFACE.slice(0, 16), PREFACE.slice(16) + SETTINGS]],
    ['gets GOAWAY for a preface byte by byte', [...PREFACE, SETTINGS]],
    [
      'gets GOAWAY for a preface with frames after it',
      [PREFACE, SETTINGS, '\0\0\0\x04\x01\0\0\0\0', 'x'.repeat(100_000)],
    ],
  ])('%s', async (_title, parts) => {
    expect(await send(...parts)).toBe(SETTINGS + GOAWAY);
    expect(seen).toEqual([]);
    expect(rig.audit.ring.last).toBe(0);
    expect(rig.http2.count).toBe(1);
  });

  test('is counted each time and logged once', async () => {
    for (let i = 0; i < 3; i += 1) await send(PREFACE);
    expect(rig.http2.count).toBe(3);
    expect(rig.log).toEqual([
      [
        'warn',
        'HTTP/2 connection refused: the proxy port serves HTTP/1.1 only',
        {
          advice: 'call the agent over HTTP/1.1; run a gRPC agent without the sidecar',
          metric: 'platform_sidecar_http2_refused_total',
        },
      ],
    ]);
  });
});

describe('HTTP/1.1', () => {
  test('is served, single and pipelined, while another client tries HTTP/2', async () => {
    const [alone, pipelined, http2] = await Promise.all([
      ask(rig.port, { path: '/alone' }),
      send(request('/1') + request('/2'), request('/3', 'Connection: close')),
      send(...PREFACE),
    ]);
    expect(alone.body).toBe('</alone>');
    expect([...pipelined.matchAll(/<[^>]*>/g)].map(String)).toEqual(['</1>', '</2>', '</3>']);
    expect(http2).toBe(SETTINGS + GOAWAY);
    await until(() => rig.audit.outcomes.notEvaluated === 4);
    expect(rig.audit.ring.last).toBe(4);
  });

  test('is rejected with 400 if the preface follows a request, because that is not a connection preface', async () => {
    const text = await send(request('/1') + PREFACE);
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 400']);
    expect(rig.http2.count).toBe(0);
    expect(rig.log).toEqual([]);
  });

  test('is rejected with 400 if the preface is incomplete', async () => {
    const socket = connect({ port: rig.port, host: '127.0.0.1', allowHalfOpen: true });
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
    socket.end(PREFACE.slice(0, -1));
    await until(() => text.includes('\r\n\r\n'));
    socket.destroy();
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
    expect(rig.http2.count).toBe(0);
  });
});
