import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { HEADER_NAME, HEADER_VALUE } from '../../core/untrusted/header-syntax.ts';
import type { ClientRequest, ClientResponse } from '../proxy/client-message.ts';

const LINK = /^<[^>]*>/;

/** Text of the headers that Node.js adds to a response of a connection that stays open. */
const KEEP_ALIVE = (seconds: number): string =>
  `Connection: keep-alive\r\nKeep-Alive: timeout=${seconds}\r\n`;

/**
 * The response to a plain request, with the bytes that Node.js would send: head, first part of the body and end leave in one write.
 * Emits 'finish' when the kernel has all bytes, and 'close' after it or when the connection has closed. The connection emits 'drain' here.
 */
export class PlainResponse extends EventEmitter implements ClientResponse {
  readonly req: ClientRequest;
  readonly socket: Socket;
  statusCode = 200;
  headersSent = false;
  shouldKeepAlive = true;
  chunkedEncoding = false;
  writableEnded = false;
  writableFinished = false;
  destroyed = false;
  readonly #keepAliveSeconds: number;
  /** The head until it is sent. */
  #head = '';
  #trailers = '';
  /** false: the status allows no body. */
  #hasBody = true;

  constructor(req: ClientRequest, keepAliveSeconds: number) {
    super();
    this.req = req;
    this.socket = req.socket;
    this.#keepAliveSeconds = keepAliveSeconds;
  }

  get writableLength(): number {
    return this.socket.writableLength;
  }

  get writableHighWaterMark(): number {
    return this.socket.writableHighWaterMark;
  }

  /** Throws if a name or value is not valid; then nothing has changed. */
  writeHead(
    status: number,
    message: string,
    headers: Readonly<Record<string, string | number>> | readonly string[],
  ): void {
    let text = `HTTP/1.1 ${status} ${message}\r\n`;
    const list = Array.isArray(headers) ? (headers as readonly string[]) : Object.entries(headers).flat();
    let hasLength = false;
    let hasDate = false;
    for (let i = 0; i < list.length; i += 2) {
      const name = String(list[i]);
      text += fieldOf(name, String(list[i + 1]));
      if (name.length === 14) hasLength ||= name.toLowerCase() === 'content-length';
      else if (name.length === 4) hasDate ||= name.toLowerCase() === 'date';
    }
    if (!hasDate) text += dateField();
    this.#hasBody = status !== 204 && status !== 304;
    this.chunkedEncoding = this.#hasBody && !hasLength;
    text += this.shouldKeepAlive ? KEEP_ALIVE(this.#keepAliveSeconds) : 'Connection: close\r\n';
    this.#head = this.chunkedEncoding ? `${text}Transfer-Encoding: chunked\r\n\r\n` : `${text}\r\n`;
    this.statusCode = status;
    this.headersSent = true;
  }

  writeProcessing(): void {
    this.#information('102 Processing', '');
  }

  /** Like Node.js, writes `Link` first, repeated headers in one line, and nothing if a link does not begin with `<address>`. */
  writeEarlyHints({ link = [], ...others }: Readonly<Record<string, string | string[]>>): void {
    const links = [link].flat();
    if (links.length === 0 || !links.every((each) => LINK.test(each))) return;
    const fields = Object.entries(others).map(([name, values]) => fieldOf(name, [values].flat().join(',')));
    this.#information('103 Early Hints', fieldOf('Link', links.join(', ')) + fields.join(''));
  }

  #information(status: string, fields: string): void {
    this.socket.write(`HTTP/1.1 ${status}\r\n${fields}\r\n`, 'latin1');
  }

  addTrailers(pairs: readonly [name: string, value: string][]): void {
    for (const [name, value] of pairs) this.#trailers += fieldOf(name, value);
  }

  /** Returns false if the client has to read before more is written: 'drain' follows. */
  write(part: string | Buffer): boolean {
    if (typeof part === 'string') return this.#writeText(part);
    const { socket } = this;
    if (!this.#hasBody || part.length === 0) return this.#writeText('');
    socket.cork();
    socket.write(
      this.chunkedEncoding ? `${this.#takeHead()}${part.length.toString(16)}\r\n` : this.#takeHead(),
      'latin1',
    );
    const hasRoom = socket.write(part);
    const all = this.chunkedEncoding ? socket.write('\r\n', 'latin1') : hasRoom;
    socket.uncork();
    return all;
  }

  #writeText(part: string): boolean {
    const text = this.#takeHead() + this.#framed(part);
    return text === '' || this.socket.write(text, 'latin1');
  }

  /** Ends the response. */
  end(part: string | Buffer = '', encoding: 'latin1' | 'utf8' = 'latin1'): void {
    this.writableEnded = true;
    let text = typeof part === 'string' ? part : '';
    if (typeof part !== 'string') this.write(part);
    else if (encoding === 'utf8') text = Buffer.from(part).toString('latin1');
    const end = this.chunkedEncoding ? `0\r\n${this.#trailers}\r\n` : '';
    this.socket.write(this.#takeHead() + this.#framed(text) + end, 'latin1', this.#finish);
  }

  readonly #finish = (error?: Error | null): void => {
    // The connection closes, which ends the response.
    if (error) return;
    this.writableFinished = true;
    this.emit('finish');
    this.emit('close');
  };

  /** Call it when the connection has closed. */
  closed(): void {
    this.destroyed = true;
    if (!this.writableFinished) this.emit('close');
  }

  #takeHead(): string {
    const head = this.#head;
    this.#head = '';
    return head;
  }

  #framed(part: string): string {
    if (part === '' || !this.#hasBody) return '';
    return this.chunkedEncoding ? `${part.length.toString(16)}\r\n${part}\r\n` : part;
  }
}

function fieldOf(name: string, value: string): string {
  if (!HEADER_NAME.test(name) || !HEADER_VALUE.test(value))
    throw new TypeError('a header has characters that are not allowed');
  return `${name}: ${value}\r\n`;
}

let date = { second: NaN, field: '' };

/** Node.js adds a date to each response without one. */
function dateField(): string {
  const second = Math.floor(Date.now() / 1000);
  if (second !== date.second) date = { second, field: `Date: ${new Date(second * 1000).toUTCString()}\r\n` };
  return date.field;
}
