import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';

/** The agent's behavior report, by the name in the path. */
export const REPORTS = {
  silent: {},
  safe: { 'X-Platform-Guardrails-Invoked': 'pii-detector' },
  unsafe: { 'X-Platform-Guardrails-Invoked': '' },
} as const;
export type Report = keyof typeof REPORTS;

/** The agent's handling of a request, by the name in the path; some abort before the head or in the body. */
const RESPONSES = {
  whole: (request: IncomingMessage, response: ServerResponse) =>
    void request.resume().on('end', () => response.end(Buffer.alloc(4_000))),
  early: (_request: IncomingMessage, response: ServerResponse) => void response.end('early'),
  echo: (request: IncomingMessage, response: ServerResponse) => void request.pipe(response),
  stream: (request: IncomingMessage, response: ServerResponse) => {
    request.resume();
    let sent = 0;
    const more = (): void => {
      response.write('data: x\n\n');
      if ((sent += 1) < 4) setTimeout(more, 1);
      else response.end();
    };
    more();
  },
  /** Runs until its client disconnects. */
  endless: (request: IncomingMessage, response: ServerResponse) => {
    request.resume();
    response.write('data: x\n\n');
    const timer = setInterval(() => response.write('data: x\n\n'), 5);
    response.once('close', () => clearInterval(timer));
  },
  silence: (request: IncomingMessage) => void request.socket.destroy(),
  cut: (request: IncomingMessage, response: ServerResponse) =>
    breakIn(response, () => request.socket.destroy()),
  reset: (request: IncomingMessage, response: ServerResponse) =>
    breakIn(response, () => request.socket.resetAndDestroy()),
};
export type Manner = keyof typeof RESPONSES;

function breakIn(response: ServerResponse, cut: () => void): void {
  response.setHeader('content-length', 50_000);
  response.write(Buffer.alloc(20_000));
  setTimeout(cut, 2);
}

/** An agent that behaves as the request path (`/<manner>/<report>`) specifies and counts the requests. */
export interface RecklessAgent {
  url: string;
  /** Number of requests by request id. */
  seen: Map<string, number>;
  stop(): Promise<void>;
  /** On the same port as before. */
  restart(): Promise<void>;
}

export async function startRecklessAgent(): Promise<RecklessAgent> {
  const seen = new Map<string, number>();
  const upgraded = new Set<Duplex>();
  const count = ({ headers }: IncomingMessage): boolean => {
    const id = headers['x-request-id'];
    if (typeof id !== 'string') return false;
    seen.set(id, (seen.get(id) ?? 0) + 1);
    return true;
  };
  const server = createServer((request, response) => {
    const [, manner = '', report = ''] = (request.url ?? '').split('/');
    request.on('error', () => undefined);
    if (!count(request)) {
      response.end();
      return;
    }
    for (const [name, value] of Object.entries(REPORTS[report as Report])) response.setHeader(name, value);
    RESPONSES[manner as Manner](request, response);
  });
  server.on('upgrade', (request: IncomingMessage, socket: Duplex) => {
    count(request);
    upgraded.add(socket.on('error', () => undefined).on('close', () => upgraded.delete(socket)));
    respondUpgrade(request.url ?? '', socket);
  });
  const listen = (port: number) => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  await listen(0);
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    seen,
    stop: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      for (const socket of upgraded) socket.destroy();
      await closed;
    },
    restart: () => listen(port),
  };
}

function respondUpgrade(url: string, socket: Duplex): void {
  const [, manner = '', report = ''] = url.split('/');
  const headers = Object.entries(REPORTS[report as Report]).map(([name, value]) => `${name}: ${value}\r\n`);
  if (manner === 'silence') socket.destroy();
  else if (manner === 'early')
    socket.end(`HTTP/1.1 403 No\r\n${headers.join('')}Content-Length: 2\r\n\r\nno`);
  else {
    socket.write(`HTTP/1.1 101 Yes\r\n${headers.join('')}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`);
    if (manner === 'echo') socket.pipe(socket);
    else setTimeout(() => (manner === 'reset' ? socket.destroy() : socket.end('bye')), 2);
  }
}
