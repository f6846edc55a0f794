import { connect, type Socket } from 'node:net';

/** Reads one stream of processes/streaming-agent.ts and verifies that its events are complete, unique and in order. */
export class StreamingClient {
  readonly socket: Socket;
  /** Number of the newest event; -1 before the first. */
  number = -1;
  hasUsage = false;
  hasEnded = false;
  fault: string | null = null;
  #text = '';

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1', () =>
      this.socket.write('POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n'),
    );
    this.socket.setEncoding('latin1').on('data', (text: string) => this.#read(text));
    this.socket.on('error', ({ message }) => (this.fault ??= message));
  }

  #read(text: string): void {
    this.#text += text;
    if (this.#text.startsWith('HTTP/1.1 ')) {
      if (!this.#text.startsWith('HTTP/1.1 200 ')) this.fault ??= this.#text;
      // The proxy must remove the behavioral headers.
      if (/^x-platform-/im.test(this.#text)) this.fault ??= this.#text;
    }
    for (let end = this.#text.indexOf('\n\n'); end >= 0; end = this.#text.indexOf('\n\n')) {
      const [, data = '{}'] = /data: (.*)$/.exec(this.#text.slice(0, end)) ?? [];
      this.#text = this.#text.slice(end + 2);
      const { number, usage } = JSON.parse(data) as { number?: number; usage?: object };
      if (usage !== undefined) this.hasUsage = true;
      else if (number === this.number + 1) this.number = number;
      else this.fault ??= `event ${number} after ${this.number}`;
    }
    if (this.#text.endsWith('\r\n0\r\n\r\n') || this.#text === '0\r\n\r\n') this.hasEnded = true;
  }
}
