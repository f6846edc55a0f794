import { Agent, request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { oneOf } from '../random/dice.ts';
import type { Manner, Report } from './reckless-agent.ts';

/** The client's view of its request. */
export interface Experience {
  id: string;
  /** Status of the received head; null: none. */
  status: number | null;
  /** Whether the response was complete. */
  isWhole: boolean;
  /** The proxy must reject the bytes before they form a request. */
  isRefused: boolean;
}

/** Behaviour of a client. */
const MANNERS = {
  polite: 60,
  /** Disconnects at any time: before, during or after the head. */
  leaves: 14,
  cutsResponse: 8,
  /** Disconnects during its own body. */
  cutsBody: 6,
  upgrade: 8,
  refused: 4,
} as const;
const RESPONSES: Readonly<Record<Manner, number>> = {
  endless: 0,
  whole: 50,
  echo: 15,
  early: 10,
  stream: 8,
  silence: 6,
  cut: 6,
  reset: 5,
};
const REPORTS: Readonly<Record<Report, number>> = { silent: 40, safe: 35, unsafe: 25 };

const REFUSED = [
  'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n',
  'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n',
  'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket, h2c\r\n',
  'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n',
];

/** Clients of one proxy, many of which abort. */
export class RecklessClients {
  readonly #port: number;
  readonly #dice: () => number;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 });

  constructor(port: number, dice: () => number) {
    this.#port = port;
    this.#dice = dice;
  }

  /** Sends one request of a random kind; resolves when its client is finished. */
  send(id: string): Promise<Experience> {
    const dice = this.#dice;
    const manner = oneOf(dice, MANNERS);
    // A short response may be complete when its client has read the head.
    const response = manner === 'cutsResponse' && dice() < 0.5 ? 'endless' : oneOf(dice, RESPONSES);
    const path = `/${response}/${oneOf(dice, REPORTS)}`;
    if (manner === 'refused') {
      const head = REFUSED[Math.floor(dice() * REFUSED.length)] ?? '';
      return this.#sendRaw(id, head, null);
    }
    if (manner === 'upgrade') {
      const head = `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n`;
      return this.#sendRaw(id, head, dice() * 8);
    }
    return this.#sendHttp(id, path, manner);
  }

  close(): void {
    this.#agent.destroy();
  }

  #sendHttp(
    id: string,
    path: string,
    manner: 'polite' | 'leaves' | 'cutsResponse' | 'cutsBody',
  ): Promise<Experience> {
    const dice = this.#dice;
    const method = manner === 'cutsBody' || dice() < 0.5 ? 'POST' : dice() < 0.2 ? 'DELETE' : 'GET';
    const size = method === 'POST' ? Math.floor(dice() * 20_000) : 0;
    const framing =
      dice() < 0.4
        ? { 'transfer-encoding': 'chunked' }
        : { 'content-length': size + (manner === 'cutsBody' ? 1 : 0) };
    const headers = { 'x-request-id': id, ...(method === 'POST' && framing) };
    const agent = dice() < 0.7 ? this.#agent : false;
    const leavesAfter = dice() * 6;
    return new Promise((resolve) => {
      const seen: Experience = { id, status: null, isWhole: false, isRefused: false };
      const request = httpRequest({ host: '127.0.0.1', port: this.#port, method, path, headers, agent });
      request.on('error', () => undefined).on('close', () => resolve(seen));
      request.on('response', (response) => {
        seen.status = response.statusCode ?? 0;
        response
          .on('error', () => undefined)
          .on('end', () => (seen.isWhole = response.complete))
          .resume();
        if (manner === 'cutsResponse') response.destroy();
      });
      if (manner === 'cutsBody') request.write(Buffer.alloc(size));
      else request.end(Buffer.alloc(size));
      if (manner === 'leaves' || manner === 'cutsBody') setTimeout(() => request.destroy(), leavesAfter);
    });
  }

  /** Sends raw bytes. An upgrade client disconnects this many milliseconds after the first received bytes, or immediately. */
  #sendRaw(id: string, head: string, leavesAfter: number | null): Promise<Experience> {
    const waits = this.#dice() < 0.8;
    return new Promise((resolve) => {
      let text = '';
      const socket = connect(this.#port, '127.0.0.1', () =>
        socket.write(`${head}X-Request-Id: ${id}\r\n\r\n`),
      );
      const leave = (): void => {
        if (leavesAfter !== null) setTimeout(() => socket.destroy(), leavesAfter);
      };
      if (!waits) leave();
      socket.setEncoding('latin1').on('data', (chunk: string) => {
        const isFirst = text === '';
        text += chunk;
        if (!isFirst) return;
        if (text.startsWith('HTTP/1.1 101')) socket.write('hello');
        if (waits) leave();
      });
      socket
        .on('error', () => undefined)
        .on('close', () => {
          const status = /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1];
          const isRefused = leavesAfter === null;
          resolve({ id, status: status === undefined ? null : Number(status), isWhole: false, isRefused });
        });
    });
  }
}
