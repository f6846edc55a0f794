import { readFile } from 'node:fs/promises';
import { createServer, request as ask, type RequestOptions } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ControlPlane } from '../../e2e/cluster/control.ts';

/** The properties of a request by which faults are selected. */
export interface ProxiedRequest {
  method: string;
  isWatch: boolean;
  /** The collection in the path, such as `pods`. */
  resource: string;
  /** Whether the path is of one object or its status. */
  isNamed: boolean;
  query: URLSearchParams;
}

/**
 * `silent`: only the head of the response passes, as with a load balancer that lost a stream.
 * `lateMs`: every part of the response is delayed. A status: a response with a Status object instead of the API server's.
 */
export type Fault = 'silent' | { lateMs: number } | { status: number; retryAfter?: number };

/** An HTTPS proxy in front of a real API server, with a certificate of its CA. */
export interface FaultProxy {
  port: number;
  /** Sets the fault. Open requests fail too: a stream becomes silent, or is cut if the fault is a status. */
  fail(choose: (request: ProxiedRequest) => Fault | null): void;
  /** Removes the fault; silent streams stay silent. */
  heal(): void;
  /** Ends every watch, as the API server does after a compaction. */
  expire(): void;
  close(): Promise<void>;
}

interface Stream {
  request: ProxiedRequest;
  response: ServerResponse;
  isSilent: boolean;
}

const EXPIRED = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' };
const REASONS: Record<number, string> = {
  410: 'Expired',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
};

export async function startFaultProxy(control: ControlPlane): Promise<FaultProxy> {
  const pki = dirname(control.kubeconfig);
  const file = (name: string) => readFile(join(pki, name));
  const [ca, cert, key] = await Promise.all([file('ca.crt'), file('apiserver.crt'), file('apiserver.key')]);
  const streams = new Set<Stream>();
  let choose: (request: ProxiedRequest) => Fault | null = () => null;

  async function handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = described(incoming);
    const fault = choose(request);
    if (typeof fault === 'object' && fault !== null && 'status' in fault) {
      incoming.resume();
      refuse(response, fault);
      return;
    }
    if (fault !== null && fault !== 'silent') await sleep(fault.lateMs);
    const stream: Stream = { request, response, isSilent: fault === 'silent' };
    streams.add(stream);
    response.on('close', () => streams.delete(stream));
    const { method, url, headers } = incoming;
    const options: RequestOptions = { method: method ?? 'GET', headers, ca };
    const outgoing = ask(new URL(url ?? '/', control.url), options, (response) => pass(response, stream));
    outgoing.on('error', () => response.destroy());
    response.on('close', () => outgoing.destroy());
    incoming.pipe(outgoing);
  }

  function pass(received: IncomingMessage, stream: Stream): void {
    const { request, response } = stream;
    response.writeHead(received.statusCode ?? 502, received.headers).flushHeaders();
    const later = (write: () => void) => {
      const fault = choose(request);
      const lateMs = typeof fault === 'object' && fault !== null && 'lateMs' in fault ? fault.lateMs : 0;
      // The head was already delayed. Timers with the same delay keep their order.
      if (lateMs > 0 && request.isWatch) setTimeout(write, lateMs);
      else write();
    };
    received.on('data', (chunk: Buffer) => later(() => stream.isSilent || response.write(chunk)));
    received.on('end', () => later(() => stream.isSilent || response.end()));
    received.on('error', () => response.destroy());
  }

  const server = createServer({ cert, key }, (incoming, response) => {
    incoming.on('error', () => response.destroy());
    response.on('error', () => undefined);
    void handle(incoming, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    fail(chosen) {
      choose = chosen;
      for (const stream of streams) {
        const fault = choose(stream.request);
        if (fault === 'silent') stream.isSilent = true;
        else if (fault !== null && 'status' in fault) stream.response.destroy();
      }
    },
    heal: () => void (choose = () => null),
    expire() {
      for (const { request, response } of streams)
        if (request.isWatch) response.end(JSON.stringify({ type: 'ERROR', object: EXPIRED }) + '\n');
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Parses `/api/v1/[namespaces/<n>/]<resource>[/<name>...]` and `/apis/<group>/<version>/...`. */
function described({ method = 'GET', url = '/' }: IncomingMessage): ProxiedRequest {
  const { pathname, searchParams: query } = new URL(url, 'https://api');
  const parts = pathname.replace(/^\/(api|apis\/[^/]+)\/[^/]+\/(namespaces\/[^/]+\/)?/, '').split('/');
  return {
    method,
    isWatch: query.get('watch') === 'true',
    resource: parts[0] ?? '',
    isNamed: parts.length > 1,
    query,
  };
}

function refuse(response: ServerResponse, { status, retryAfter }: Extract<Fault, { status: number }>): void {
  const headers = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) };
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  const message = 'a fault of the test';
  response.end(JSON.stringify({ kind: 'Status', code: status, reason: REASONS[status] ?? '', message }));
}
