// Hostile connections and idle streams for sidecar/overload.realtime.test.ts, in a process of their own: 200 and 1,000, or
// the share of each kind that HOSTILE_SHARE says. Each connection that has closed is opened again, so the load stays the same until this process ends.
import { connect, type Socket } from 'node:net';

const PORT = Number(process.env['PROXY_PORT']);
const SHARE = Number(process.env['HOSTILE_SHARE']);
/** Milliseconds until a connection that was closed is opened again, so that the load is bounded. */
const PAUSE_MS = 200;
/** Milliseconds between two pieces of a slow upload. */
const PIECE_MS = 100;
/** Milliseconds until a hostile client leaves and comes back, at least; at most twice as many. */
const HOLD_MS = 5_000;

const request = (method: string, path: string, more = ''): string =>
  `${method} ${path} HTTP/1.1\r\nHost: agent\r\n${more}\r\n`;
const GET_LARGE = request('GET', '/large');
const UPLOAD = 'Content-Length: 104857600\r\n';
const BODY = 'x'.repeat(60_000);

const UPLOADED = request('POST', '/large', `Content-Length: ${BODY.length}\r\n`) + BODY;

/** What a client sends; it reads nothing unless it says so. */
type Behavior = (socket: Socket) => void;

/** One row per kind of hostile client, and how many connections of it. */
const KINDS: readonly [connections: number, behavior: Behavior][] = [
  // 64 requests for 1 MiB each.
  [50, (socket) => void socket.write(GET_LARGE.repeat(64))],
  // As many as one read of the proxy brings.
  [20, (socket) => void socket.write(GET_LARGE.repeat(2_000))],
  [40, (socket) => void socket.write(GET_LARGE)],
  // A model's response of 1 MiB, which the proxy reads for its token usage.
  [20, (socket) => void socket.write(request('GET', '/v1/chat/completions'))],
  // Heads of 15 KiB.
  [10, (socket) => void socket.write(request('GET', '/large', `X: ${'x'.repeat(15_000)}\r\n`).repeat(64))],
  [20, slowUpload('/read')],
  // The agent does not read these.
  [20, slowUpload('/unread')],
  // Bodies behind a request that waits.
  [20, (socket) => void socket.write(UPLOADED.repeat(64))],
  [1_000, idleStream],
];

/** This client reads. */
function idleStream(socket: Socket): void {
  socket.resume();
  socket.write(request('GET', '/stream'));
}

function slowUpload(path: string): Behavior {
  return (socket) => {
    socket.write(request('POST', path, UPLOAD));
    const timer = setInterval(() => {
      if (socket.writableLength < 1_000_000) socket.write(BODY);
    }, PIECE_MS);
    socket.once('close', () => clearInterval(timer));
  };
}

/** Connects, and again when the connection has closed; `holdMs`: the client closes it after so long. */
function open(behavior: Behavior, holdMs: number | null): void {
  const socket = connect(PORT, '127.0.0.1').on('error', () => undefined);
  socket.once('connect', () => {
    process.send?.('connected');
    behavior(socket);
  });
  const timer = holdMs === null ? undefined : setTimeout(() => socket.destroy(), holdMs);
  socket.once('close', () => {
    clearTimeout(timer);
    setTimeout(open, PAUSE_MS, behavior, holdMs);
  });
}

process.once('disconnect', () => process.exit());
for (const [all, behavior] of KINDS) {
  const connections = all * SHARE;
  for (let i = 0; i < connections; i += 1)
    open(behavior, behavior === idleStream ? null : HOLD_MS + (HOLD_MS * i) / connections);
}
