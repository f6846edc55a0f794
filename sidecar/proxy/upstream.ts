import type { Readable } from 'node:stream';
import type { SecureContext } from 'node:tls';
import type { UpstreamFailureKind } from '../../core/shapes/audit-entry.ts';
import type { HeaderList } from './headers.ts';

/** One request to the agent. */
export interface UpstreamRequest {
  method: string;
  path: string;
  headers: string[];
  /** null: no body. A buffer is the complete body; the client sets it to null once it is written. */
  body: Readable | Buffer | null;
  /** true: the body has no Content-Length, so the head must not wait for it and trailers may follow it. */
  chunked: boolean;
  /** Returns the trailers; called after the end of the body. */
  trailers: () => string[];
}

export interface UpstreamRequestHandle {
  abort(): void;
  pause(): void;
  resume(): void;
}

export interface UpstreamFailure {
  kind: UpstreamFailureKind;
  error: Error;
  /** The sidecar's own code threw the error while it handled the request or its response. */
  isInternal?: true;
}

/** The failure of a request whose handler threw. */
export const internalFailure = (error: unknown): UpstreamFailure => ({
  ...{ kind: 'broken', isInternal: true },
  error: error instanceof Error ? error : new Error(String(error)),
});

/** Responses to the client, in place of the agent's response, by kind of failure. */
export const FAILURE_RESPONSES: Readonly<Record<UpstreamFailureKind, { status: number; detail: string }>> = {
  unreachable: { status: 502, detail: 'the agent is unreachable' },
  stale: { status: 502, detail: 'the agent closed the connection before it responded' },
  broken: { status: 502, detail: 'the agent sent an incomplete or invalid HTTP response' },
  timeout: { status: 504, detail: 'the agent did not respond in time' },
};

/** Response events, in this order: start, information*, head, data*, end. At any point, one error may end the sequence. */
export interface UpstreamHandler {
  onStart(control: UpstreamRequestHandle): void;
  onInformation(status: number, raw: HeaderList): void;
  onHead(status: number, message: string, raw: HeaderList): void;
  onData(chunk: Buffer): void;
  /** Called after the events of one read, unless the response is over. */
  onRead(): void;
  onEnd(rawTrailers: HeaderList): void;
  onError(failure: UpstreamFailure): void;
}

export interface Upstream {
  send(request: UpstreamRequest, handler: UpstreamHandler): void;
  /** Closes all connections at once. Requests in flight get no more events. */
  cut(): void;
  close(): Promise<void>;
}

/** TLS that is always verified. */
export interface TlsTrust {
  rejectUnauthorized: true;
  /** With the accepted CAs; absent: those of Node.js. */
  secureContext?: SecureContext;
}

export interface UpstreamOptions {
  url: URL;
  /** Maximum milliseconds to the first byte of the response; null: no limit. */
  timeoutMs: number | null;
  /** Idle time-out of a connection in milliseconds, unless the agent announces its own; default `IDLE_MS`. */
  idleMs?: number;
  /** Default: 10 s, or `timeoutMs` if that is shorter. */
  connectTimeoutMs?: number;
  /** Requests above this number wait for a connection; default: no limit. */
  maxConnections?: number;
  /** Default: the CAs of Node.js, and NODE_TLS_REJECT_UNAUTHORIZED. */
  tls?: TlsTrust;
}

/** Idle connections are closed before the agent may close them during a request. Many servers close them after 5 s. */
export const IDLE_MS = 4_000;

/**
 * Socket option of WebSockets. Any write that the kernel does not accept immediately pauses the sender, so that further bytes are
 * stored where small chunks are copied together.
 */
export const UNBUFFERED = { writableHighWaterMark: 1 } as const;

const CONNECT_TIMEOUT_MS = 10_000;

/** The agent runs next to its sidecar, so a connection succeeds soon or never, whatever the request time-out is. */
export function connectTimeoutOf({
  timeoutMs,
  connectTimeoutMs,
}: Pick<UpstreamOptions, 'timeoutMs' | 'connectTimeoutMs'>): number {
  return connectTimeoutMs ?? Math.min(timeoutMs ?? CONNECT_TIMEOUT_MS, CONNECT_TIMEOUT_MS);
}
