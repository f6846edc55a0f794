import { randomBytes } from 'node:crypto';
import {
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { buffer } from 'node:stream/consumers';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { request as undiciRequest } from 'undici';
import { BREAKS, DENIAL, inEachSetting, type ServedRig } from '../../testing/sidecar/client-rig.ts';

const TEXT = JSON.stringify(Array.from({ length: 5_000 }, (_, i) => `order A-${i} – “shipped”`));
const CODINGS: [coding: string, body: Buffer][] = [
  ['gzip', gzipSync(TEXT)],
  ['br', brotliCompressSync(TEXT)],
  ['deflate', deflateSync(TEXT)],
  ['zstd', zstdCompressSync(TEXT)],
];

interface Received {
  status: number;
  headers: IncomingHttpHeaders;
  trailers: NodeJS.Dict<string>;
  body: Buffer;
}

inEachSetting('bodies and their framing', ({ mode, serve }) => {
  let rig: ServedRig;
  let play: (request: IncomingMessage, response: ServerResponse) => void;
  beforeEach(async () => {
    rig = await serve((request, response) => play(request, response));
  });
  afterEach(() => rig.close());

  /** Uses Node's own client, which decodes neither content codings nor framing headers. */
  function ask(method: string, headers: Record<string, string> = {}, body?: Buffer): Promise<Received> {
    return new Promise((resolve, reject) => {
      const request = httpRequest(`${rig.url}/v1/chat`, { method, headers, agent: false }, (response) => {
        buffer(response).then(
          (whole) =>
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              trailers: response.trailers,
              body: whole,
            }),
          reject,
        );
      });
      request.on('error', reject).end(body);
    });
  }

  describe.each(CODINGS)('a body in %s', (coding, body) => {
    test('of a response is passed byte by byte, and fetch reads its text', async () => {
      play = (_request, response) =>
        response
          .writeHead(200, { 'content-type': 'application/json', 'content-encoding': coding, etag: '"1"' })
          .end(body);
      const result = await ask('GET', { 'accept-encoding': coding });
      expect(result.body.equals(body)).toBe(true);
      expect(result.headers).toMatchObject({ 'content-encoding': coding, etag: '"1"' });
      expect(await (await fetch(`${rig.url}/v1/chat`)).text()).toBe(TEXT);
    });

    test('of a denied response is replaced in mode enforce, and passed byte by byte in mode track', async () => {
      rig.reports = BREAKS;
      play = (_request, response) =>
        response
          .writeHead(200, { 'content-type': 'text/html', 'content-encoding': coding, etag: '"1"' })
          .end(body);
      const result = await ask('GET', { 'accept-encoding': coding });
      expect(result.headers['x-platform-policy-violations']).toBe(DENIAL);
      if (mode === 'enforce') {
        expect([result.status, result.headers['content-type']]).toEqual([403, 'application/json']);
        expect(result.headers).not.toHaveProperty('content-encoding');
        expect(result.headers).not.toHaveProperty('etag');
        expect(JSON.parse(result.body.toString())).toMatchObject({ violations: [DENIAL] });
      } else {
        expect([result.status, result.body.equals(body)]).toEqual([200, true]);
        expect(result.headers['content-encoding']).toBe(coding);
      }
    });

    test('of a request is passed byte by byte', async () => {
      let received: unknown;
      play = (request, response) =>
        void buffer(request).then((whole) => {
          received = { coding: request.headers['content-encoding'], isSame: whole.equals(body) };
          response.end();
        });
      await ask('POST', { 'content-encoding': coding }, body);
      expect(received).toEqual({ coding, isSame: true });
    });
  });

  test('passes Accept-Encoding on to the agent unchanged, and adds none', async () => {
    const seen: unknown[] = [];
    play = (request, response) => {
      seen.push(request.headers['accept-encoding']);
      response.end();
    };
    await ask('GET', { 'accept-encoding': 'br;q=0.5, gzip' });
    await ask('GET');
    expect(seen).toEqual(['br;q=0.5, gzip', undefined]);
  });

  test.each([
    ['HEAD', 200],
    ['GET', 204],
    ['GET', 304],
    ['GET', 404],
    ['DELETE', 500],
    ['POST', 302],
  ])(
    'a denied response to %s with status %i is 403 in mode enforce, and unchanged in mode track',
    async (method, status) => {
      rig.reports = BREAKS;
      play = (_request, response) =>
        response.writeHead(status, { location: '/away', 'last-modified': 'x' }).end();
      const result = await ask(method);
      expect(result.headers['x-platform-policy-violations']).toBe(DENIAL);
      expect(result.status).toBe(mode === 'enforce' ? 403 : status);
      expect(result.headers.location).toBe(mode === 'enforce' ? undefined : '/away');
      expect(result.body.length > 0).toBe(mode === 'enforce' && method !== 'HEAD');
      expect(await rig.completed(1)).toMatchObject([{ outcome: 'deny', upstreamStatusCode: status }]);
    },
  );

  test('drops the trailers of a denied response in mode enforce', async () => {
    rig.reports = BREAKS;
    play = (_request, response) => {
      response.writeHead(200, { trailer: 'X-Sum' });
      response.write('counted');
      response.addTrailers({ 'X-Sum': '7' });
      response.end();
    };
    const { status, headers, trailers } = await ask('GET');
    expect([status, trailers]).toEqual(mode === 'enforce' ? [403, {}] : [200, { 'x-sum': '7' }]);
    expect(headers.trailer).toBe(mode === 'enforce' ? undefined : 'X-Sum');
  });

  test('passes early hints before a denial, without the reported behavior in them', async () => {
    rig.reports = BREAKS;
    play = (_request, response) => {
      response.writeEarlyHints({ link: '</style.css>; rel=preload', 'x-platform-tools-called': 'a' }, () =>
        response.end('x'),
      );
    };
    const hints: IncomingHttpHeaders[] = [];
    const status = await new Promise((resolve, reject) => {
      const request = httpRequest(rig.url, { agent: false }, (response) =>
        resolve(response.resume().statusCode),
      );
      request
        .on('information', ({ headers }) => hints.push(headers))
        .on('error', reject)
        .end();
    });
    expect(status).toBe(mode === 'enforce' ? 403 : 200);
    expect(hints).toMatchObject([{ link: '</style.css>; rel=preload' }]);
    expect(hints[0]).not.toHaveProperty('x-platform-tools-called');
  });

  test('HEAD has the Content-Length of the response to GET, and no body', async () => {
    play = (_request, response) => response.writeHead(200, { 'content-length': 12_345, etag: '"x"' }).end();
    const { status, headers, body } = await ask('HEAD');
    expect([status, headers['content-length'], headers.etag, body.length]).toEqual([200, '12345', '"x"', 0]);
    expect(headers).not.toHaveProperty('transfer-encoding');
  });

  test('304 keeps the Content-Length of the cached response', async () => {
    play = (_request, response) => response.writeHead(304, { 'content-length': 777 }).end();
    const { status, headers, body } = await ask('GET');
    expect([status, headers['content-length'], body.length]).toEqual([304, '777', 0]);
  });

  test('passes trailers in both directions, to two clients', async () => {
    const seen: unknown[] = [];
    play = (request, response) =>
      void buffer(request).then((whole) => {
        seen.push([whole.toString(), request.trailers]);
        response.writeHead(200, { trailer: 'X-Sum' });
        response.write('counted');
        response.addTrailers({ 'X-Sum': '7', 'X-Platform-Tools-Called': 'pay' });
        response.end();
      });
    const whole = await new Promise<Received>((resolve, reject) => {
      const headers = { trailer: 'X-Check', te: 'trailers' };
      const request = httpRequest(rig.url, { method: 'POST', headers, agent: false }, (response) => {
        buffer(response).then(
          (body) => resolve({ status: 200, headers: response.headers, trailers: response.trailers, body }),
          reject,
        );
      });
      request.on('error', reject).write('count me');
      request.addTrailers({ 'X-Check': 'ok' });
      request.end();
    });
    expect([whole.body.toString(), whole.trailers]).toEqual(['counted', { 'x-sum': '7' }]);
    expect(seen).toEqual([['count me', { 'x-check': 'ok' }]]);

    const other = await undiciRequest(rig.url);
    expect([await other.body.text(), other.trailers]).toEqual(['counted', { 'x-sum': '7' }]);
  });

  test('passes a form with a file from fetch completely', async () => {
    const file = randomBytes(300_000);
    play = (request, response) =>
      void buffer(request).then((whole) => {
        response.writeHead(200, { 'content-type': request.headers['content-type'] }).end(whole);
      });
    const form = new FormData();
    form.set('name', 'ü – “x”');
    form.set('file', new Blob([file]), 'a.bin');
    const back = await (await fetch(rig.url, { method: 'POST', body: form })).formData();
    expect(back.get('name')).toBe('ü – “x”');
    expect(Buffer.from(await (back.get('file') as Blob).arrayBuffer()).equals(file)).toBe(true);
  });
});
