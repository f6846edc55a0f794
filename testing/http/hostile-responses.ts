import type { RequestListener, ServerResponse } from 'node:http';
// The agent's timers run while a test holds the sidecar's timers.
import { clearInterval, setInterval, setTimeout } from 'node:timers';
import { gzipSync } from 'node:zlib';

/** Valid responses on the routes that the sidecar reads. */
export const GOOD_RESPONSES: Readonly<Record<string, object>> = {
  '/platform/health': {
    agentName: 'shop',
    timestamp: '2026-03-01T10:00:00.000Z',
    status: 'healthy',
    summary: { passed: 1, failed: 0, warnings: 0, skipped: 0 },
    checks: [{ id: 'tool:pay', category: 'tool', status: 'pass', severity: 'info' }],
  },
  '/capabilities': { tools: [{ name: 'pay' }] },
  '/.well-known/agent-card.json': { name: 'shop', skills: [{ id: 'pay', name: 'Pay' }] },
  '/platform/usage': {
    source: 'agent-sdk',
    windowStartedAt: '2026-03-01T10:00:00.000Z',
    models: [{ modelId: 'm', promptTokens: 1, completionTokens: 2, totalTokens: 3, callCount: 1 }],
    totalTokens: 3,
    totalCalls: 1,
  },
};

/** Total bytes sent by hostile responses. */
export const written = { bytes: 0 };

/** The valid response of the path, as JSON text. */
const good = (path: string | undefined): string => JSON.stringify(GOOD_RESPONSES[path ?? '']);

function sends(body: string | Buffer, headers: Record<string, string> = {}): RequestListener {
  return (_request, response) =>
    response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(body);
}

/** Sends as fast as the receiver accepts data, until it disconnects. */
function floods(response: ServerResponse, piece: string): void {
  const more = (): void => {
    for (let isWritable = true; isWritable && !response.destroyed;) {
      written.bytes += piece.length;
      isWritable = response.write(piece);
    }
  };
  response.on('drain', more);
  more();
}

function drips(piece: string): RequestListener {
  return (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const timer = setInterval(() => response.write(piece), 50);
    response.on('close', () => clearInterval(timer));
  };
}

/** Sends raw bytes repeatedly, as long as they are accepted. */
function raw(first: string, then?: string): RequestListener {
  return ({ socket }) => {
    socket.write(first);
    if (then === undefined) return;
    const timer = setInterval(() => socket.write(then), 1);
    socket.on('close', () => clearInterval(timer));
  };
}

const wrapped = (depth: number, open: string, close: string): string =>
  open.repeat(depth) + close.repeat(depth);

/** Invalid responses for any of the three routes. */
export const NO_REPORTS: Readonly<Record<string, RequestListener>> = {
  'a web page': sends('<!doctype html><title>Agent</title>', { 'content-type': 'text/html' }),
  'nothing at all': sends(''),
  'half of it, and a broken connection': (request, response) => {
    response.writeHead(200, { 'content-length': '5000' }).write(good(request.url).slice(0, 20));
    setTimeout(() => response.destroy(), 20);
  },
  'more than it promises': raw('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}{}{}{}'),
  'an error with a good body': (request, response) => response.writeHead(500).end(good(request.url)),
  'a good body that is not found': (request, response) => response.writeHead(404).end(good(request.url)),
  null: sends('null'),
  'a number': sends('42'),
  'a list of it': (request, response) => response.end(`[${good(request.url)}]`),
  'text that holds it': (request, response) => response.end(JSON.stringify(good(request.url))),
  'it with a NaN': (request, response) => response.end(good(request.url).replace('{', '{"x":NaN,')),
  'it twice': (request, response) => response.end(good(request.url).repeat(2)),
  'it under a prototype': (request, response) => response.end(`{"__proto__":${good(request.url)}}`),
  'it under a constructor': (request, response) =>
    response.end(`{"constructor":{"prototype":${good(request.url)}}}`),
  'lists 100,000 deep': sends(wrapped(100_000, '[', ']')),
  'objects 40,000 deep': sends(wrapped(40_000, '{"a":', '}').replace(':}', ':1}')),
  'a bomb of 64 MB in gzip': sends(gzipSync(Buffer.alloc(64 * 1024 * 1024)), {
    'content-encoding': 'gzip',
  }),
  'it compressed without Accept-Encoding': (request, response) =>
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(good(request.url))),
  'it in UTF-16': (request, response) => response.end(Buffer.from(good(request.url), 'utf16le')),
  'bytes without number': (_request, response) => floods(response.writeHead(200), 'x'.repeat(64 * 1024)),
  'a string without end': (_request, response) => {
    floods(response.writeHead(200), `{"status":"${'x'.repeat(64 * 1024)}`);
  },
  'it, and then blanks without end': (request, response) => {
    response.writeHead(200).write(good(request.url));
    floods(response, ' '.repeat(64 * 1024));
  },
  'headers without end': raw('HTTP/1.1 200 OK\r\n', `X-A: ${'b'.repeat(1000)}\r\n`),
  'no HTTP': raw('hello\r\n\r\n'),
  'another protocol': raw('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'),
};

/** Invalid responses that the sidecar detects only after its timeout of five seconds. */
export const SLOW_NO_REPORTS: Readonly<Record<string, RequestListener>> = {
  silence: () => undefined,
  'a byte now and then': drips(' '),
  'hints without end': raw('', 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'),
  'half a head': raw('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n'),
};
