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
import { BREAKS, DENIAL, inEachSetting, type ServedRig } from '../../testing/client-rig.ts';

const TEXT = JSON.stringify(Array.from({ length: 5_000 }, (_, i) => `order A-${i} – “shipped”`));
const CODINGS: [coding: string, body: Buffer][] = [
  ['gzip', gzipSync(TEXT)],
  ['br', brotliCompressSync(TEXT)],
  ['deflate', deflateSync(TEXT)],
  ['zstd', zstdCompressSync(TEXT)],
];

interface Whole {
  status: number;
  headers: IncomingHttpHeaders;
  trailers: NodeJS.Dict<string>;
  body: Buffer;
}

inEachSetting('bodies and their frames', ({ mode, serve }) => {
  let rig: ServedRig;
  let play: (request: IncomingMessage, response: ServerResponse) => void;
  beforeEach(async () => {
    rig = await serve((request, response) => play(request, response));
  });
  afterEach(() => rig.close());

  /** With Node's own client, which takes nothing apart: neither codings nor framing headers. */
  function ask(method: string, headers: Record<string, string> = {}, body?: Buffer): Promise<Whole> {
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
    test('of an answer passes byte by byte, and fetch reads its text', async () => {
      play = (_request, response) =>
        response
          .writeHead(200, { 'content-type': 'application/json', 'content-encoding': coding, etag: '"1"' })
          .end(body);
      const answer = await ask('GET', { 'accept-encoding': coding });
      expect(answer.body.equals(body)).toBe(true);
      expect(answer.headers).toMatchObject({ 'content-encoding': coding, etag: '"1"' });
      expect(await (await fetch(`${rig.url}/v1/chat`)).text()).toBe(TEXT);
    });

    test('of a denied answer is replaced in enforce, and passes byte by byte in track', async () => {
      rig.reports = BREAKS;
      play = (_request, response) =>
        response
          .writeHead(200, { 'content-type': 'text/html', 'content-encoding': coding, etag: '"1"' })
          .end(body);
      const answer = await ask('GET', { 'accept-encoding': coding });
      expect(answer.headers['x-platform-policy-violations']).toBe(DENIAL);
      if (mode === 'enforce') {
        expect([answer.status, answer.headers['content-type']]).toEqual([403, 'application/json']);
        expect(answer.headers).not.toHaveProperty('content-encoding');
        expect(answer.headers).not.toHaveProperty('etag');
        expect(JSON.parse(answer.body.toString())).toMatchObject({ violations: [DENIAL] });
      } else {
        expect([answer.status, answer.body.equals(body)]).toEqual([200, true]);
        expect(answer.headers['content-encoding']).toBe(coding);
      }
    });

    test('of a request passes byte by byte', async () => {
      let got: unknown;
      play = (request, response) =>
        void buffer(request).then((whole) => {
          got = { coding: request.headers['content-encoding'], isSame: whole.equals(body) };
          response.end();
        });
      await ask('POST', { 'content-encoding': coding }, body);
      expect(got).toEqual({ coding, isSame: true });
    });
  });

  test('a coding that a client asks for is asked of the agent, and none that it does not', async () => {
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
    'a denied answer to %s with status %i is 403 in enforce, and itself in track',
    async (method, status) => {
      rig.reports = BREAKS;
      play = (_request, response) =>
        response.writeHead(status, { location: '/away', 'last-modified': 'x' }).end();
      const answer = await ask(method);
      expect(answer.headers['x-platform-policy-violations']).toBe(DENIAL);
      expect(answer.status).toBe(mode === 'enforce' ? 403 : status);
      expect(answer.headers.location).toBe(mode === 'enforce' ? undefined : '/away');
      expect(answer.body.length > 0).toBe(mode === 'enforce' && method !== 'HEAD');
      expect(await rig.completed(1)).toMatchObject([{ outcome: 'deny', upstreamStatusCode: status }]);
    },
  );

  test('a denied answer with trailers gives none of them in enforce', async () => {
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

  test('early hints pass before a denial, without what the agent reports in them', async () => {
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

  test('HEAD has the length of the answer that GET would have, and no body', async () => {
    play = (_request, response) => response.writeHead(200, { 'content-length': 12_345, etag: '"x"' }).end();
    const { status, headers, body } = await ask('HEAD');
    expect([status, headers['content-length'], headers.etag, body.length]).toEqual([200, '12345', '"x"', 0]);
    expect(headers).not.toHaveProperty('transfer-encoding');
  });

  test.each([204, 304])('%i has no body, no length of one and no chunks', async (status) => {
    play = (_request, response) => response.writeHead(status, { etag: '"x"' }).end();
    const answer = await ask('GET', { 'if-none-match': '"x"' });
    expect([answer.status, answer.headers.etag, answer.body.length]).toEqual([status, '"x"', 0]);
    expect(answer.headers).not.toHaveProperty('transfer-encoding');
    expect(answer.headers).not.toHaveProperty('content-length');
  });

  test('304 keeps the length of what it stands for', async () => {
    play = (_request, response) => response.writeHead(304, { 'content-length': 777 }).end();
    const { status, headers, body } = await ask('GET');
    expect([status, headers['content-length'], body.length]).toEqual([304, '777', 0]);
  });

  test('trailers pass in both directions, to two clients', async () => {
    const seen: unknown[] = [];
    play = (request, response) =>
      void buffer(request).then((whole) => {
        seen.push([whole.toString(), request.trailers]);
        response.writeHead(200, { trailer: 'X-Sum' });
        response.write('counted');
        response.addTrailers({ 'X-Sum': '7', 'X-Platform-Tools-Called': 'pay' });
        response.end();
      });
    const whole = await new Promise<Whole>((resolve, reject) => {
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

  test('a form with a file, from fetch, arrives whole', async () => {
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
