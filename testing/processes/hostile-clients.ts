// A process with hostile connections and idle streams for sidecar/overload.realtime.test.ts: the kinds below, or
// the share HOSTILE_SHARE of each kind. Closed connections are reopened, so that the load stays constant.
import { connect, type Socket } from 'node:net';

const PROXY_PORT = Number(process.env['PROXY_PORT']);
const CONTROL_PORT = Number(process.env['CONTROL_PORT']);
const SHARE = Number(process.env['HOSTILE_SHARE']);
/** Delay in milliseconds before a closed connection is reopened, to bound the load. */
const PAUSE_MS = 200;
/** Milliseconds between two pieces of a slow upload. */
const PIECE_MS = 100;
/** Minimum milliseconds until a hostile client reconnects; the maximum is twice as long. */
const HOLD_MS = 5_000;

const request = (method: string, path: string, more = ''): string =>
  `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${more}\r\n`;
const EVENTS = request('POST', '/events', 'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n');
const GET_LARGE = request('GET', '/large');
const UPLOAD = 'Content-Length: 104857600\r\n';
const BODY = 'x'.repeat(60_000);

const GET_UNREAD = request('GET', '/unread');
const UPGRADE = request(
  'GET',
  '/unread',
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n',
);
const UPLOADED = request('POST', '/large', `Content-Length: ${BODY.length}\r\n`) + BODY;

/** Number of connections opened so far, and the total. */
let [opened, wanted] = [0, 0];

/** Sends the client's data; a client reads only if it does so explicitly. */
type Behavior = (socket: Socket) => void;

const CHUNKED = 'Transfer-Encoding: chunked\r\n';
/** The size of one read of the receiver, in chunks of one byte. */
const ONE_BYTE_CHUNKS = '1\r\nx\r\n'.repeat(10_000);
/** Endless heads with many fields or with long fields. */
const UNFINISHED_HEADS = [1_900, 200].map(
  (fields) =>
    `GET / HTTP/1.1\r\nHost: localhost\r\n${`ab: ${'c'.repeat(14_000 / fields)}\r\n`.repeat(fields)}`,
);
const unfinishedHead: Behavior = (socket) => void socket.write(UNFINISHED_HEADS[opened % 2] ?? '');

/** Number of connections and behaviour of each kind of hostile client. */
const KINDS: readonly [connections: number, behavior: Behavior, port?: number][] = [
  // 64 requests for 1 MiB each.
  [50, (socket) => void socket.write(GET_LARGE.repeat(64))],
  // As many as fit into one read of the proxy.
  [20, (socket) => void socket.write(GET_LARGE.repeat(2_000))],
  [40, (socket) => void socket.write(GET_LARGE)],
  // A model's response of 1 MiB, which the proxy reads for its token usage.
  [20, (socket) => void socket.write(request('GET', '/v1/chat/completions'))],
  // Heads of 15 KiB.
  [10, (socket) => void socket.write(request('GET', '/large', `X: ${'x'.repeat(15_000)}\r\n`).repeat(64))],
  [20, slowUpload('/read')],
  // The agent does not read these.
  [20, slowUpload('/unread')],
  // Bodies behind a waiting request.
  [20, (socket) => void socket.write(UPLOADED.repeat(64))],
  [1_000, idleStream],
  [400, unfinishedHead],
  // The agent does not read these.
  [20, (socket) => upload(socket, request('POST', '/unread', CHUNKED), ONE_BYTE_CHUNKS)],
  // Behind a waiting request.
  [20, (socket) => upload(socket, GET_UNREAD + request('POST', '/read', CHUNKED), ONE_BYTE_CHUNKS)],
  [10, byteAfterByte(request('POST', '/unread', UPLOAD))],
  [10, byteAfterByte(UPGRADE)],
  // The control routes: the audit ring is the largest response.
  [20, (socket) => void socket.write(request('GET', '/audit').repeat(64)), CONTROL_PORT],
  [10, (socket) => void socket.write(request('GET', '/metrics').repeat(2_000)), CONTROL_PORT],
  [100, unfinishedHead, CONTROL_PORT],
  [20, (socket) => upload(socket, EVENTS, ONE_BYTE_CHUNKS), CONTROL_PORT],
];

/** A client that reads. */
function idleStream(socket: Socket): void {
  socket.resume();
  socket.write(request('GET', '/stream'));
}

function slowUpload(path: string): Behavior {
  return (socket) => upload(socket, request('POST', path, UPLOAD), BODY);
}

function upload(socket: Socket, head: string, piece: string): void {
  socket.write(head);
  const timer = setInterval(() => {
    if (socket.writableLength < 1_000_000) socket.write(piece);
  }, PIECE_MS);
  socket.once('close', () => clearInterval(timer));
}

/** Sends each byte in a separate segment. */
function byteAfterByte(head: string): Behavior {
  return (socket) => {
    socket.setNoDelay().write(head);
    const timer = setInterval(() => {
      for (let i = 0; i < 50 && socket.writableLength === 0; i += 1) socket.write('x');
    }, 10);
    socket.once('close', () => clearInterval(timer));
  };
}

function hasOpened(): void {
  opened += 1;
  if (opened === wanted) process.send?.('all connected');
}

/** Connects, and reconnects after a close; `holdMs`: the client closes the connection after this time. */
function open(port: number, behavior: Behavior, holdMs: number | null): void {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  socket.once('connect', () => {
    hasOpened();
    behavior(socket);
  });
  const timer = holdMs === null ? undefined : setTimeout(() => socket.destroy(), holdMs);
  socket.once('close', () => {
    clearTimeout(timer);
    setTimeout(open, PAUSE_MS, port, behavior, holdMs);
  });
}

process.once('disconnect', () => process.exit());
for (const [all, behavior, port = PROXY_PORT] of KINDS) {
  const connections = all * SHARE;
  wanted += connections;
  for (let i = 0; i < connections; i += 1)
    open(port, behavior, behavior === idleStream ? null : HOLD_MS + (HOLD_MS * i) / connections);
}
