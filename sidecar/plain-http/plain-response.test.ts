import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { diceOf } from '../../testing/random/dice.ts';
import { generatedResponse } from '../../testing/http/generated-responses.ts';
import { startRawRig, type ProxyRig, type RigOptions } from '../../testing/sidecar/proxy-rig.ts';
import { until } from '../../testing/time/until.ts';
import { readWithNode } from '../../testing/http/response-parsers.ts';
import { SEED } from '../../testing/random/seed.ts';

let rig: ProxyRig | undefined;
afterEach(() => rig?.close());

const REQUEST = 'GET /a HTTP/1.1\r\nHost: a\r\n';
/** The first request is plain. The header of the second is dropped, and node:http handles the request. */
const REQUESTS = [`${REQUEST}\r\n`, `${REQUEST}TE:\r\n\r\n`];
const RESPONSES = 300;
const READ_BYTES = 64 * 1024;

/** Sends the request on a new connection. Returns all bytes of the response. */
async function responseTo(port: number, request: string): Promise<string> {
  let text = '';
  const socket = connect(port, '127.0.0.1').setEncoding('latin1');
  socket.write(request);
  const closed = once(socket, 'close');
  socket.on('data', (piece: string) => {
    text += piece;
    if (readWithNode('GET', [Buffer.from(text, 'latin1')]).isComplete) socket.destroy();
  });
  await closed;
  // Where chunks that are longer than one read are divided depends on the reads.
  const joined = text.length > READ_BYTES ? text.replaceAll(/\r\n[\da-f]+\r\n(?=\d)/g, '') : text;
  return joined
    .replaceAll(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, '<id>')
    .replaceAll(/^Date: .*GMT\r$/gm, 'Date: <now>\r');
}

/** As the agent sends it. A final response reports behavior, so that a policy engine judges it. */
const sent = (wire: string): Buffer =>
  Buffer.from(wire.replace(/^HTTP\/1\.[01] [2-5].*\r\n/m, '$&X-Platform-Tools-Called: refund\r\n'), 'latin1');
const HEAD = 'HTTP/1.1 200 OK\r\n';
/** `|`: the agent sends the next part later. */
const WIRES: readonly [title: string, wire: string][] = [
  ['no body', `${HEAD}Content-Length: 0\r\n\r\n`],
  ['a length', `${HEAD}content-length: 5\r\n\r\nhello`],
  ['a body in parts', `${HEAD}Content-Length: 10\r\n\r\n|hello|world`],
  ['chunks', `${HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`],
  ['chunks in parts', `${HEAD}Transfer-Encoding: chunked\r\n\r\n|5\r\nhello\r\n|5\r\nworld\r\n|0\r\n\r\n`],
  [
    'trailers',
    `${HEAD}Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n1\r\na\r\n0\r\nX-Sum: \xe4\r\n\r\n`,
  ],
  ['a body until the end of the connection', `${HEAD}\r\nhello`],
  ['HTTP/1.0', 'HTTP/1.0 200 OK\r\n\r\nhello'],
  ['204', 'HTTP/1.1 204 No Content\r\n\r\n'],
  ['204 with a length', 'HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n'],
  ['304', 'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\nContent-Length: 5\r\n\r\n'],
  ['205', 'HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n'],
  ['its own date', `${HEAD}date: Thu, 01 Jan 2026 00:00:00 GMT\r\nContent-Length: 0\r\n\r\n`],
  ['bytes above ASCII', 'HTTP/1.1 200 \xe4\r\nX-A: \xff\r\nContent-Length: 3\r\n\r\n\x00\xff\r'],
  ['repeated headers', `${HEAD}Set-Cookie: a\r\nSet-Cookie: b\r\nContent-Length: 0\r\n\r\n`],
  [
    'early hints',
    `HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n|${HEAD}Content-Length: 0\r\n\r\n`,
  ],
  [
    'two links',
    `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nX: 1\r\nLink: </b>; a=b\r\nX: 2\r\n\r\n|${HEAD}Content-Length: 0\r\n\r\n`,
  ],
  ['an invalid link', `HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n|${HEAD}Content-Length: 0\r\n\r\n`],
  ['processing', `HTTP/1.1 102 Processing\r\n\r\n|${HEAD}Content-Length: 0\r\n\r\n`],
  ['a long body', `${HEAD}Content-Length: 300000\r\n\r\n${'0123456789'.repeat(30_000)}`],
  [
    'long chunks',
    `${HEAD}Transfer-Encoding: chunked\r\n\r\n${`ea60\r\n${'0123456789'.repeat(6_000)}\r\n`.repeat(5)}0\r\n\r\n`,
  ],
  ['a body that is cut', `${HEAD}Content-Length: 10\r\n\r\nhello`],
  ['chunks that are cut', `${HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`],
  ['an invalid chunk', `${HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nx\r\n`],
  ['no response', ''],
  ['no HTTP', 'hello\r\n\r\n'],
];

/** Starts a proxy in front of an agent that sends the parts of `wire()` to each request, then ends the connection. */
async function startAgent(wire: () => string, options: RigOptions = {}): Promise<ProxyRig> {
  const send = async (socket: Socket): Promise<void> => {
    await once(socket, 'data');
    for (const part of wire().split('|')) {
      socket.write(sent(part));
      // Each part arrives in another turn of the event loop.
      for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
    }
    socket.end();
  };
  return startRawRig((socket) => void send(socket), options);
}

/**
 * Asks twice. Returns the responses and the entries, without what differs between any two requests: whether the second is sent on the
 * connection of the first, and again on another one, depends on when the proxy notices that the agent has ended it.
 */
async function askBoth({ port, audit }: ProxyRig): Promise<object[]> {
  const results: object[] = [];
  for (const request of REQUESTS) {
    const text = await responseTo(port, request);
    await until(() => audit.ring.newest(1)[0]?.outcome !== undefined, 'the entry');
    const {
      requestId: _id,
      seq: _seq,
      timestamp: _at,
      durationMs: _ms,
      retried: _retried,
      ...entry
    } = audit.ring.newest(1)[0]!;
    results.push({ text, entry });
  }
  return results;
}

const ENFORCED: RigOptions = {
  mode: 'enforce',
  engine: { evaluate: () => ({ state: 'answered', denials: ['pii_detector_not_invoked'] }) },
};
const WARNED: RigOptions = { ...ENFORCED, mode: 'track' };

describe.each<[string, RigOptions]>([
  ['no policy', {}],
  ['a denial that is only reported', WARNED],
  ['a denial', ENFORCED],
])('a plain request gets the same bytes as one that node:http handles, with %s', (_title, options) => {
  test.each(WIRES)('%s', async (_wire, wire) => {
    rig = await startAgent(() => wire, options);
    const [plain, node] = await askBoth(rig);
    expect(plain).toEqual(node);
  });

  test(`${RESPONSES} generated responses`, async () => {
    const dice = diceOf(SEED);
    let wire = '';
    rig = await startAgent(() => wire, options);
    for (let i = 0; i < RESPONSES; i += 1) {
      ({ wire } = generatedResponse(dice));
      wire = wire.replaceAll('|', '/');
      const [plain, node] = await askBoth(rig);
      expect({ wire, ...plain }).toEqual({ wire, ...node });
    }
  });
});
