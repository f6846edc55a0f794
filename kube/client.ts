import { createHash } from 'node:crypto';
import { Agent, type Dispatcher } from 'undici';
import { VERSION } from '../runtime/version.ts';
import type { ClusterAccess, Credentials, TlsOptions } from './cluster-access.ts';

export interface KubeRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** From `collectionPath` or `objectPath`. */
  path: string;
  /** Members that are undefined are left out. */
  query?: Record<string, string | number | boolean | undefined>;
  body?: unknown;
  /** Default application/json. */
  contentType?: string;
  /** Asks for an object's or a list's metadata alone, where the API server can: the rest is most of it. */
  only?: 'metadata' | undefined;
  /** Milliseconds for the whole exchange; default 15,000. Of a watch: until its head has come. */
  timeoutMs?: number;
  signal?: AbortSignal | undefined;
}

/** The API server's refusal: its HTTP status and what its Status object says. */
export interface KubeFailure {
  ok: false;
  status: number;
  /** `NotFound`, `Conflict`, `Expired`, ...; empty where the answer has none. */
  reason: string;
  message: string;
  /** From Retry-After. */
  retryAfterMs: number | null;
}

export type KubeAnswer<T> = { ok: true; status: number; body: T } | KubeFailure;
export type KubeStream = { ok: true; chunks: AsyncIterable<Uint8Array> } | KubeFailure;

/** Requests to one API server. An answer is returned whatever its status; no answer throws a KubeError with status 0. */
export interface KubeClient {
  send<T>(request: KubeRequest): Promise<KubeAnswer<T>>;
  /** An answer without an end: a watch. It lasts until the server ends it or `signal` aborts. */
  stream(request: KubeRequest): Promise<KubeStream>;
  close(): Promise<void>;
}

/** The API server did not answer (status 0), or refused what was expected to work. */
export class KubeError extends Error {
  override readonly name = 'KubeError';
  readonly code: string;
  readonly status: number;
  readonly retryAfterMs: number | null;

  constructor(failure: Omit<KubeFailure, 'ok'>, options?: ErrorOptions) {
    super(failure.message, options);
    this.status = failure.status;
    this.code = `KUBE_${(failure.reason || String(failure.status)).toUpperCase()}`;
    this.retryAfterMs = failure.retryAfterMs;
  }
}

const DEFAULT_TIMEOUT_MS = 15_000;
/** A list comes as the first, the objects of a watch as the second; a Status as plain JSON. */
const METADATA_ONLY = ['PartialObjectMetadataList', 'PartialObjectMetadata']
  .map((kind) => `application/json;as=${kind};g=meta.k8s.io;v=v1`)
  .join();
/** Tokens and certificates on disk are read again after this time. */
const CREDENTIALS_MS = 10_000;

/** `part` names the process in the user agent, as the API server's audit log shows it. */
export function createKubeClient(options: { access: ClusterAccess; part: string }): KubeClient {
  const connection = createConnection(options.access);
  const userAgent = `agent-compliance-${options.part}/${VERSION} (${process.platform}/${process.arch})`;

  async function exchange(request: KubeRequest, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const { headers, dispatcher } = await connection.current();
    const response = await dispatcher.request({
      origin: connection.origin,
      path: connection.prefix + request.path + queryText(request.query),
      method: request.method,
      headers: {
        ...headers,
        'user-agent': userAgent,
        accept: request.only === 'metadata' ? METADATA_ONLY : 'application/json',
        ...(request.body === undefined ? {} : { 'content-type': request.contentType ?? 'application/json' }),
      },
      body: request.body === undefined ? null : JSON.stringify(request.body),
      signal,
    });
    if (response.statusCode === 401) connection.expire();
    return response;
  }

  return {
    send: (request) =>
      guarded(request, async () => {
        const limit = AbortSignal.timeout(request.timeoutMs ?? DEFAULT_TIMEOUT_MS);
        const response = await exchange(request, anySignal(limit, request.signal));
        const text = await response.body.text();
        return answerOf(response, text);
      }),
    stream: (request) =>
      guarded(request, async () => {
        // The limit covers the head alone, so it is a timer that stops, not AbortSignal.timeout.
        const limit = new AbortController();
        const timer = setTimeout(() => limit.abort(), request.timeoutMs ?? DEFAULT_TIMEOUT_MS);
        try {
          const response = await exchange(request, anySignal(limit.signal, request.signal));
          if (response.statusCode === 200) return { ok: true as const, chunks: response.body };
          return failureOf(response, await response.body.text());
        } finally {
          clearTimeout(timer);
        }
      }),
    close: () => connection.close(),
  };
}

function anySignal(limit: AbortSignal, signal: AbortSignal | undefined): AbortSignal {
  return signal ? AbortSignal.any([limit, signal]) : limit;
}

/** Turns every way of getting no answer into one error, except the caller's own abort. */
async function guarded<T>(request: KubeRequest, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (request.signal?.aborted) throw request.signal.reason;
    const message = `the API server does not answer ${request.method} ${request.path}`;
    throw new KubeError({ status: 0, reason: 'unreachable', message, retryAfterMs: null }, { cause: error });
  }
}

function queryText(query: KubeRequest['query']): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {}))
    if (value !== undefined) parameters.set(name, String(value));
  return parameters.size === 0 ? '' : `?${parameters.toString()}`;
}

function answerOf<T>(response: Dispatcher.ResponseData, text: string): KubeAnswer<T> {
  if (response.statusCode < 200 || response.statusCode > 299) return failureOf(response, text);
  return { ok: true, status: response.statusCode, body: JSON.parse(text) as T };
}

function failureOf(response: Dispatcher.ResponseData, text: string): KubeFailure {
  const status = parseStatus(text);
  const seconds = Number(response.headers['retry-after']);
  return {
    ok: false,
    status: response.statusCode,
    reason: status.reason ?? '',
    message: status.message ?? (text.slice(0, 300) || `the API server answers ${response.statusCode}`),
    retryAfterMs: Number.isFinite(seconds) ? Math.max(0, seconds) * 1000 : null,
  };
}

/** A Status object; a proxy in between may answer anything. */
function parseStatus(text: string): { reason?: string; message?: string } {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

interface Connection {
  origin: string;
  /** The path of a server address such as https://host/k8s/clusters/c-1; empty for most. */
  prefix: string;
  current(): Promise<{ headers: Record<string, string>; dispatcher: Dispatcher }>;
  expire(): void;
  close(): Promise<void>;
}

/** One connection pool, exchanged for a new one only when the TLS material changes. */
function createConnection(access: ClusterAccess): Connection {
  const server = new URL(access.server);
  let pool: { id: string; agent: Agent } | null = null;
  let read: { at: number; credentials: Promise<Credentials> } | null = null;

  function credentials(): Promise<Credentials> {
    if (!read || performance.now() - read.at > CREDENTIALS_MS) {
      const fresh = { at: performance.now(), credentials: access.credentials() };
      fresh.credentials.catch(() => (read = read === fresh ? null : read));
      read = fresh;
    }
    return read.credentials;
  }

  return {
    origin: server.origin,
    prefix: server.pathname.replace(/\/$/, ''),
    async current() {
      const { headers, tls } = await credentials();
      const id = identityOf(tls);
      if (pool?.id !== id) {
        // The old pool ends by itself when its last watch does.
        void pool?.agent.close();
        pool = { id, agent: createAgent(tls) };
      }
      return { headers, dispatcher: pool.agent };
    },
    expire: () => (read = null),
    close: async () => {
      await pool?.agent.destroy();
    },
  };
}

function identityOf(tls: TlsOptions): string {
  const hash = createHash('sha256');
  for (const part of [tls.ca, tls.cert, tls.key, tls.servername, String(tls.rejectUnauthorized)])
    hash.update(part ?? '').update('\0');
  return hash.digest('hex');
}

function createAgent(tls: TlsOptions): Agent {
  return new Agent({
    connect: { ...tls, timeout: 10_000, keepAlive: true, keepAliveInitialDelay: 30_000 },
    connections: 32,
    // Under the API server's idle time-out of 90 s, so that this side closes first.
    keepAliveTimeout: 30_000,
    // Every request has its own limit; a watch is silent for a minute and lasts for several.
    headersTimeout: 0,
    bodyTimeout: 0,
    allowH2: false,
  });
}
