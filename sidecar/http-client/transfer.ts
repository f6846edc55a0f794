import { Readable } from 'node:stream';
import {
  internalFailure,
  type UpstreamFailure,
  type UpstreamHandler,
  type UpstreamRequest,
  type UpstreamRequestHandle,
} from '../proxy/upstream.ts';
import type { Connection } from './connection.ts';
import type { ResponseSink } from './response-reader.ts';

/** One request with its response. A class instead of closures, because it is created for each request. */
export class Transfer implements UpstreamRequestHandle, ResponseSink {
  readonly request: UpstreamRequest;
  /** Set while the request uses a connection. */
  connection: Connection | null = null;
  /** true: the handler gets no more events. */
  isOver = false;
  readonly #handler: UpstreamHandler;
  /** Stops the timer for the first byte of the response. */
  #stopWaiting: (() => void) | null = null;

  constructor(request: UpstreamRequest, handler: UpstreamHandler) {
    this.request = request;
    this.#handler = handler;
  }

  /**
   * Limits the time to the head of the response. The time counts from the start if the whole request is known. Otherwise it
   * counts after the end of the body, and while the agent does not read the body.
   */
  limitWait(timeoutMs: number): void {
    const { body } = this.request;
    let timer: NodeJS.Timeout | undefined;
    let isWaiting = true;
    const clear = (): void => clearTimeout(timer);
    const wait = (): void => {
      clear();
      if (isWaiting) timer = setTimeout(() => this.#timeOut(timeoutMs), timeoutMs);
    };
    this.#stopWaiting = () => {
      isWaiting = false;
      clear();
    };
    if (body instanceof Readable) body.on('pause', wait).on('resume', clear).on('end', wait);
    else wait();
  }

  #timeOut(timeoutMs: number): void {
    const { connection } = this;
    this.fail({
      kind: 'timeout',
      error: new Error(`no response within ${timeoutMs} ms`),
    });
    // The response would come too late. A connection that is not established yet can serve another request.
    if (connection !== null) connection.cut();
  }

  /** The connection is established. The request is over if its handler throws: nothing of it is sent then. */
  start(): void {
    try {
      this.#handler.onStart(this);
    } catch (error) {
      this.fail(internalFailure(error));
    }
  }

  abort(): void {
    if (this.isOver) return;
    this.#end();
    this.connection?.cut();
  }

  pause(): void {
    this.connection?.pause();
  }

  resume(): void {
    this.connection?.resume();
  }

  onInformation(status: number, raw: readonly string[]): void {
    this.#handler.onInformation(status, raw);
  }

  onHead(status: number, message: string, raw: readonly string[]): void {
    this.#stopWaiting?.();
    this.#handler.onHead(status, message, raw);
  }

  onData(chunk: Buffer): void {
    this.#handler.onData(chunk);
  }

  /** Call it after each read of the response. */
  onRead(): void {
    if (!this.isOver) this.#handler.onRead();
  }

  onEnd(rawTrailers: readonly string[]): void {
    this.#end();
    try {
      this.#handler.onEnd(rawTrailers);
    } catch (error) {
      // The caller cannot report it: the transfer is over, and the connection may serve the next one.
      this.#handler.onError(internalFailure(error));
    }
  }

  fail(failure: UpstreamFailure): void {
    if (this.isOver) return;
    this.#end();
    this.#handler.onError(failure);
  }

  #end(): void {
    this.isOver = true;
    this.#stopWaiting?.();
    const { body } = this.request;
    // Nothing reads the rest of a body whose response is over.
    if (body instanceof Readable && !body.readableEnded) body.destroy();
  }
}
