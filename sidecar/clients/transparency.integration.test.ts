import { METHODS } from 'node:http';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { MODES, startClientRig, type ClientRig } from '../../testing/sidecar/client-rig.ts';
import fc from '../../testing/random/properties.ts';

type Field = [name: string, value: string];

/** One message as sent on the wire. Text is latin-1, one character per byte. */
interface Message {
  startLine: string;
  headers: Field[];
  body: string;
  trailers: Field[];
  /** Length of the message on the wire in bytes. */
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

/** An independent HTTP/1.1 parser, so that no parser of the proxy checks itself. null: the message is not complete yet. */
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

/** Hop-by-hop headers, and headers that the proxy adds or rewrites. The random headers do not include these names. */
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
/** Headers of a request that the sidecar adds or that frame the request. */
const ADDED_TO_REQUESTS = new Set([
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
const ADDED_TO_RESPONSES = new Set(['connection', 'keep-alive', 'transfer-encoding', 'x-request-id']);

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

/** Headers that the client must not receive. */
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
  requestFields: fields,
  request: body,
  status: fc.integer({ min: 200, max: 599 }),
  reason: pickFrom(`${ALNUM} `, { maxLength: 20 }).map(withoutBlanksAround),
  headers: fields,
  hop: hopByHop,
  response: body,
  /** Number of bytes per write of the agent; 0: everything in one write. */
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

/** Framing headers and bytes of a body. `none`: a response ends with its connection, and a request has no body. */
function framed(message: Body): { headers: Field[]; bytes: string } {
  const whole = message.chunks.join('');
  if (message.framing === 'length')
    return { headers: [['Content-Length', String(whole.length)]], bytes: whole };
  if (message.framing === 'none') return { headers: [], bytes: whole };
  return { headers: [['Transfer-Encoding', 'chunked']], bytes: chunked(message) };
}

function responseOf(play: Scenario): string {
  const { headers, bytes } = framed(play.response);
  const head = linesOf([...play.headers, ...play.hop, ...headers]);
  return `HTTP/1.1 ${play.status} ${play.reason}\r\n${head}\r\n${isBodiless(play) ? '' : bytes}`;
}

function requestOf({ method, target, requestFields, request }: Scenario): string {
  const { headers, bytes } = framed(request);
  const head = linesOf([['Host', 'agent.example'], ['Connection', 'close'], ...requestFields, ...headers]);
  return `${method} ${target} HTTP/1.1\r\n${head}\r\n${request.framing === 'none' ? '' : bytes}`;
}

/** Sorted by lower-case name. Lines with the same name keep their order. */
const sorted = (list: Field[]): Field[] =>
  list
    .map(([name, value]): Field => [name.toLowerCase(), value])
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));

describe.each(MODES)('for random requests and responses, in mode %s', (mode) => {
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
      void respond(socket);
    });
  };

  async function respond(socket: Socket): Promise<void> {
    const { writes, response } = play;
    const bytes = responseOf(play);
    const isEnd = response.framing === 'none' && !isBodiless(play);
    // The first 50 writes are separate, which is enough to split every part of a head.
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

  function exchange(bytes: string): Promise<string> {
    return new Promise((resolve, reject) => {
      let wire = '';
      const socket = connect(Number(new URL(rig.url).port), '127.0.0.1', () => socket.write(bytes, 'latin1'));
      socket.setEncoding('latin1').on('data', (text: string) => (wire += text));
      socket.on('close', () => resolve(wire)).on('error', reject);
    });
  }

  test('the client receives the agent’s status, headers, body and trailers, and the agent the client’s request', async () => {
    const property = fc.asyncProperty(scenario, async (current) => {
      play = current;
      seen = [];
      const wire = await exchange(requestOf(current));
      const got = read(wire, { isBodiless: isBodiless(current), isClosed: true });
      const { response, request } = current;
      const hasTrailers = response.framing === 'chunked' && !isBodiless(current);
      const length = response.framing === 'length' ? framed(response).headers : [];
      // A proxy adds a date to a response without a date (RFC 9110 section 6.6.1).
      const added =
        valueOf(current.headers, 'date') === undefined
          ? new Set([...ADDED_TO_RESPONSES, 'date'])
          : ADDED_TO_RESPONSES;
      const isListed = current.hop.some(([name]) => name === 'Connection');
      const isHop = current.hop.some(([name]) => name === 'X-Hop');
      expect({
        startLine: got?.startLine,
        headers: sorted(got?.headers ?? []).filter(([name]) => !added.has(name)),
        body: got?.body,
        trailers: sorted(got?.trailers ?? []),
        rest: wire.slice(got?.length ?? 0),
      }).toEqual({
        startLine: `HTTP/1.1 ${current.status} ${current.reason}`,
        // X-Hop is a hop-by-hop header only if a Connection header lists it.
        headers: sorted([
          ...current.headers,
          ...length,
          ...(isHop && !isListed ? [['X-Hop', '1'] as Field] : []),
        ]),
        body: isBodiless(current) ? '' : response.chunks.join(''),
        trailers: hasTrailers ? sorted(response.trailers) : [],
        rest: '',
      });
      const isRead = request.framing !== 'none';
      expect(
        seen.map(({ length: _length, headers, ...rest }) => ({
          ...rest,
          headers: sorted(headers).filter(([name]) => !ADDED_TO_REQUESTS.has(name)),
        })),
      ).toEqual([
        {
          startLine: `${current.method} ${current.target} HTTP/1.1`,
          headers: sorted(current.requestFields),
          body: isRead ? request.chunks.join('') : '',
          // Of the names above, only Content-Type is not allowed in request trailers.
          trailers:
            request.framing === 'chunked'
              ? request.trailers.filter(([name]) => name.toLowerCase() !== 'content-type')
              : [],
        },
      ]);
    });
    await fc.assert(property, { numRuns: 80 });
  });
});
