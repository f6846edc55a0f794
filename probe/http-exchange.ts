import { EventEmitter } from 'node:events';
import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { hostPortOf } from '../core/facts/address.ts';
import { guarded, RefusedAddress, type AddressGuard } from './address-guard.ts';
import { reasonOf } from './reason.ts';

export const HTTP_TIMEOUT_MS = 5000;
const ABORTED = 'the probe was aborted';

/** `body`: null when not requested, too large, cut off or late. */
export type Exchange =
  | {
      answered: true;
      status: number;
      latencyMs: number;
      headers: IncomingMessage['headers'];
      body: Buffer | null;
    }
  | Unanswered;

interface Unanswered {
  answered: false;
  reason: string;
  body: null;
  /** The guard blocked the address, so no request was sent. */
  isRefused?: true;
  /** Milliseconds until the TCP connection was established, if it brought no HTTP response. */
  connectedMs?: number;
}

export interface ExchangeOptions {
  /** Default GET. */
  method?: 'GET' | 'POST' | 'DELETE';
  headers?: Readonly<Record<string, string>>;
  body?: string;
  /** Milliseconds for the whole exchange, up to the last byte; default 5000. */
  timeoutMs?: number | undefined;
  /** Maximum body size in bytes; 0 (default): the response head is enough. */
  maxBytes?: number | undefined;
  /** PEM of the trusted CAs; absent: the CAs that Node.js trusts. */
  ca?: string | undefined;
  /** Called for each body chunk; true: no more of the body is needed. */
  isEnough?: (chunk: Buffer, headers: IncomingMessage['headers']) => boolean;
  signal?: AbortSignal | undefined;
  /** Absent: every address is allowed. */
  guard?: AddressGuard | undefined;
}

/**
 * One request on its own connection, without following redirects or decompressing. `answered` means that a response head
 * arrived. A body that is endless or larger than allowed is cut off. Never rejects.
 */
export function exchange(url: URL, options: ExchangeOptions = {}): Promise<Exchange> {
  const { timeoutMs = HTTP_TIMEOUT_MS, maxBytes = 0, isEnough } = options;
  const startedAt = performance.now();
  const passedMs = () => Math.round(performance.now() - startedAt);
  return new Promise((resolve) => {
    const request = start(url, options);
    if (!(request instanceof EventEmitter)) {
      resolve(request);
      return;
    }
    let head: Exchange = none(`no response within ${timeoutMs / 1000} s`);
    let connectedMs: number | undefined;
    const finish = (body: Buffer | null): void => {
      clearTimeout(timer);
      request.destroy();
      if (head.answered) resolve({ ...head, body });
      else resolve(connectedMs === undefined ? head : { ...head, connectedMs });
    };
    const fail = (failure: Unanswered): void => {
      if (!head.answered) head = failure;
      finish(null);
    };
    const timer = setTimeout(() => finish(null), timeoutMs);
    // Stays attached, because destroying a request emits another error.
    request.on('error', (error) => fail(failureOf(error)));
    request.once('socket', (socket) => socket.once('connect', () => (connectedMs = passedMs())));
    request.once('upgrade', ({ statusCode = 101 }, socket) => {
      socket.destroy();
      fail(none(`the server switched protocols (${statusCode}) instead of responding`));
    });
    request.once('response', (response) => {
      const { headers, statusCode: status = 0 } = response;
      head = { answered: true, status, latencyMs: passedMs(), headers, body: null };
      response.on('error', () => finish(null));
      if (maxBytes === 0) finish(null);
      else collect(response, { maxBytes, isEnough }, finish);
    });
    request.end(options.body);
  });
}

function failureOf(error: Error): Unanswered {
  if (error instanceof RefusedAddress) return refused(error.message);
  return none(error.name === 'AbortError' ? ABORTED : reasonOf(error));
}

function none(reason: string): Unanswered {
  return { answered: false, reason, body: null };
}

function refused(reason: string): Unanswered {
  return { ...none(reason), isRefused: true };
}

/** Node throws on an invalid header value or URL. */
function start(
  url: URL,
  { method = 'GET', headers, ca, signal, guard }: ExchangeOptions,
): ClientRequest | Unanswered {
  const { host, port } = hostPortOf(url);
  const target = guarded(guard, host, port);
  if (target.refusal !== null) return refused(target.refusal);
  if (signal?.aborted) return none(ABORTED);
  const all = {
    accept: 'application/json',
    'user-agent': 'agent-compliance',
    connection: 'close',
    ...headers,
  };
  const { lookup } = target;
  const options = { method, agent: false as const, headers: all, signal, ...(lookup && { lookup }) };
  try {
    return url.protocol === 'https:' ? httpsRequest(url, { ...options, ca }) : httpRequest(url, options);
  } catch {
    return none('the request cannot be sent to this address');
  }
}

function collect(
  response: IncomingMessage,
  { maxBytes, isEnough }: { maxBytes: number; isEnough: ExchangeOptions['isEnough'] },
  finish: (body: Buffer | null) => void,
): void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > maxBytes) {
      finish(null);
      return;
    }
    chunks.push(chunk);
    if (isEnough?.(chunk, response.headers) === true) finish(Buffer.concat(chunks));
  });
  response.once('end', () => finish(Buffer.concat(chunks)));
  response.once('close', () => finish(null));
}
