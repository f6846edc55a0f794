import { createServer, type IncomingMessage, type Server } from 'node:http';
import { Duplex } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { KnownLines } from '../../core/untrusted/known-lines.ts';
import { diceOf } from '../../testing/random/dice.ts';
import { generatedRequest } from '../../testing/http/generated-requests.ts';
import { IN_SOAK } from '../../testing/time/real-time.ts';
import { SEED } from '../../testing/random/seed.ts';
import { frame, type Framed } from '../proxy/framing.ts';
import { readPlainRequest, type PlainLine } from './read-plain-request.ts';

/** Number of requests. `make soak` uses a million, but not in its run with fault injection, which does not affect a parser. */
const REQUESTS = IN_SOAK && process.env['FAULTS'] === undefined ? 1_000_000 : 20_000;

/** A request as node:http reads it. */
interface ReadRequest {
  method: string | undefined;
  rawHeaders: readonly string[];
  framed: Framed;
  body: string;
}

/** Follows each request, so that node:http also shows where it ends. */
const NEXT = 'GET /next HTTP/1.1\r\nHost: next.example\r\n\r\n';

let server: Server;
/** Gets the requests that node:http reads, in order. */
let onRead: (read: Promise<ReadRequest>) => void;
/** Gets everything else: errors and switched protocols. */
let onOther: (what: string) => void;

beforeAll(() => {
  server = createServer({ requireHostHeader: false });
  const onRequest = (request: IncomingMessage): void => {
    const { method, rawHeaders } = request;
    const framed = frame(request);
    onRead(buffer(request).then((body) => ({ method, rawHeaders, framed, body: body.toString('latin1') })));
  };
  server.on('request', onRequest).on('checkContinue', onRequest).on('checkExpectation', onRequest);
  server.on('upgrade', () => onOther('upgrade')).on('connect', () => onOther('CONNECT'));
  server.on('clientError', ({ code }: NodeJS.ErrnoException) => onOther(code ?? 'error'));
});
afterAll(() => {
  server.closeAllConnections();
});

/** The request as node:http reads it, and the one that follows; or what node:http reports instead. */
async function readWithNode(bytes: Buffer): Promise<ReadRequest[] | string> {
  const read: Promise<ReadRequest>[] = [];
  const socket = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
  const result = new Promise<ReadRequest[] | string>((resolve) => {
    onOther = resolve;
    onRead = (each) => {
      read.push(each);
      if (read.length === 2) resolve(Promise.all(read));
    };
  });
  server.emit('connection', socket);
  socket.push(Buffer.concat([bytes, Buffer.from(NEXT)]));
  const all = await result;
  socket.destroy();
  return all;
}

const NEXT_READ: ReadRequest = {
  method: 'GET',
  rawHeaders: ['Host', 'next.example'],
  framed: { ok: true, path: '/next', host: 'next.example', body: 'none', bodyBytes: 0 },
  body: '',
};

test(`accepts of ${REQUESTS} generated requests only those that node:http reads in the same way`, async () => {
  const dice = diceOf(SEED);
  // Every request is compared with the lines of those before it.
  const lines = new KnownLines<PlainLine>();
  const counts = { accepted: 0, withBody: 0, incomplete: 0, leftToNode: 0 };
  for (let i = 0; i < REQUESTS; i += 1) {
    const wire = generatedRequest(dice);
    const sent = Buffer.from(wire, 'latin1');
    const plain = readPlainRequest(sent, sent.length, lines);
    if (plain === null) {
      counts.leftToNode += 1;
      continue;
    }
    const { method, target, host, rawHeaders, bodyAt, bodyBytes, missing } = plain;
    // A body of which a part is missing: any bytes may follow.
    const bytes = Buffer.from(wire + '\r\n0'.repeat(missing).slice(0, missing), 'latin1');
    expect(readPlainRequest(bytes, bytes.length, lines)).toEqual({ ...plain, missing: 0 });
    const framed = { ok: true, path: target, host, body: bodyBytes === 0 ? 'none' : 'sized', bodyBytes };
    const body = bytes.toString('latin1', bodyAt);
    const other = await readWithNode(bytes);
    if (JSON.stringify(other) !== JSON.stringify([{ method, rawHeaders, framed, body }, NEXT_READ]))
      throw new Error(`node:http reads this differently: ${JSON.stringify({ wire, plain, other })}`);
    counts.accepted += 1;
    if (bodyBytes > 0) counts.withBody += 1;
    if (missing > 0) counts.incomplete += 1;
  }
  process.stdout.write(`${JSON.stringify(counts)}\n`);
  // The generator covers every outcome.
  expect(counts.accepted).toBeGreaterThan(REQUESTS / 5);
  expect(counts.withBody).toBeGreaterThan(REQUESTS / 20);
  expect(counts.incomplete).toBeGreaterThan(REQUESTS / 1_000);
  expect(counts.leftToNode).toBeGreaterThan(REQUESTS / 5);
}, 3_600_000);
