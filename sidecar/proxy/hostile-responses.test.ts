import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { eachRequest } from '../../testing/http/each-request.ts';
import {
  askRaw,
  issueTlsIdentity,
  startRawRig,
  type ProxyRig,
  type TlsIdentity,
} from '../../testing/sidecar/proxy-rig.ts';
import { until } from '../../testing/time/until.ts';

/** The response that a client receives. `cut`: the connection ended before the response. */
interface Seen {
  status: number;
  body: string;
  cut?: true;
}

const ok = (...lines: string[]): string => ['HTTP/1.1 200 OK', ...lines].join('\r\n');
const sized = (...lines: string[]): string => `${ok(...lines)}\r\n\r\nhello`;
const CHUNKS = '5\r\nhello\r\n0\r\n\r\n';
const chunked = (...lines: string[]): string => `${ok(...lines)}\r\n\r\n${CHUNKS}`;
const broken = (chunks: string): string => `${ok(TE)}\r\n\r\n5\r\nhello\r\n${chunks}`;
const CL = 'Content-Length: 5';
const TE = 'Transfer-Encoding: chunked';
const HELLO: Seen = { status: 200, body: 'hello' };
const EMPTY: Seen = { status: 200, body: '' };
const CUT: Seen = { status: 200, body: 'hello', cut: true };
const REJECTED = { status: 502 };
/** A response that another client would receive. */
const POISON = 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison';

type Row = [title: string, bytes: string, seen: Partial<Seen>];

const HEADS: Row[] = [
  ['a length and chunks', chunked('Content-Length: 3', TE), REJECTED],
  ['chunks and a length', chunked(TE, 'Content-Length: 3'), REJECTED],
  ['two lengths', sized(CL, 'Content-Length: 3'), REJECTED],
  ['the same length twice', sized(CL, CL), REJECTED],
  ['a list of lengths', sized('Content-Length: 5, 5'), REJECTED],
  ['a signed length', sized('Content-Length: +5'), REJECTED],
  ['a negative length', sized('Content-Length: -5'), REJECTED],
  ['a hexadecimal length', sized('Content-Length: 0x5'), REJECTED],
  ['a length above 64 bits', sized('Content-Length: 18446744073709551621'), REJECTED],
  ['a folded line', sized('X: 1', ' 2', CL), REJECTED],
  ['a bare LF', sized('X: 1\nY: 2', CL), REJECTED],
  ['a bare CR', sized('X: 1\rY: 2', CL), REJECTED],
  ['NUL in a value', sized('X: 1\0', CL), REJECTED],
  ['a blank before the colon', sized('Content-Length : 5'), REJECTED],
  ['a name without a colon', sized('X', CL), REJECTED],
  ['a byte above ASCII in a name', sized('X\xe4: 1', CL), REJECTED],
  ['a header of 64 KB', sized(`X: ${'x'.repeat(65_536)}`, CL), REJECTED],
  [
    'a protocol switch without an upgrade request',
    'HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n',
    REJECTED,
  ],
  ['HTTP/2.0 in HTTP/1.1 syntax', sized(CL).replace('1.1', '2.0'), HELLO],
  ['HTTP/0.9', 'hello', REJECTED],
  ['another protocol', 'SSH-2.0-x\r\n', REJECTED],
  ['a status of four digits', sized(CL).replace('200', '2000'), REJECTED],
  ['a status below 100', sized(CL).replace('200', '099'), REJECTED],
  ['no status', sized(CL).replace('200 OK', ''), REJECTED],
];

const BODIES: Row[] = [
  ['an invalid chunk size', broken('zz\r\n'), CUT],
  ['a chunk size above 64 bits', broken(`${'f'.repeat(17)}\r\n`), CUT],
  ['LF after a chunk size', broken('5\nhello\r\n0\r\n\r\n'), CUT],
  ['a folded trailer', broken('0\r\nX: 1\r\n 2\r\n\r\n'), CUT],
  ['chunks without a last chunk', `${broken('')}`, CUT],
];

const INFORMATION: Row[] = [
  ['an unrequested 100', `HTTP/1.1 100 Continue\r\n\r\n${sized(CL)}`, HELLO],
  ['100 with headers, twice', `${'HTTP/1.1 100 Go on\r\nX: 1\r\n\r\n'.repeat(2)}${sized(CL)}`, HELLO],
  ['a thousand times 100', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(1_000) + sized(CL), HELLO],
  ['a thousand times 102', 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(1_000) + sized(CL), HELLO],
  ['a thousand times 199', 'HTTP/1.1 199 X\r\n\r\n'.repeat(1_000) + chunked(TE), HELLO],
];

const POISONED: Row[] = [
  ['another response', sized(CL) + POISON, HELLO],
  ['another response after chunks', chunked(TE) + POISON, HELLO],
  ['the head of another response', `${sized(CL)}HTTP/1.1 200 OK\r\nX: `, HELLO],
  ['bytes that are not HTTP', `${sized(CL)}garbage`, HELLO],
  ['an early hint', `${sized(CL)}HTTP/1.1 103 X\r\nLink: </a>; rel=preload\r\n\r\n`, HELLO],
  ['a body after 204', `HTTP/1.1 204 X\r\n\r\n${POISON}`, { status: 204, body: '' }],
  ['a body after 304', `HTTP/1.1 304 X\r\n\r\n${POISON}`, { status: 304, body: '' }],
  ['a body after 204 with a length', `HTTP/1.1 204 X\r\n${CL}\r\n\r\nhello`, { status: 204, body: '' }],
  ['more bytes than the length', `${ok('Content-Length: 0')}\r\n\r\n${POISON}`, EMPTY],
];

/** Sends one request and returns all responses. The connection ends with the response. */
async function ask(port: number, method: string, path: string): Promise<Seen[]> {
  const body = method === 'POST' ? `${TE}\r\n\r\n0\r\n\r\n` : '\r\n';
  const wire = await askRaw(port, `${method} ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${body}`);
  return wire
    .split(/(?=HTTP\/1\.1 \d{3} )/)
    .filter((response) => !response.startsWith('HTTP/1.1 1'))
    .map((response) => seenOf(response));
}

function seenOf(response: string): Seen {
  const end = response.indexOf('\r\n\r\n') + 4;
  const status = Number(response.slice(9, 12));
  const body = response.slice(end);
  if (!/^transfer-encoding: chunked/im.test(response.slice(0, end))) return { status, body };
  const whole = /^(?:5\r\n(hello)\r\n)?0\r\n\r\n$/.exec(body);
  if (whole !== null) return { status, body: whole[1] ?? '' };
  return { status, body: body.replace(/^5\r\n(hello)\r\n$/, '$1'), cut: true };
}

describe.each([
  ['http', 'GET'],
  ['http', 'POST'],
  ['https', 'GET'],
])('an agent that responds over %s to %s with', (scheme, method) => {
  let tls: TlsIdentity | undefined;
  beforeAll(async () => {
    if (scheme === 'https') tls = await issueTlsIdentity();
  });
  let rig: ProxyRig;
  let bytes: string;
  /** The agent's newest connection. */
  let connection: Socket;
  let closes: boolean;
  beforeEach(async () => {
    closes = false;
    rig = await startRawRig(
      (socket) => eachRequest(socket, (request) => respond(socket, request)),
      tls === undefined ? {} : { tls },
    );
  });
  afterEach(async () => {
    await rig.close();
  });

  function respond(socket: Socket, request: string): void {
    const path = /^\w+ (\S+) /.exec(request)?.[1];
    if (path === undefined) return;
    if (path === '/other') {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello');
      return;
    }
    connection = socket;
    socket.write(bytes, 'latin1');
    if (closes) socket.end();
  }

  /** Waits until the proxy closes the agent's connection, so that extra bytes are not used as the next response. */
  async function agentConnectionClosed(): Promise<void> {
    if (!connection.destroyed) await once(connection, 'close');
  }

  /** Checks that the next requests of other clients get their own responses. */
  async function expectOthersUnharmed(): Promise<void> {
    for (let i = 0; i < 3; i += 1) expect(await ask(rig.port, method, '/other')).toEqual([HELLO]);
    await until(() => rig.audit.ring.newest().every(({ outcome }) => outcome !== undefined));
    const statuses = rig.audit.ring.newest().map(({ path, statusCode }) => [path, statusCode]);
    expect(statuses.slice(1)).toEqual([
      ['/other', 200],
      ['/other', 200],
      ['/other', 200],
    ]);
  }

  test.each([...HEADS, ...BODIES, ...INFORMATION, ...POISONED])('%s', async (...[title, sent, seen]: Row) => {
    bytes = sent;
    closes = title === 'chunks without a last chunk' || title === 'HTTP/0.9';
    expect(await ask(rig.port, method, '/first')).toEqual([expect.objectContaining(seen)]);
    if (POISONED.some(([poisoned]) => poisoned === title)) await agentConnectionClosed();
    await expectOthersUnharmed();
  });

  test.each(POISONED)('%s, a while after the response', async (_title, sent, seen) => {
    const end = sent.indexOf('\r\n\r\n') + 4 + ('body' in seen ? (seen.body ?? '').length : 0);
    const cutAt = sent.startsWith('HTTP/1.1 200 OK\r\nTransfer') ? sent.indexOf(CHUNKS) + CHUNKS.length : end;
    bytes = sent.slice(0, cutAt);
    expect(await ask(rig.port, method, '/first')).toEqual([expect.objectContaining(seen)]);
    if (!connection.destroyed) connection.write(sent.slice(cutAt), 'latin1');
    await agentConnectionClosed();
    await expectOthersUnharmed();
  });

  test('a body in response to HEAD', async () => {
    bytes = sized(CL);
    expect(await ask(rig.port, 'HEAD', '/first')).toEqual([EMPTY]);
    await agentConnectionClosed();
    await expectOthersUnharmed();
  });
});
