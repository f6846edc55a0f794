import { Agent, request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { Agent as TlsAgent, request as httpsRequest } from 'node:https';
import errors from 'undici/lib/core/errors.js';
import { pairsOf } from './headers.ts';
import type { Upstream, UpstreamHandler, UpstreamOptions, UpstreamRequest } from './upstream.ts';

/** The way to the agent for requests whose length is not known ahead: the head goes at once, trailers follow the body. */
export function createPlainUpstream({ url, timeoutMs }: UpstreamOptions): Upstream {
  const isTls = url.protocol === 'https:';
  const agent = isTls ? new TlsAgent({ keepAlive: true }) : new Agent({ keepAlive: true });
  const send = isTls ? httpsRequest : httpRequest;
  const prefix = url.pathname.replace(/\/$/, '');
  return {
    send(request, handler) {
      const path = request.path === '*' ? '*' : prefix + request.path;
      const headers = request.chunked
        ? [...request.headers, 'Transfer-Encoding', 'chunked']
        : request.headers;
      const options = {
        agent,
        method: request.method,
        host: url.hostname.replace(/^\[|\]$/g, ''),
        port: url.port === '' ? (isTls ? 443 : 80) : Number(url.port),
        path,
        headers,
        setHost: false,
      };
      let outgoing: ClientRequest;
      try {
        outgoing = send(options);
      } catch (error) {
        handler.onError({ kind: 'broken', error: error as Error });
        return;
      }
      new PlainExchange(outgoing, handler).start(request, timeoutMs);
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

  constructor(outgoing: ClientRequest, handler: UpstreamHandler) {
    this.#outgoing = outgoing;
    this.#handler = handler;
  }

  start(request: UpstreamRequest, timeoutMs: number | null): void {
    const outgoing = this.#outgoing;
    outgoing.on('response', (incoming) => this.#receive(incoming));
    outgoing.on('information', ({ statusCode, rawHeaders }) =>
      this.#handler.onInformation(statusCode, rawHeaders),
    );
    outgoing.on('socket', (socket) => {
      if (socket.connecting) socket.once('connect', () => (this.#isConnected = true));
      else this.#isConnected = true;
    });
    // Nobody asked for an upgrade.
    outgoing.on('upgrade', (_response, socket) => {
      socket.destroy();
      this.#fail(new Error('the agent switched protocols unasked'));
    });
    outgoing.on('error', (error) => this.#fail(error));
    outgoing.on('close', () => this.#fail(new Error('the connection to the agent closed')));
    outgoing.flushHeaders();
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
    if (body === null) {
      outgoing.end();
      return;
    }
    body.on('data', (chunk: Buffer) => {
      if (!outgoing.write(chunk)) body.pause();
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

  /** The time to the first byte counts from the end of what we send. */
  #limitWait(timeoutMs: number): void {
    let timer: NodeJS.Timeout | undefined;
    this.#outgoing.on('finish', () => {
      if (this.#incoming !== null || this.#isOver) return;
      timer = setTimeout(() => this.#outgoing.destroy(new errors.HeadersTimeoutError()), timeoutMs);
    });
    const clear = (): void => clearTimeout(timer);
    this.#outgoing.on('response', clear);
    this.#outgoing.on('close', clear);
  }

  #receive(incoming: IncomingMessage): void {
    this.#incoming = incoming;
    this.#handler.onHead(incoming.statusCode ?? 0, incoming.statusMessage ?? '', incoming.rawHeaders);
    incoming.on('data', (chunk: Buffer) => {
      if (!this.#isOver) this.#handler.onData(chunk);
    });
    incoming.on('end', () => {
      if (this.#isOver) return;
      this.#isOver = true;
      this.#handler.onEnd(incoming.rawTrailers);
    });
    incoming.on('error', (error) => this.#fail(error));
  }

  #fail(error: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const isTimeout = error instanceof errors.HeadersTimeoutError;
    const kind = isTimeout ? 'timeout' : this.#isConnected ? 'broken' : 'unreachable';
    this.#handler.onError({ kind, error });
  }
}
