import { connect } from 'node:net';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createApp } from '../../runtime/http-app.ts';
import { listen, type Listener } from '../../runtime/http-listener.ts';
import { silentLogger } from '../../runtime/logger.ts';
import { DASHBOARD_HEADERS, dashboardRoutes } from './routes.ts';

const PAGE = '<!doctype html><title>Fleet</title>';
const SCRIPT = 'console.log("ä");'.repeat(100);
const FILES = new Map([
  ['index.html', PAGE],
  ['app-ABCD1234.js', SCRIPT],
  ['app-ABCD5678.css', 'body{}'],
]);

let listener: Listener;
let files: ReadonlyMap<string, string> | null;
let loads: number;

beforeEach(async () => {
  files = FILES;
  loads = 0;
  const load = (): ReadonlyMap<string, string> | null => {
    loads += 1;
    return files;
  };
  const handler = createApp({ logger: silentLogger, routes: dashboardRoutes(load) });
  listener = await listen({ handler, port: 0, host: '127.0.0.1' });
});
afterEach(() => listener.close());

/** The response as it is on the wire: fetch would decode it. */
function raw(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Raw> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(listener.port, '127.0.0.1');
    socket.once('error', reject);
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.once('end', () => resolve(parsed(Buffer.concat(chunks))));
    const lines = Object.entries({ host: 'a', connection: 'close', ...headers }).map(
      ([name, value]) => `${name}: ${value}\r\n`,
    );
    socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`);
  });
}

interface Raw {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
}

function parsed(bytes: Buffer): Raw {
  const end = bytes.indexOf('\r\n\r\n');
  const [first = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const pairs = lines.map((line) => line.split(/: (.*)/s).slice(0, 2) as [string, string]);
  return {
    status: Number(first.split(' ')[1]),
    headers: Object.fromEntries(pairs.map(([name, value]) => [name.toLowerCase(), value])),
    body: bytes.subarray(end + 4),
  };
}

const lowerCase = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

describe('the page', () => {
  test('is served at / and is validated on every visit', async () => {
    const { status, headers, body } = await raw('/');
    expect({ status, body: body.toString() }).toEqual({ status: 200, body: PAGE });
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-length': String(PAGE.length),
      'cache-control': 'no-cache',
      vary: 'Accept-Encoding',
    });
  });

  test('allows only its own origin, without unsafe sources, and cannot be framed', async () => {
    const { headers } = await raw('/');
    expect(headers).toMatchObject(lowerCase(DASHBOARD_HEADERS));
    const policy = headers['content-security-policy'] ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
  });

  test('returns 503 with the command while it is not built, and 200 as soon as it is', async () => {
    files = null;
    const missing = await raw('/');
    expect(missing.status).toBe(503);
    expect(missing.body.toString()).toContain('run make build');
    files = FILES;
    expect((await raw('/')).status).toBe(200);
    await raw('/assets/app-ABCD1234.js');
    expect(loads).toBe(2);
  });
});

describe('a script or stylesheet', () => {
  test.each([
    ['app-ABCD1234.js', 'text/javascript; charset=utf-8'],
    ['app-ABCD5678.css', 'text/css; charset=utf-8'],
  ])('%s has its type and never changes', async (file, type) => {
    const { status, headers, body } = await raw(`/assets/${file}`);
    expect([status, body.toString()]).toEqual([200, FILES.get(file)]);
    expect(headers).toMatchObject({
      ...lowerCase(DASHBOARD_HEADERS),
      'content-type': type,
      'cache-control': 'public, max-age=31536000, immutable',
    });
  });

  test.each([
    ['br', 'gzip, deflate, br, zstd', brotliDecompressSync],
    ['br', 'br;q=0.1, gzip', brotliDecompressSync],
    ['gzip', 'gzip, br;q=0', gunzipSync],
    ['gzip', 'gzip', gunzipSync],
    ['br', '*', brotliDecompressSync],
    [undefined, 'zstd', (body: Buffer) => body],
    [undefined, '', (body: Buffer) => body],
  ])('is sent in the coding %s for Accept-Encoding: %s', async (coding, accepted, decode) => {
    for (let round = 0; round < 2; round += 1) {
      const { headers, body } = await raw('/assets/app-ABCD1234.js', { 'accept-encoding': accepted });
      expect(headers['content-encoding']).toBe(coding);
      expect(headers['content-length']).toBe(String(body.length));
      expect(decode(body).toString()).toBe(SCRIPT);
    }
  });

  test('is not sent again to a client that has it', async () => {
    const first = await raw('/assets/app-ABCD1234.js', { 'accept-encoding': 'br' });
    const etag = first.headers['etag'] ?? '';
    expect(etag).toMatch(/^W\/"[\w-]{22}"$/);
    const again = await raw('/assets/app-ABCD1234.js', { 'if-none-match': etag });
    expect([again.status, again.body.length, again.headers['etag']]).toEqual([304, 0, etag]);
    expect((await raw('/', { 'if-none-match': etag })).status).toBe(200);
  });

  test('has the same headers for HEAD, without a body', async () => {
    const [get, head] = [
      await raw('/assets/app-ABCD1234.js'),
      await raw('/assets/app-ABCD1234.js', {}, 'HEAD'),
    ];
    expect({ ...head.headers, date: '' }).toEqual({ ...get.headers, date: '' });
    expect([head.status, head.body.length]).toEqual([200, 0]);
  });
});

describe('nothing else', () => {
  test.each([
    '/assets/',
    '/assets/none.js',
    '/assets/APP-ABCD1234.JS',
    '/assets/app-ABCD1234.js.map',
    '/assets/..%2fpackage.json',
    '/assets/%2e%2e%2f%2e%2e%2fpackage.json',
    '/assets/../package.json',
    '/assets//etc/passwd',
    '/assets/__proto__',
    '/assets/constructor',
    '/index.html',
    '/app-ABCD1234.js',
  ])('is reachable: %s returns 404', async (path) => {
    const { status, headers } = await raw(path);
    expect([status, headers['content-type']]).toEqual([404, 'application/problem+json; charset=utf-8']);
  });

  test.each(['POST', 'PUT', 'DELETE'])('%s returns 405', async (method) => {
    const { status, headers } = await raw('/', {}, method);
    expect([status, headers['allow']]).toEqual([405, 'GET, HEAD']);
  });
});
