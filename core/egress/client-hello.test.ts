import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { connect, type ConnectionOptions } from 'node:tls';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { diceOf } from '../../testing/random/dice.ts';
import { SEED } from '../../testing/random/seed.ts';
import { MAX_HELLO_BYTES, MAX_PREFIX_BYTES, readClientHello } from './client-hello.ts';
import { helloProblem, parseConnectTarget } from './connect-target.ts';

const CASES = process.env['SOAK'] === '1' ? 1_000_000 : 5_000;

/** The first bytes that a TLS client of Node.js sends. */
async function helloOf(options: ConnectionOptions): Promise<Buffer> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', ...options });
  client.on('error', () => undefined);
  const [socket] = (await once(server, 'connection')) as [Socket];
  const [bytes] = (await once(socket, 'data')) as [Buffer];
  client.destroy();
  socket.destroy();
  server.close();
  return bytes;
}

let real: Buffer;
beforeAll(async () => {
  real = await helloOf({ servername: 'API.Example.com' });
});

interface Extension {
  type: number;
  content: Buffer;
}

const sized = (bytes: number, content: Buffer): Buffer => {
  const size = Buffer.alloc(bytes);
  size.writeUIntBE(content.length, 0, bytes);
  return Buffer.concat([size, content]);
};
const serverName = (name: string, type = 0): Extension => ({
  type: 0,
  content: sized(2, Buffer.concat([Buffer.from([type]), sized(2, Buffer.from(name))])),
});
const record = (content: Buffer, type = 22): Buffer =>
  Buffer.concat([Buffer.from([type, 3, 1]), sized(2, content)]);

/** A handshake message; `extensions` null: none at all. */
function message(extensions: Extension[] | null): Buffer {
  const list = (extensions ?? []).map(({ type, content }) => {
    const head = Buffer.alloc(2);
    head.writeUInt16BE(type);
    return Buffer.concat([head, sized(2, content)]);
  });
  const body = Buffer.concat([
    ...[
      Buffer.from([3, 3]),
      Buffer.alloc(32, 7),
      sized(1, Buffer.alloc(32)),
      sized(2, Buffer.from([0x13, 1])),
    ],
    ...[sized(1, Buffer.from([0])), extensions === null ? Buffer.alloc(0) : sized(2, Buffer.concat(list))],
  ]);
  return Buffer.concat([Buffer.from([1]), sized(3, body)]);
}

/** The message in records with these numbers of bytes; the rest in one. */
function fragments(whole: Buffer, sizes: number[]): Buffer {
  const parts: Buffer[] = [];
  let at = 0;
  for (const size of [...sizes, whole.length]) {
    if (at < whole.length) parts.push(record(whole.subarray(at, at + size)));
    at += size;
  }
  return Buffer.concat(parts);
}

describe('a ClientHello', () => {
  test('of Node.js has its server name in lower case', () => {
    expect(readClientHello(real)).toEqual({
      kind: 'hello',
      serverName: 'api.example.com',
      hasEncryptedHello: false,
    });
  });

  test('of Node.js to an IP address has no server name', async () => {
    expect(readClientHello(await helloOf({}))).toMatchObject({ kind: 'hello', serverName: null });
  });

  test('needs all of its bytes', () => {
    for (let length = 0; length < real.length; length++)
      expect(readClientHello(real.subarray(0, length)).kind).toBe('incomplete');
    expect(readClientHello(Buffer.concat([real, Buffer.from('more')])).kind).toBe('hello');
  });

  const named = message([serverName('a.example'), { type: 43, content: Buffer.from([2, 3, 4]) }]);

  test.each([[[1]], [[4]], [[1, 1, 1, 1, 1]], [[5, 60]], [Array.from({ length: 200 }, () => 1)]])(
    'may span records of %j bytes',
    (sizes) => {
      expect(readClientHello(fragments(named, sizes))).toMatchObject({
        kind: 'hello',
        serverName: 'a.example',
      });
    },
  );

  test('may have an encrypted inner message', () => {
    const hello = record(
      message([serverName('public.example'), { type: 0xfe0d, content: Buffer.alloc(200) }]),
    );
    expect(readClientHello(hello)).toEqual({
      kind: 'hello',
      serverName: 'public.example',
      hasEncryptedHello: true,
    });
  });

  test.each<[what: string, bytes: Buffer, kind: string]>([
    ['nothing', Buffer.alloc(0), 'incomplete'],
    ['a message without extensions', record(message(null)), 'hello'],
    ['a message with an empty list of extensions', record(message([])), 'hello'],
    ['HTTP', Buffer.from('GET / HTTP/1.1\r\n'), 'not-tls'],
    ['SSH', Buffer.from('SSH-2.0-x\r\n'), 'not-tls'],
    ['a zero', Buffer.from([0]), 'not-tls'],
    ['SSL 2', Buffer.from([0x80, 0x2e, 1, 3, 1]), 'not-tls'],
    ['another major version', Buffer.from([22, 2, 0, 0, 5]), 'not-tls'],
    ['a final dot', record(message([serverName('a.example.')])), 'hello'],
    ['an empty record', record(Buffer.alloc(0)), 'malformed'],
    ['a record above the limit', Buffer.from([22, 3, 1, 0x40, 1]), 'malformed'],
    ['another handshake message', record(Buffer.from([2, 0, 0, 1, 0])), 'malformed'],
    [
      'a record of another type after the first',
      Buffer.concat([record(named.subarray(0, 20)), record(Buffer.from('x'), 23)]),
      'malformed',
    ],
    [
      'a message above the limit',
      record(Buffer.concat([Buffer.from([1, 0, 0x40, 1]), Buffer.alloc(100)])),
      'malformed',
    ],
    ['two server names', record(message([serverName('a.example'), serverName('b.example')])), 'malformed'],
    ['a name of another type', record(message([serverName('a.example', 1)])), 'malformed'],
    ['an empty name', record(message([serverName('')])), 'malformed'],
    ['a name with a control character', record(message([serverName('a\0.example')])), 'malformed'],
    [
      'an empty list of names',
      record(message([{ type: 0, content: sized(2, Buffer.alloc(0)) }])),
      'malformed',
    ],
    [
      'a list of names with more bytes',
      record(message([{ type: 0, content: Buffer.concat([serverName('a').content, Buffer.from([0])]) }])),
      'malformed',
    ],
    [
      'bytes after the extensions',
      record(
        Buffer.concat([
          Buffer.from([1]),
          sized(3, Buffer.concat([message([]).subarray(4), Buffer.from([0])])),
        ]),
      ),
      'malformed',
    ],
    [
      'fields that are too long',
      record(Buffer.concat([Buffer.from([1]), sized(3, Buffer.alloc(40, 255))])),
      'malformed',
    ],
  ])('in %s', (_what, bytes, kind) => {
    expect(readClientHello(bytes).kind).toBe(kind);
  });

  test('is never waited for without a limit', () => {
    const small = Buffer.concat(Array.from({ length: MAX_HELLO_BYTES }, () => record(Buffer.from([1]))));
    expect(readClientHello(small.subarray(0, MAX_PREFIX_BYTES + 1)).kind).toBe('malformed');
    const slow = Buffer.concat([
      record(Buffer.from([1, 0, 0x3f, 0xf0])),
      record(Buffer.alloc(1)),
      Buffer.alloc(0),
    ]);
    expect(readClientHello(slow).kind).toBe('incomplete');
  });

  test(`never throws and never has another name after ${CASES} mutations`, () => {
    const dice = diceOf(SEED);
    const samples = [real, record(named), fragments(named, [3, 1, 40])];
    const kinds = new Set<string>();
    for (let index = 0; index < CASES; index++) {
      const bytes = Buffer.from(samples[index % samples.length] ?? real);
      for (let change = 0; change <= dice() * 4; change++)
        bytes[Math.floor(dice() * bytes.length)] = Math.floor(dice() * 256);
      const hello = readClientHello(dice() < 0.3 ? bytes.subarray(0, dice() * bytes.length) : bytes);
      kinds.add(hello.kind);
      if (hello.kind === 'hello' && hello.serverName !== null)
        expect(hello.serverName).toMatch(/^[\x21-\x7e]*$/);
    }
    expect([...kinds].toSorted()).toEqual(['hello', 'incomplete', 'malformed', 'not-tls']);
  });
});

describe('the target of CONNECT', () => {
  test.each([
    ['api.example.com:443', { host: 'api.example.com', port: 443 }],
    ['API.Example.com.:8443', { host: 'api.example.com', port: 8443 }],
    ['my_service:80', { host: 'my_service', port: 80 }],
    ['192.0.2.1:443', { host: '192.0.2.1', port: 443 }],
    ['[2001:DB8::1]:443', { host: '2001:db8::1', port: 443 }],
    ['api.example.com', null],
    ['api.example.com:0', null],
    ['api.example.com:65536', null],
    ['api.example.com:44x', null],
    [':443', null],
    ['.:443', null],
    ['http://api.example.com:443', null],
    ['user@api.example.com:443', null],
    ['2001:db8::1:443', null],
    ['a b:443', null],
    ['/', null],
  ])('%s is %j', (text, expected) => {
    expect(parseConnectTarget(text)).toEqual(expected);
  });
});

describe('the rule for the first bytes of a tunnel', () => {
  const hello = (name: string | null, hasEncryptedHello = false) =>
    ({ kind: 'hello', serverName: name, hasEncryptedHello }) as const;
  const isDeclared = (host: string): boolean => host === 'declared.example';

  test.each<
    [host: string, port: number, hello: Parameters<typeof helloProblem>[0]['hello'], problem: string | null]
  >([
    ['api.example', 443, hello('api.example'), null],
    ['api.example', 5000, hello('api.example'), null],
    ['api.example', 443, hello('api.example', true), null],
    ['api.example', 443, hello('other.example'), 'the TLS handshake has the name of another server'],
    ['api.example', 443, hello('declared.example'), 'the TLS handshake has the name of another server'],
    ['api.example', 443, hello('cdn.example', true), 'the server name of the TLS handshake is encrypted'],
    ['api.example', 443, hello(null), 'the TLS handshake has no server name'],
    ['api.example', 443, { kind: 'malformed' }, 'the TLS handshake is not valid'],
    ['api.example', 5432, { kind: 'malformed' }, 'the TLS handshake is not valid'],
    ['api.example', 443, { kind: 'not-tls' }, 'the connection to port 443 does not use TLS'],
    ['api.example', 8443, { kind: 'not-tls' }, 'the connection to port 8443 does not use TLS'],
    ['api.example', 5432, { kind: 'not-tls' }, null],
    ['192.0.2.1', 443, hello(null), null],
    ['192.0.2.1', 443, hello('declared.example'), null],
    ['192.0.2.1', 443, hello('other.example'), 'the TLS handshake has the name of another server'],
  ])('to %s:%s with %j: %s', (host, port, first, problem) => {
    const isIpAddress = host.startsWith('192');
    expect(helloProblem({ target: { host, port }, isIpAddress, hello: first, isDeclared })).toBe(problem);
  });
});
