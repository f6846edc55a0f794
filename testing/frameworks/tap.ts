import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request and its response. */
export interface Exchange {
  method: string;
  path: string;
  requestBody: Buffer;
  status: number;
  contentType: string;
  body: Buffer;
  /** The client closed the connection before the response was complete. */
  isCut: boolean;
  isOver: boolean;
}

/** Forwards HTTP to a server and records every body. With a tap on each side, the effect of the sidecar is visible. */
export interface Tap {
  url: string;
  /** Exchanges since the last `clear`. */
  exchanges: Exchange[];
  /** Headers to add to a response: the agent's report. */
  reports: (exchange: Exchange) => Record<string, string>;
  clear(): void;
  close(): Promise<void>;
}

export async function startTap(target: string): Promise<Tap> {
  const { hostname, port } = new URL(target);
  const server = createServer((incoming, outgoing) => {
    const { method = 'GET', url: path = '/', rawHeaders } = incoming;
    const exchange: Exchange = {
      ...{ method, path, status: 0, contentType: '', isCut: false, isOver: false },
      requestBody: Buffer.alloc(0),
      body: Buffer.alloc(0),
    };
    tap.exchanges.push(exchange);
    const forward = httpRequest({ hostname, port, method, path, headers: rawHeaders, agent: false });
    forward.once('response', (response) => {
      exchange.status = response.statusCode ?? 0;
      exchange.contentType = response.headers['content-type'] ?? '';
      const reports = Object.entries(tap.reports(exchange)).flat();
      outgoing.writeHead(exchange.status, [...response.rawHeaders, ...reports]);
      outgoing.flushHeaders();
      response.on('data', (chunk: Buffer) => {
        exchange.body = Buffer.concat([exchange.body, chunk]);
        outgoing.write(chunk);
      });
      response.once('end', () => outgoing.end());
      response.once('error', () => outgoing.destroy());
    });
    forward.once('error', () => outgoing.destroy());
    incoming.on('data', (chunk: Buffer) => {
      exchange.requestBody = Buffer.concat([exchange.requestBody, chunk]);
      forward.write(chunk);
    });
    incoming.once('end', () => forward.end());
    outgoing.once('close', () => {
      exchange.isCut = !outgoing.writableFinished;
      exchange.isOver = true;
      forward.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const tap: Tap = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    exchanges: [],
    reports: () => ({}),
    clear: () => (tap.exchanges = []),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return tap;
}
