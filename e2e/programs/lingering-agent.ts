// An agent with a graceful shutdown as recommended by Kubernetes. After SIGTERM it continues to serve, because clients learn of
// the pod's end with a delay, which has no limit on a busy machine: it ends when it has received no request for some time. Then
// it accepts no new requests, finishes the open ones and exits with 0.
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { hostname } from 'node:os';

/** Time after SIGTERM and after the last request until the agent ends, in milliseconds. */
const LINGER_MS = Number(process.env['LINGER_MS'] ?? 3_000);
/** Maximum time after SIGTERM in milliseconds, less than the grace period of the pods. */
const MAX_LINGER_MS = Math.max(LINGER_MS, 70_000);
const TICK_MS = 250;
const WEBSOCKET_GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

/** Functions that end each open stream or WebSocket. */
const open = new Set<() => void>();

/** POST /work?ms=…: reads the body and responds after that time with the pod's name. */
function work(request: IncomingMessage, response: ServerResponse, ms: number): void {
  const respond = (): void => {
    if (isEnding) response.setHeader('connection', 'close');
    response.end(hostname());
  };
  lastRequestAt = performance.now();
  request.resume().on('end', () => setTimeout(respond, ms));
}

/** GET /stream: server-sent events until the agent ends, then a final event. */
function stream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  let count = 0;
  const timer = setInterval(() => response.write(`data: ${(count += 1)}\n\n`), TICK_MS);
  const end = (): void => void response.end('data: the end\n\n');
  open.add(end);
  response.on('close', () => {
    clearInterval(timer);
    open.delete(end);
  });
}

let isEnding = false;
let lastRequestAt = performance.now();
let isHealthy = true;

const server = createServer((request, response) => {
  const url = new URL(request.url ?? '/', 'http://agent');
  if (url.pathname === '/work') work(request, response, Number(url.searchParams.get('ms')));
  else if (url.pathname === '/stream') stream(response);
  else if (url.pathname === '/break') {
    isHealthy = false;
    response.end();
  } else if (url.pathname === '/platform/health') response.writeHead(404).end(); // no reporter
  else response.writeHead(url.pathname === '/health' && !isHealthy ? 500 : 200).end();
});

/** A WebSocket that sends short texts periodically and closes with 1001 (going away) when the agent ends. */
server.on('upgrade', (request, socket) => {
  const accept = createHash('sha1').update(`${request.headers['sec-websocket-key']}${WEBSOCKET_GUID}`);
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${accept.digest('base64')}\r\n\r\n`,
  );
  const timer = setInterval(() => socket.write(Buffer.from([0x81, 4, ...Buffer.from('tick')])), TICK_MS);
  const end = (): void => void socket.end(Buffer.from([0x88, 2, 1001 >> 8, 1001 & 0xff]));
  open.add(end);
  socket.on('error', () => socket.destroy());
  socket.on('close', () => {
    clearInterval(timer);
    open.delete(end);
  });
  socket.resume();
});

server.listen(8000);
process.once('SIGTERM', () => {
  const signaledAt = performance.now();
  const endIfQuiet = (): void => {
    const now = performance.now();
    const quietFrom = Math.max(signaledAt, lastRequestAt) + LINGER_MS;
    const endAt = Math.min(quietFrom, signaledAt + MAX_LINGER_MS);
    if (now < endAt) {
      setTimeout(endIfQuiet, endAt - now);
      return;
    }
    isEnding = true;
    server.close();
    for (const end of open) end();
  };
  endIfQuiet();
});
