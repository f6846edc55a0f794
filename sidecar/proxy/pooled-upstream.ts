import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import buildConnector from 'undici/lib/core/connect.js';
import errors from 'undici/lib/core/errors.js';
import Pool from 'undici/lib/dispatcher/pool.js';
import { patchParser } from './parser-patch.ts';
import {
  connectTimeoutOf,
  IDLE_MS,
  UNBUFFERED,
  type Upstream,
  type UpstreamRequestHandle,
  type UpstreamFailure,
  type UpstreamHandler,
  type UpstreamOptions,
  type UpstreamRequest,
} from './upstream.ts';

/** undici sets one size for both directions. With these sizes, a connection with an unread response buffers one read (64 KiB). */
const BUFFERS = { highWaterMark: undefined, readableHighWaterMark: 16 * 1024, ...UNBUFFERED };

/** Client for nearly all requests over TLS: undici's pool, through its low-level dispatch. */
export function createPooledUpstream(options: UpstreamOptions): Upstream {
  // undici's own time-outs are off: its timers above one second are up to a second late.
  const connect = buildConnector({ allowH2: false, timeout: 0, ...BUFFERS, ...options.tls });
  const connectTimeoutMs = connectTimeoutOf(options);
  const pool = new Pool(options.url.origin, {
    connect: (target, callback) => {
      const connecting = connect(target, (error, socket) => {
        clearTimeout(timer);
        if (error !== null) {
          unconnected.add(error);
          callback(error, null);
          return;
        }
        socket.on('error', (failure: Error) => {
          if (socket.bytesRead > 0) ofUsedSockets.add(failure);
        });
        callback(null, socket);
        if (!socket.destroyed) patchParser(socket);
      });
      const timer = setTimeout(() => {
        connecting.destroy(new errors.ConnectTimeoutError());
      }, connectTimeoutMs);
    },
    allowH2: false,
    pipelining: 1,
    connections: options.maxConnections ?? null,
    keepAliveTimeout: options.idleMs ?? IDLE_MS,
    bodyTimeout: 0,
    headersTimeout: 0,
  });
  const prefix = options.url.pathname.replace(/\/$/, '');
  return {
    send({ method, path, headers, body }, handler) {
      const exchange = new PooledExchange(handler);
      if (options.timeoutMs !== null) exchange.limitWait(options.timeoutMs, body);
      pool.dispatch({ method, path: prefix + path, headers, body }, exchange);
    },
    close: () => pool.destroy(),
  };
}

/** Errors of connection attempts. */
const unconnected = new WeakSet<Error>();
/** Errors of sockets with an earlier response: the agent may have closed them while they were idle. */
const ofUsedSockets = new WeakSet<Error>();

/** Adapts one request to undici's handler interface. A class instead of closures, because it is created for each request. */
class PooledExchange implements Dispatcher.DispatchHandler, UpstreamRequestHandle {
  readonly #handler: UpstreamHandler;
  #controller: Dispatcher.DispatchController | null = null;
  #hasAnswered = false;
  #hasTimedOut = false;
  /** Stops the timer for the first byte of the response. */
  #stopWaiting: () => void = () => undefined;

  constructor(handler: UpstreamHandler) {
    this.#handler = handler;
  }

  /**
   * Limits the time to the first response byte. The time counts from the start if the whole request is known. Otherwise it
   * counts after the end of the body, and while the agent does not read the body.
   */
  limitWait(timeoutMs: number, body: UpstreamRequest['body']): void {
    let timer: NodeJS.Timeout | undefined;
    let isWaiting = true;
    const clear = (): void => clearTimeout(timer);
    const wait = (): void => {
      clear();
      if (isWaiting) timer = setTimeout(() => this.#timeOut(), timeoutMs);
    };
    this.#stopWaiting = () => {
      isWaiting = false;
      clear();
    };
    if (body instanceof Readable) body.on('pause', wait).on('resume', clear).on('end', wait);
    else wait();
  }

  #timeOut(): void {
    const error = new errors.HeadersTimeoutError();
    if (this.#controller !== null) {
      this.#controller.abort(error);
      return;
    }
    // The request still waits for a connection. `onRequestStart` aborts it.
    this.#hasTimedOut = true;
    this.#handler.onError({ kind: 'timeout', error });
  }

  abort(): void {
    this.#controller?.abort(new errors.RequestAbortedError());
  }

  pause(): void {
    this.#controller?.pause();
  }

  resume(): void {
    this.#controller?.resume();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#hasTimedOut) this.abort();
    else this.#handler.onStart(this);
  }

  onResponseStarted(): void {
    this.#hasAnswered = true;
  }

  onResponseStart(
    { rawHeaders }: Dispatcher.DispatchController,
    status: number,
    _headers: unknown,
    message = '',
  ): void {
    const raw = asStrings(rawHeaders);
    if (status < 200) this.#handler.onInformation(status, raw);
    else {
      this.#stopWaiting();
      this.#handler.onHead(status, message, raw);
    }
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#handler.onData(chunk);
  }

  onResponseEnd({ rawTrailers }: Dispatcher.DispatchController): void {
    this.#handler.onEnd(asStrings(rawTrailers));
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#stopWaiting();
    if (this.#hasTimedOut) return;
    this.#handler.onError({ kind: kindOf(error, this.#hasAnswered), error });
  }
}

function kindOf(error: Error, hasAnswered: boolean): UpstreamFailure['kind'] {
  if (error instanceof errors.HeadersTimeoutError || error instanceof errors.ConnectTimeoutError)
    return 'timeout';
  if (unconnected.has(error)) return 'unreachable';
  const wasUsed =
    ofUsedSockets.has(error) || (error instanceof errors.SocketError && (error.socket?.bytesRead ?? 0) > 0);
  return wasUsed && !hasAnswered ? 'stale' : 'broken';
}

/** Decodes header bytes as latin1, the encoding in which Node writes them. */
function asStrings(raw: Dispatcher.DispatchController['rawHeaders']): string[] {
  if (!Array.isArray(raw)) return [];
  const texts: string[] = [];
  for (const part of raw) texts.push(typeof part === 'string' ? part : part.toString('latin1'));
  return texts;
}
