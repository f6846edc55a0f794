import { METHODS } from 'node:http';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { MODES, startClientRig, type ClientRig } from '../../testing/client-rig.ts';
import fc from '../../testing/properties.ts';

type Field = [name: string, value: string];

/** One message as it was on the wire; text is latin-1, a character a byte. */
interface Message {
  startLine: string;
  headers: Field[];
  body: string;
  trailers: Field[];
  /** Bytes of the wire that it took. */
  length: number;
}

const HEAD_END = '\r\n\r\n';
const fieldsOf = (lines: string[]): Field[] =>
  lines.map((line) => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon), withoutBlanksAround(line.slice(colon + 1))];
  });
const valueOf = (fields: Field[], lower: string): string | undefined =>
  fields.find(([name]) => name.toLowerCase() === lower)?.[1];

/** A reading of HTTP/1.1 of its own, so that no parser of the proxy checks itself. null: not whole yet. */
function read(wire: string, { isBodiless = false, isClosed = false } = {}): Message | null {
  const end = wire.indexOf(HEAD_END);
  if (end < 0) return null;
  const [startLine = '', ...lines] = wire.slice(0, end).split('\r\n');
  const headers = fieldsOf(lines);
  const start = end + HEAD_END.length;
  const message = { startLine, headers, body: '', trailers: [], length: start };
  if (isBodiless) return message;
  if (valueOf(headers, 'transfer-encoding') === 'chunked') return readChunks(wire, message);
  const length = valueOf(headers, 'content-length');
  if (length === undefined && !isClosed) return startLine.startsWith('HTTP/') ? null : message;
  const stop = length === undefined ? wire.length : start + Number(length);
  return wire.length < stop ? null : { ...message, body: wire.slice(start, stop), length: stop };
}

function readChunks(wire: string, message: Message): Message | null {
  let at = message.length;
  let body = '';
  for (;;) {
    const lineEnd = wire.indexOf('\r\n', at);
    if (lineEnd < 0) return null;
    const size = parseInt(wire.slice(at, lineEnd), 16);
    const start = lineEnd + 2;
    if (size > 0) {
      if (wire.length < start + size + 2) return null;
      body += wire.slice(start, start + size);
      at = start + size + 2;
      continue;
    }
    if (wire.startsWith('\r\n', start)) return { ...message, body, length: start + 2 };
    const end = wire.indexOf(HEAD_END, start);
    if (end < 0) return null;
    return { ...message, body, trailers: fieldsOf(wire.slice(start, end).split('\r\n')), length: end + 4 };
  }
}

/** Spoken by a connection or by the proxy itself, or rewritten by it; made on purpose below, never by chance. */
const RESERVED = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'transfer-encoding',
  'upgrade',
  'content-length',
  'trailer',
  'x-request-id',
]);
/** What the sidecar tells an agent of the client, and what frames a request. */
const TOLD = new Set([
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-proto',
  'forwarded',
  'x-request-id',
]);
const ADDED = new Set(['connection', 'keep-alive', 'transfer-encoding', 'x-request-id']);

const pickFrom = (characters: string, size: fc.StringConstraints = {}) =>
  fc.string({ unit: fc.constantFrom(...characters), ...size });
const ALNUM = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
const PRINTABLE = Array.from({ length: 94 }, (_, i) => String.fromCharCode(33 + i)).join('');
const latin1 = fc.uint8Array({ maxLength: 3_000 }).map((bytes) => Buffer.from(bytes).toString('latin1'));

const fieldName = fc
  .oneof(
    pickFrom(`${ALNUM}!#$%&'*+-.^_\`|~`, { minLength: 1, maxLength: 20 }),
    fc.constantFrom(
      'Content-Type',
      'ETag',
      'Set-Cookie',
      'Vary',
      'Date',
      'Server',
      'constructor',
      '__proto__',
    ),
  )
  .filter((name) => !RESERVED.has(name.toLowerCase()) && !/^x[-_]platform[-_]/i.test(name));
/** obs-text of RFC 9110, section 5.5: opaque bytes. */
const OBS_TEXT = Array.from({ length: 128 }, (_, i) => String.fromCharCode(128 + i)).join('');
const withoutBlanksAround = (text: string) => text.replace(/^[ \t]+|[ \t]+$/g, '');
const fieldValue = pickFrom(`${PRINTABLE} \t${OBS_TEXT}`, { maxLength: 60 }).map(withoutBlanksAround);
const fields = fc.array(fc.tuple(fieldName, fieldValue), { maxLength: 8 });

/** What the client must not see. */
const hopByHop = fc.subarray<Field>([
  ['Keep-Alive', 'timeout=5'],
  ['Connection', 'X-Hop'],
  ['X-Hop', '1'],
  ['Proxy-Authenticate', 'Basic'],
  ['X-Platform-Anything', 'pii-detector'],
  ['x_platform_other', 'pay'],
]);

const body = fc.record({
  framing: fc.constantFrom('none', 'length', 'chunked'),
  chunks: fc.array(
    latin1.filter((chunk) => chunk !== ''),
    { maxLength: 6 },
  ),
  extension: fc.constantFrom('', ';a', ';a="b c"'),
  trailers: fields,
});
type Body = typeof body extends fc.Arbitrary<infer T> ? T : never;

const scenario = fc.record({
  method: fc.constantFrom(...METHODS.filter((method) => method !== 'CONNECT')),
  target: pickFrom(PRINTABLE.replace('#', ''), { maxLength: 60 }).map((rest) => `/${rest}`),
  asks: fields,
  request: body,
  status: fc.integer({ min: 200, max: 599 }),
  reason: pickFrom(`${ALNUM} `, { maxLength: 20 }).map(withoutBlanksAround),
  headers: fields,
  hop: hopByHop,
  answer: body,
  /** How many bytes the agent writes at once; all when 0. */
  writes: fc.constantFrom(0, 1, 7, 100, 1_000),
});
type Scenario = typeof scenario extends fc.Arbitrary<infer T> ? T : never;

const linesOf = (list: Field[]): string => list.map(([name, value]) => `${name}: ${value}\r\n`).join('');

function chunked({ chunks, extension, trailers }: Body): string {
  const parts = chunks.map((chunk) => `${chunk.length.toString(16)}${extension}\r\n${chunk}\r\n`);
  return `${parts.join('')}0\r\n${linesOf(trailers)}\r\n`;
}

const isBodiless = ({ method, status }: Scenario): boolean =>
  method === 'HEAD' || status === 204 || status === 304;

/** Its framing headers and its bytes. `none` ends with the connection in an answer, and is no body in a request. */
function framed(message: Body): { headers: Field[]; bytes: string } {
  const whole = message.chunks.join('');
  if (message.framing === 'length')
    return { headers: [['Content-Length', String(whole.length)]], bytes: whole };
  if (message.framing === 'none') return { headers: [], bytes: whole };
  return { headers: [['Transfer-Encoding', 'chunked']], bytes: chunked(message) };
}

function answerOf(play: Scenario): string {
  const { headers, bytes } = framed(play.answer);
  const head = linesOf([...play.headers, ...play.hop, ...headers]);
  return `HTTP/1.1 ${play.status} ${play.reason}\r\n${head}\r\n${isBodiless(play) ? '' : bytes}`;
}

function requestOf({ method, target, asks, request }: Scenario): string {
  const { headers, bytes } = framed(request);
  const head = linesOf([['Host', 'agent.example'], ['Connection', 'close'], ...asks, ...headers]);
  return `${method} ${target} HTTP/1.1\r\n${head}\r\n${request.framing === 'none' ? '' : bytes}`;
}

/** By name in lower case, in the order in which lines of one name came. */
const sorted = (list: Field[]): Field[] =>
  list
    .map(([name, value]): Field => [name.toLowerCase(), value])
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));

describe.each(MODES)('whatever an agent answers, in mode %s', (mode) => {
  let agent: Server;
  let rig: ClientRig;
  const sockets = new Set<Socket>();
  let play: Scenario;
  let seen: Message[];

  const serve = (socket: Socket): void => {
    let wire = '';
    sockets.add(socket);
    socket.setNoDelay();
    socket.on('error', () => socket.destroy()).on('close', () => sockets.delete(socket));
    socket.setEncoding('latin1').on('data', (text: string) => {
      wire += text;
      const message = read(wire);
      if (message === null) return;
      wire = wire.slice(message.length);
      seen.push(message);
      void say(socket);
    });
  };

  async function say(socket: Socket): Promise<void> {
    const { writes, answer } = play;
    const bytes = answerOf(play);
    const isEnd = answer.framing === 'none' && !isBodiless(play);
    // Some first writes one by one are enough to cut through every part of a head.
    let at = 0;
    for (let i = 0; writes > 0 && i < 50 && at < bytes.length; i += 1, at += writes) {
      socket.write(bytes.slice(at, at + writes), 'latin1');
      await new Promise((resolve) => setImmediate(resolve));
    }
    socket.write(bytes.slice(at), 'latin1');
    if (isEnd) socket.end();
  }

  beforeEach(async () => {
    agent = createServer(serve);
    await new Promise<void>((resolve) => agent.listen(0, '127.0.0.1', resolve));
    rig = await startClientRig(`http://127.0.0.1:${(agent.address() as AddressInfo).port}`, { mode });
  });
  afterEach(async () => {
    await rig.close();
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => agent.close(resolve));
  });

  function speak(bytes: string): Promise<string> {
    return new Promise((resolve, reject) => {
      let wire = '';
      const socket = connect(Number(new URL(rig.url).port), '127.0.0.1', () => socket.write(bytes, 'latin1'));
      socket.setEncoding('latin1').on('data', (text: string) => (wire += text));
      socket.on('close', () => resolve(wire)).on('error', reject);
    });
  }

  test('the client sees its status, headers, body and trailers, and the agent the client’s request', async () => {
    const property = fc.asyncProperty(scenario, async (one) => {
      play = one;
      seen = [];
      const wire = await speak(requestOf(one));
      const got = read(wire, { isBodiless: isBodiless(one), isClosed: true });
      const { answer, request } = one;
      const hasTrailers = answer.framing === 'chunked' && !isBodiless(one);
      const length = answer.framing === 'length' ? framed(answer).headers : [];
      // Who forwards an answer without a date gives it one (RFC 9110 section 6.6.1).
      const added = valueOf(one.headers, 'date') === undefined ? new Set([...ADDED, 'date']) : ADDED;
      const isListed = one.hop.some(([name]) => name === 'Connection');
      const isHop = one.hop.some(([name]) => name === 'X-Hop');
      expect({
        startLine: got?.startLine,
        headers: sorted(got?.headers ?? []).filter(([name]) => !added.has(name)),
        body: got?.body,
        trailers: sorted(got?.trailers ?? []),
        rest: wire.slice(got?.length ?? 0),
      }).toEqual({
        startLine: `HTTP/1.1 ${one.status} ${one.reason}`,
        // Only a Connection header that lists it makes X-Hop one of the connection's.
        headers: sorted([
          ...one.headers,
          ...length,
          ...(isHop && !isListed ? [['X-Hop', '1'] as Field] : []),
        ]),
        body: isBodiless(one) ? '' : answer.chunks.join(''),
        trailers: hasTrailers ? sorted(answer.trailers) : [],
        rest: '',
      });
      const isRead = request.framing !== 'none';
      expect(
        seen.map(({ length: _length, headers, ...rest }) => ({
          ...rest,
          headers: sorted(headers).filter(([name]) => !TOLD.has(name)),
        })),
      ).toEqual([
        {
          startLine: `${one.method} ${one.target} HTTP/1.1`,
          headers: sorted(one.asks),
          body: isRead ? request.chunks.join('') : '',
          // The one of the names above that a request may not have there.
          trailers:
            request.framing === 'chunked'
              ? request.trailers.filter(([name]) => name.toLowerCase() !== 'content-type')
              : [],
        },
      ]);
    });
    await fc.assert(property, { numRuns: 200 });
  });
});
