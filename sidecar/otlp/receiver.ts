import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { decodeJson } from '../../core/otlp/decode-json.ts';
import { decodeProtobuf } from '../../core/otlp/decode-protobuf.ts';
import { RPC_CODES, statusInJson, statusInProtobuf, type RpcCode } from '../../core/otlp/rpc-status.ts';
import { MalformedExport, type OtlpSpan } from '../../core/otlp/span.ts';
import { WANTED_ATTRIBUTES } from '../../core/otlp/vocabulary.ts';
import { ChunkStore } from '../../runtime/chunk-store.ts';
import { notLocalReason } from '../access.ts';
import { lingerAtEnd } from '../proxy/connection-end.ts';
import type { Export } from './forwarder.ts';

/** Bytes of a body, compressed and not compressed. */
export const MAX_BODY_BYTES = 4 * 1024 * 1024;
/** Bytes of all bodies that wait to be decoded, one after the other. */
const MAX_WAITING_BYTES = 8 * 1024 * 1024;

/** Whether the exports of a path are decoded. All of them are forwarded. */
const PATHS: ReadonlyMap<string, 'spans' | 'forwarded'> = new Map([
  ['/v1/traces', 'spans'],
  ['/v1/metrics', 'forwarded'],
  ['/v1/logs', 'forwarded'],
]);

const PROTOBUF = 'application/x-protobuf';
const JSON_TYPE = 'application/json';
type Format = typeof PROTOBUF | typeof JSON_TYPE;

const inflate = promisify(gunzip);

export interface ReceiverOptions {
  onSpans: (spans: OtlpSpan[]) => void;
  /** null: there is no collector. */
  forward: ((each: Export) => void) | null;
  /** Called with the status of each response. */
  onResponse: (status: number) => void;
  /** Called with the reason for each response with status 400. */
  onMalformed: (reason: string) => void;
  /** Called for each response with status 500. */
  onError: (error: unknown) => void;
}

/** A response other than 200. */
class Refusal extends Error {
  readonly status: number;
  readonly code: RpcCode;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    code: RpcCode,
    message: string,
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.headers = headers;
  }
}

/** The server of OTLP/HTTP: spans in protobuf or JSON, plain or compressed with gzip. */
export function createReceiver(options: ReceiverOptions): RequestListener {
  const decoding = new OneByOne();
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const format = formatOf(request);
    try {
      await receive(request, format, decoding, options);
      if (!response.writableEnded)
        respond(response, 200, format, format === JSON_TYPE ? '{}' : new Uint8Array());
    } catch (error) {
      // The client has disconnected.
      if (request.destroyed && !request.complete) {
        response.destroy();
        return;
      }
      const refusal = error instanceof Refusal ? error : internalError(error, options);
      if (refusal.status === 400) options.onMalformed(refusal.message);
      refuse(request, response, format, refusal);
    }
    options.onResponse(response.statusCode);
  };
  return (request, response) => void handle(request, response);
}

function internalError(error: unknown, { onError }: ReceiverOptions): Refusal {
  onError(error);
  return new Refusal(500, RPC_CODES.internal, 'the export could not be recorded');
}

async function receive(
  request: IncomingMessage,
  format: Format | null,
  decoding: OneByOne,
  { onSpans, forward }: ReceiverOptions,
): Promise<void> {
  const path = (request.url ?? '').split('?', 1)[0] ?? '';
  const use = PATHS.get(path);
  checkHead(request, use !== undefined, format);
  const contentEncoding = encodingOf(request);
  const body = await bodyOf(request);
  if (use === 'spans') onSpans(await decoding.run(body.length, () => decode(body, format, contentEncoding)));
  const contentType = request.headers['content-type'] ?? PROTOBUF;
  forward?.({ path, contentType, contentEncoding, body });
}

function checkHead(request: IncomingMessage, isKnown: boolean, format: Format | null): void {
  const reason = notLocalReason(request);
  if (reason !== null) throw new Refusal(403, RPC_CODES.denied, reason);
  if (!isKnown)
    throw new Refusal(404, RPC_CODES.notFound, 'the paths are /v1/traces, /v1/metrics and /v1/logs');
  if (request.method !== 'POST')
    throw new Refusal(405, RPC_CODES.unimplemented, 'the only method is POST', { allow: 'POST' });
  if (format === null)
    throw new Refusal(415, RPC_CODES.invalid, `the content types are ${PROTOBUF} and ${JSON_TYPE}`);
}

function formatOf({ headers }: IncomingMessage): Format | null {
  const type = (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase();
  return type === PROTOBUF || type === JSON_TYPE ? type : null;
}

/** null: not compressed. */
function encodingOf({ headers }: IncomingMessage): 'gzip' | null {
  const coding = (headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (coding === 'gzip') return coding;
  if (coding === 'identity' || coding === '') return null;
  throw new Refusal(415, RPC_CODES.invalid, 'the only content encoding is gzip', {
    'accept-encoding': 'gzip',
  });
}

const tooLarge = (): Refusal =>
  new Refusal(
    413,
    RPC_CODES.exhausted,
    `the limit of a body is ${MAX_BODY_BYTES} bytes, also without compression`,
  );

/**
 * Rejects with another error than a Refusal if the client disconnects. Reads by `data` events, because the budget for uploads
 * pauses the request, and an iterator reads it all the same.
 */
function bodyOf(request: IncomingMessage): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > MAX_BODY_BYTES) throw tooLarge();
  const store = new ChunkStore();
  return new Promise((resolve, reject) => {
    const onData = (chunk: Buffer): void => {
      if (store.bytes + chunk.length <= MAX_BODY_BYTES) {
        store.add(chunk);
        return;
      }
      request.off('data', onData);
      reject(tooLarge());
    };
    request
      .on('data', onData)
      .once('end', () => resolve(store.take()))
      .once('close', () => reject(new Error('the client has disconnected')));
  });
}

async function decode(body: Buffer, format: Format | null, coding: 'gzip' | null): Promise<OtlpSpan[]> {
  const plain = coding === null ? body : await inflated(body);
  try {
    return (format === JSON_TYPE ? decodeJson : decodeProtobuf)(plain, WANTED_ATTRIBUTES);
  } catch (error) {
    if (!(error instanceof MalformedExport)) throw error;
    throw new Refusal(400, RPC_CODES.invalid, error.message);
  }
}

async function inflated(body: Buffer): Promise<Buffer> {
  try {
    return await inflate(body, { maxOutputLength: MAX_BODY_BYTES });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge();
    throw new Refusal(400, RPC_CODES.invalid, 'the body is not valid gzip');
  }
}

/** Runs one task after the other, so that only one body is in memory in several forms. */
class OneByOne {
  #last: Promise<unknown> = Promise.resolve();
  #waitingBytes = 0;

  async run<T>(bytes: number, task: () => Promise<T>): Promise<T> {
    if (this.#waitingBytes > 0 && this.#waitingBytes + bytes > MAX_WAITING_BYTES)
      throw new Refusal(503, RPC_CODES.unavailable, 'too many exports at the same time', {
        'retry-after': '1',
      });
    this.#waitingBytes += bytes;
    const done = this.#last.then(task);
    this.#last = done.catch(() => undefined);
    try {
      return await done;
    } finally {
      this.#waitingBytes -= bytes;
    }
  }
}

/** Responds with google.rpc.Status in the format of the request. An unread body ends the connection. */
function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  format: Format | null,
  { status, code, message, headers }: Refusal,
): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  if (!request.complete) {
    response.setHeader('connection', 'close');
    lingerAtEnd(request.socket);
    request.resume();
  }
  const body = format === PROTOBUF ? statusInProtobuf(code, message) : statusInJson(code, message);
  respond(response, status, format, body);
}

function respond(
  response: ServerResponse,
  status: number,
  format: Format | null,
  body: string | Uint8Array,
): void {
  response.writeHead(status, {
    'content-type': format ?? JSON_TYPE,
    'content-length': Buffer.byteLength(body),
  });
  response.end(body);
}
