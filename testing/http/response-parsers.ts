import { Duplex } from 'node:stream';
import { Client, type Dispatcher } from 'undici';
import { KnownLines, type HeaderLine } from '../../core/untrusted/known-lines.ts';
import { ResponseReader } from '../../sidecar/http-client/response-reader.ts';

/** One response as a client has read it. */
export interface ReadResponse {
  /** Status and fields of informational responses. */
  information: [status: number, fields: readonly string[]][];
  /** null: no valid head was received. */
  head: { status: number; message: string; fields: readonly string[] } | null;
  body: string;
  trailers: readonly string[];
  /** false: the response is invalid or incomplete. */
  isComplete: boolean;
  /** true: the client would use the connection for another request, if no bytes follow the response. */
  persists: boolean;
  /** Why the response is invalid or incomplete. */
  error: string;
}

const unread = (): ReadResponse => ({
  ...{ information: [], head: null, body: '', trailers: [], isComplete: false, persists: false, error: '' },
});

/** Every response is compared with the lines of those before it. */
const knownLines = new KnownLines<HeaderLine>();

/** Reads a response with the product's own client. The connection ends after the pieces. */
export function readWithOwnClient(method: string, pieces: readonly Buffer[]): ReadResponse {
  const read = unread();
  const reader = new ResponseReader(knownLines);
  const sink = {
    onInformation: (status: number, fields: readonly string[]) =>
      void read.information.push([status, fields]),
    onHead: (status: number, message: string, fields: readonly string[]) =>
      void (read.head = { status, message, fields }),
    onData: (chunk: Buffer) => void (read.body += chunk.toString('latin1')),
    onEnd: (fields: readonly string[]) => {
      read.trailers = fields;
      read.isComplete = true;
    },
  };
  reader.expect(sink, method);
  try {
    for (const piece of pieces) {
      if (reader.isOver) break;
      // The reader moves bytes inside its buffer.
      reader.read(Buffer.from(piece), piece.length);
    }
    reader.readEnd();
  } catch (error) {
    read.error = (error as Error).message;
  }
  read.persists = read.isComplete && reader.persists;
  return read;
}

/** The part of Node's internal parser that is used here. */
interface NodeParser {
  [callback: number]: unknown;
  initialize(type: number, resource: object): void;
  execute(bytes: Buffer): unknown;
  finish(): unknown;
  close(): void;
}
interface NodeParserClass {
  new (): NodeParser;
  RESPONSE: number;
  kOnHeaders: number;
  kOnHeadersComplete: number;
  kOnBody: number;
  kOnMessageComplete: number;
}

let nodeParser: NodeParserClass | undefined;
function nodeParserClass(): NodeParserClass {
  const internal = process.getBuiltinModule('_http_common') as unknown as { HTTPParser: NodeParserClass };
  return (nodeParser ??= internal.HTTPParser);
}

/** Reads a response with the parser of node:http. */
export function readWithNode(method: string, pieces: readonly Buffer[]): ReadResponse {
  const read = unread();
  const HTTPParser = nodeParserClass();
  const parser = new HTTPParser();
  parser.initialize(HTTPParser.RESPONSE, {});
  let fields: string[] = [];
  let isFinal = false;
  let isOver = false;
  parser[HTTPParser.kOnHeaders] = (more: string[]) => void fields.push(...more);
  parser[HTTPParser.kOnHeadersComplete] = (
    ...[, , head, , , status, message, isUpgrade, persists]: [
      ...[number, number, string[] | undefined, unknown, unknown, number, string, boolean, boolean],
    ]
  ): number => {
    const all = [...fields, ...(head ?? [])];
    fields = [];
    if (isOver) return 0;
    if (status === 101 || isUpgrade) {
      isOver = true;
      read.error = 'protocol switch';
      return 2;
    }
    if (status < 200) {
      read.information.push([status, all]);
      return 1;
    }
    isFinal = true;
    read.head = { status, message, fields: all };
    read.persists = persists;
    return method === 'HEAD' ? 1 : 0;
  };
  parser[HTTPParser.kOnBody] = (bytes: Buffer) => {
    if (!isOver) read.body += bytes.toString('latin1');
  };
  parser[HTTPParser.kOnMessageComplete] = () => {
    if (!isFinal || isOver) {
      fields = [];
      return;
    }
    isOver = true;
    read.trailers = fields;
    read.isComplete = true;
  };
  const fail = (result: unknown): void => {
    if (isOver || !(result instanceof Error || typeof result === 'object')) return;
    isOver = true;
    read.error = (result as Error | null)?.message ?? '';
  };
  for (const piece of pieces) if (!isOver) fail(parser.execute(piece));
  if (!isOver) fail(parser.finish());
  parser.close();
  return read;
}

interface UndiciParser {
  shouldKeepAlive: boolean;
  execute(bytes: Buffer): void;
}

/** undici's parser of a connection: the only member of its socket with this description. */
function undiciParserOf(socket: Duplex): UndiciParser | null {
  const key = Object.getOwnPropertySymbols(socket).find(({ description }) => description === 'parser');
  return key === undefined ? null : ((socket as unknown as Record<symbol, UndiciParser | null>)[key] ?? null);
}

/** Reads a response with undici. */
export async function readWithUndici(method: string, pieces: readonly Buffer[]): Promise<ReadResponse> {
  const read = unread();
  const socket = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
  socket.on('error', () => undefined);
  const client = new Client('http://agent', {
    connect: (_options, callback) => queueMicrotask(() => callback(null, socket as never)),
    bodyTimeout: 0,
    headersTimeout: 0,
  });
  let isStarted = false;
  let isOver = false;
  const texts = ({ rawHeaders, rawTrailers }: Dispatcher.DispatchController, isTrailers: boolean): string[] =>
    ((isTrailers ? rawTrailers : rawHeaders) as Buffer[]).map((bytes) => bytes.toString('latin1'));
  client.dispatch(
    { method, path: '/' },
    {
      onRequestStart: () => void (isStarted = true),
      onResponseStart: (controller, status, _headers, message = '') => {
        const fields = texts(controller, false);
        if (status < 200) read.information.push([status, fields]);
        else {
          read.head = { status, message, fields };
          read.persists = undiciParserOf(socket)?.shouldKeepAlive ?? false;
        }
      },
      onResponseData: (_controller, bytes) => void (read.body += bytes.toString('latin1')),
      onResponseEnd: (controller) => {
        isOver = true;
        read.isComplete = true;
        read.trailers = texts(controller, true);
      },
      onResponseError: (_controller, error) => {
        isOver = true;
        read.error = error.message;
      },
    },
  );
  // undici connects and sends the request in microtasks.
  while (!isStarted) await Promise.resolve();
  for (const piece of pieces) if (!isOver && !socket.destroyed) undiciParserOf(socket)?.execute(piece);
  if (!isOver && !socket.destroyed) socket.emit('end');
  await client.destroy();
  return read;
}
