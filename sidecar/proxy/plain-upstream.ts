import type { ClientRequest, IncomingMessage } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import errors from 'undici/lib/core/errors.js';
import { hostPortOf } from '../../core/facts/address.ts';
import { pairsOf } from './headers.ts';
import {
  connectTimeoutOf,
  IDLE_MS,
  UNBUFFERED,
  type Upstream,
  type UpstreamHandler,
  type UpstreamOptions,
  type UpstreamRequest,
} from './upstream.ts';

/** Client for requests of unknown length over TLS: sends the head immediately and trailers after the body. */
export function createPlainUpstream(upstreamOptions: UpstreamOptions): Upstream {
  const { url, timeoutMs, idleMs = IDLE_MS, tls } = upstreamOptions;
  const agent = new Agent({ keepAlive: true, timeout: idleMs, ...UNBUFFERED, ...tls });
  const connectTimeoutMs = connectTimeoutOf(upstreamOptions);
  const prefix = url.pathname.replace(/\/$/, '');
  return {
    send(request, handler) {
      const path = request.path === '*' ? '*' : prefix + request.path;
      const headers = request.chunked
        ? [...request.headers, 'Transfer-Encoding', 'chunked']
        : [...request.headers];
      // An HTTP/1.0 request may have no Host header, but is sent as HTTP/1.1, which requires one.
      if (headers[0] !== 'Host') headers.unshift('Host', url.host);
      const options = {
        agent,
        method: request.method,
        ...hostPortOf(url),
        path,
        headers,
        setHost: false,
      };
      let outgoing: ClientRequest;
      try {
        outgoing = httpsRequest(options);
      } catch (error) {
        handler.onError({ kind: 'broken', error: error as Error });
        return;
      }
      new PlainExchange(outgoing, handler).start(request, { timeoutMs, connectTimeoutMs });
    },
    close: () => {
      agent.destroy();
      return Promise.resolve();
    },
  };
}

class PlainExchange {
  readonly #outgoing: ClientRequest;
  readonly #handler: UpstreamHandler;
  #incoming: IncomingMessage | null = null;
  #isConnected = false;
  #isOver = false;
  #onStuck: () => void = () => undefined;

  constructor(outgoing: ClientRequest, handler: UpstreamHandler) {
    this.#outgoing = outgoing;
    this.#handler = handler;
  }

  start(
    request: UpstreamRequest,
    { timeoutMs, connectTimeoutMs }: { timeoutMs: number | null; connectTimeoutMs: number },
  ): void {
    const outgoing = this.#outgoing;
    // Node would silently drop response headers above its limit. Their total size is limited anyway.
    outgoing.maxHeadersCount = 0;
    outgoing.on('response', (incoming) => this.#receive(incoming));
    outgoing.on('information', ({ statusCode, rawHeaders }) =>
      this.#handler.onInformation(statusCode, rawHeaders),
    );
    outgoing.on('socket', (socket) => this.#awaitConnection(socket, connectTimeoutMs));
    // These requests never ask for an upgrade.
    outgoing.on('upgrade', (_response, socket) => {
      socket.destroy();
      this.#fail(new Error('the agent switched protocols without an upgrade request'));
    });
    outgoing.on('error', (error) => this.#fail(error));
    outgoing.on('close', () => this.#fail(new Error('the connection to the agent closed')));
    // Not flushHeaders(), which writes UTF-8: header bytes above ASCII would arrive as two bytes.
    outgoing.write('', 'latin1');
    this.#handler.onStart({
      abort: () => {
        this.#isOver = true;
        outgoing.destroy();
      },
      pause: () => this.#incoming?.pause(),
      resume: () => this.#incoming?.resume(),
    });
    this.#sendBody(request);
    if (timeoutMs !== null) this.#limitWait(timeoutMs);
  }

  #sendBody({ body, trailers }: UpstreamRequest): void {
    const outgoing = this.#outgoing;
    if (body === null || Buffer.isBuffer(body)) {
      outgoing.end(body);
      return;
    }
    body.on('data', (chunk: Buffer) => {
      if (outgoing.write(chunk)) return;
      body.pause();
      this.#onStuck();
    });
    outgoing.on('drain', () => body.resume());
    body.on('end', () => {
      const raw = trailers();
      if (raw.length > 0) outgoing.addTrailers(pairsOf(raw));
      outgoing.end();
    });
    body.on('error', (error) => outgoing.destroy(error));
    outgoing.on('close', () => body.destroy());
  }

  #awaitConnection(socket: Socket, timeoutMs: number): void {
    if (!socket.connecting) {
      this.#isConnected = true;
      return;
    }
    const outgoing = this.#outgoing;
    const timer = setTimeout(() => outgoing.destroy(new errors.ConnectTimeoutError()), timeoutMs);
    outgoing.once('close', () => clearTimeout(timer));
    socket.once('secureConnect', () => {
      clearTimeout(timer);
      this.#isConnected = true;
    });
  }

  /** Limits the time to the first response byte. It counts after the request is sent, and while the agent does not read it. */
  #limitWait(timeoutMs: number): void {
    const outgoing = this.#outgoing;
    let timer: NodeJS.Timeout | undefined;
    const clear = (): void => clearTimeout(timer);
    const wait = (): void => {
      clear();
      if (this.#incoming !== null || this.#isOver) return;
      timer = setTimeout(() => outgoing.destroy(new errors.HeadersTimeoutError()), timeoutMs);
    };
    this.#onStuck = wait;
    outgoing.on('finish', wait).on('drain', clear).on('response', clear).on('close', clear);
  }

  #receive(incoming: IncomingMessage): void {
    this.#incoming = incoming;
    this.#handler.onHead(incoming.statusCode ?? 0, incoming.statusMessage ?? '', incoming.rawHeaders);
    incoming.on('data', (chunk: Buffer) => {
      if (!this.#isOver) this.#handler.onData(chunk);
    });
    incoming.on('end', () => this.#finish(incoming));
    incoming.on('error', (error) => this.#fail(error));
  }

  #finish(incoming: IncomingMessage): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#handler.onEnd(incoming.rawTrailers);
  }

  /** Node reports an error immediately, but data before the error in the same segment later or never. This reads that data. */
  #readLast(incoming: IncomingMessage): void {
    let chunk: unknown;
    do chunk = incoming.read();
    while (chunk !== null);
    // The error came after the end of the response.
    if (incoming.complete) this.#finish(incoming);
  }

  #fail(error: Error): void {
    if (this.#isOver) return;
    if (this.#incoming !== null) this.#readLast(this.#incoming);
    if (this.#isOver) return;
    this.#isOver = true;
    const isTimeout =
      error instanceof errors.HeadersTimeoutError || error instanceof errors.ConnectTimeoutError;
    const kind = isTimeout ? 'timeout' : this.#isConnected ? 'broken' : 'unreachable';
    this.#handler.onError({ kind, error });
  }
}
