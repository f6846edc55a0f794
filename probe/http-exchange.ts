import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { reasonOf } from './reason.ts';

export const HTTP_TIMEOUT_MS = 5000;

/** `body`: null when it was not wanted, too large, cut off or late. */
export type Exchange =
  | {
      answered: true;
      status: number;
      latencyMs: number;
      headers: IncomingMessage['headers'];
      body: Buffer | null;
    }
  | { answered: false; reason: string; body: null };

export interface ExchangeOptions {
  /** Default GET. */
  method?: 'GET' | 'POST' | 'DELETE';
  headers?: Readonly<Record<string, string>>;
  body?: string;
  /** Milliseconds until the last byte; default 5000. */
  timeoutMs?: number | undefined;
  /** Most bytes of the body that are read; 0 (default): the head is enough. */
  maxBytes?: number | undefined;
  /** PEM of the authorities that are believed; left out: those that Node.js trusts. */
  ca?: string | undefined;
  /** Looks at the body as it comes; true: what came so far is enough. */
  isEnough?: (chunk: Buffer, headers: IncomingMessage['headers']) => boolean;
  signal?: AbortSignal | undefined;
}

/**
 * One request, no redirect followed, nothing decompressed, on a connection of its own. Answered means that a head came,
 * whatever follows it: a body without end, or larger than allowed, is cut off. Never rejects.
 */
export function exchange(url: URL, options: ExchangeOptions = {}): Promise<Exchange> {
  const { timeoutMs = HTTP_TIMEOUT_MS, maxBytes = 0, signal } = options;
  const startedAt = performance.now();
  return new Promise((resolve) => {
    let head: Exchange = none(`no answer within ${timeoutMs / 1000} s`);
    const request = start(url, options);
    if (request === null) {
      resolve(none('the request cannot be sent to this address'));
      return;
    }
    const finish = (body: Buffer | null): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      request.destroy();
      resolve(head.answered ? { ...head, body } : head);
    };
    const fail = (reason: string): void => {
      if (!head.answered) head = none(reason);
      finish(null);
    };
    const abort = (): void => fail('the probe was given up');
    const timer = setTimeout(() => finish(null), timeoutMs);
    // Stays attached: destroying a request raises another error.
    request.on('error', (error) => fail(reasonOf(error)));
    if (signal?.aborted) {
      abort();
      return;
    }
    signal?.addEventListener('abort', abort, { once: true });
    request.once('upgrade', (response: IncomingMessage, socket) => {
      socket.destroy();
      fail(`it switches protocols (${response.statusCode ?? 101}) instead of answering`);
    });
    request.once('response', (response) => {
      const { headers, statusCode = 0 } = response;
      const latencyMs = Math.round(performance.now() - startedAt);
      head = { answered: true, status: statusCode, latencyMs, headers, body: null };
      response.on('error', () => finish(null));
      if (maxBytes === 0) finish(null);
      else collect(response, { maxBytes, isEnough: options.isEnough }, finish);
    });
    request.end(options.body);
  });
}

function none(reason: string): Exchange {
  return { answered: false, reason, body: null };
}

/** Node throws on a header value or a URL that no request can carry. */
function start(url: URL, { method = 'GET', headers, ca }: ExchangeOptions): ClientRequest | null {
  const all = {
    accept: 'application/json',
    'user-agent': 'agent-compliance',
    connection: 'close',
    ...headers,
  };
  const options = { method, agent: false as const, headers: all };
  try {
    return url.protocol === 'https:' ? httpsRequest(url, { ...options, ca }) : httpRequest(url, options);
  } catch {
    return null;
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
