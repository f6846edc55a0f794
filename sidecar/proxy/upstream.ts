import type { Readable } from 'node:stream';
import type { UpstreamFailureKind } from '../../core/behavior/audit-entry.ts';
import type { HeaderList } from './headers.ts';

/** One request to the agent. */
export interface UpstreamRequest {
  method: string;
  path: string;
  headers: string[];
  /** null: there is none. A buffer is all of it. */
  body: Readable | Buffer | null;
  /** The body has no length ahead of it, so the head must not wait for it and trailers may follow it. */
  chunked: boolean;
  /** Trailers of the body, asked for after its end. */
  trailers: () => string[];
}

export interface UpstreamControl {
  abort(): void;
  pause(): void;
  resume(): void;
}

export interface UpstreamFailure {
  kind: UpstreamFailureKind;
  error: Error;
}

/** What the client is told of a failure, in the agent's place. */
export const ANSWERS: Readonly<Record<UpstreamFailureKind, { status: number; detail: string }>> = {
  unreachable: { status: 502, detail: 'the agent cannot be reached' },
  stale: { status: 502, detail: 'the agent closed the connection before it answered' },
  broken: { status: 502, detail: 'the agent gave no whole HTTP answer' },
  timeout: { status: 504, detail: 'the agent did not answer in time' },
};

/** What comes back, in this order: start, information*, head, data*, end; or an error at any point, once, and then nothing. */
export interface UpstreamHandler {
  onStart(control: UpstreamControl): void;
  onInformation(status: number, raw: HeaderList): void;
  onHead(status: number, message: string, raw: HeaderList): void;
  onData(chunk: Buffer): void;
  onEnd(rawTrailers: HeaderList): void;
  onError(failure: UpstreamFailure): void;
}

export interface Upstream {
  send(request: UpstreamRequest, handler: UpstreamHandler): void;
  close(): Promise<void>;
}

export interface UpstreamOptions {
  url: URL;
  /** To the first byte of the answer, in milliseconds; null: none. */
  timeoutMs: number | null;
  /** How long a connection waits for its next request, in milliseconds, where the agent does not say; default `IDLE_MS`. */
  idleMs?: number;
}

/** An idle connection goes before the agent may close it under a request that cannot be sent twice; many servers do so after 5 s. */
export const IDLE_MS = 4_000;

/**
 * Of a connection to the agent: each write that the kernel does not take at once holds back what comes next, so that it is
 * stored where small chunks are copied together.
 */
export const UNBUFFERED = { writableHighWaterMark: 1 } as const;

const CONNECT_TIMEOUT_MS = 10_000;

/** An agent stands beside its sidecar; whatever the time-out, a connection to it comes soon or never. */
export function connectTimeoutOf(timeoutMs: number | null): number {
  return Math.min(timeoutMs ?? CONNECT_TIMEOUT_MS, CONNECT_TIMEOUT_MS);
}
