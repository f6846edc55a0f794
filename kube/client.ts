import type { Dispatcher } from 'undici';
import type { ClusterAccess } from './cluster-access.ts';
import { Connection, userAgentOf } from './connection.ts';

export interface KubeRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** From `collectionPath` or `objectPath`. */
  path: string;
  /** Undefined members are omitted. */
  query?: Record<string, string | number | boolean | undefined>;
  body?: unknown;
  /** Default application/json. */
  contentType?: string;
  /** Requests only the metadata of an object or list, if the API server supports this. Metadata is the smaller part. */
  only?: 'metadata' | undefined;
  /** Milliseconds for the whole exchange; default 15,000. For a watch: until the response head arrives. */
  timeoutMs?: number;
  /** Bytes of the response body; a larger response is not read to its end and returns the reason TooLarge. */
  maxBytes?: number;
  signal?: AbortSignal | undefined;
}

/** An error response of the API server: its HTTP status and the content of its Status object. */
export interface KubeFailure {
  ok: false;
  status: number;
  /** `NotFound`, `Conflict`, `Expired`, ...; empty when the response has no reason. */
  reason: string;
  message: string;
  /** From Retry-After. */
  retryAfterMs: number | null;
}

/** `bytes`: size of the response body. */
export type KubeResponse<T> = { ok: true; status: number; body: T; bytes?: number } | KubeFailure;
export type KubeStream =
  | {
      ok: true;
      chunks: AsyncIterable<Uint8Array>;
      /**
       * The watch is dead: sends the next requests on new connections, because the idle ones may be dead too, without a sign of it
       * (a lost route, a load balancer that dropped its state). Requests in flight continue.
       */
      reconnect: () => void;
    }
  | KubeFailure;

export interface KubeClientOptions {
  access: ClusterAccess;
  /** The component name in the user agent, which the API server's audit log shows. */
  part: string;
  /** Checked right before a request other than GET is sent; if it returns false, the request is not sent and throws. */
  mayWrite?: () => boolean;
  /** Called once per request. */
  observe?: RequestObserver;
}

/** Hook for metrics; `code`: the HTTP status, or `<error>`. */
export type RequestObserver = (request: { method: string; host: string; code: string }) => void;

/** The API server did not respond (status 0) or returned an error. */
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
/**
 * The API server accepts at most 3 MB per object, of which its store keeps 1.5 MB by default. As JSON, in which a character takes up to
 * six bytes, an object can have 18 MB. A smaller limit would let one object end every list.
 */
const DEFAULT_MAX_BYTES = 24 * 1024 * 1024;
const metadataOnly = (kind: string): string =>
  `application/json;as=${kind};g=meta.k8s.io;v=v1,application/json`;
/** The API server rejects a watch or a single object whose Accept header names a list kind. Lists are read in pages. */
const acceptOf = ({ only, query }: KubeRequest): string => {
  if (only !== 'metadata') return 'application/json';
  return metadataOnly(query?.['limit'] === undefined ? 'PartialObjectMetadata' : 'PartialObjectMetadataList');
};
/** Reason of a response that is larger than the request allows. */
export const TOO_LARGE = 'TooLarge';
/** Upper limit for the Retry-After of a response. */
const LONGEST_RETRY_AFTER_MS = 30_000;

/** Requests to one API server. Returns every response, whatever its status; throws a KubeError with status 0 without one. */
export class KubeClient {
  readonly #options: KubeClientOptions;
  readonly #connection: Connection;
  readonly #host: string;

  constructor(options: KubeClientOptions) {
    this.#options = options;
    this.#connection = new Connection(options.access);
    this.#host = new URL(this.#connection.origin).host;
  }

  send<T>(request: KubeRequest): Promise<KubeResponse<T>> {
    return guarded(request, async () => {
      const limit = AbortSignal.timeout(request.timeoutMs ?? DEFAULT_TIMEOUT_MS);
      return await this.#exchange(request, limit, (response) => readResponse<T>(response, request));
    });
  }

  /** A watch. It lasts until the server ends it or `signal` aborts. */
  stream(request: KubeRequest): Promise<KubeStream> {
    return guarded(request, async () => {
      // The limit covers only the response head, so it is a timer that can be stopped, not AbortSignal.timeout.
      const limit = new AbortController();
      const timeOut = () => limit.abort(new DOMException('no response in time', 'TimeoutError'));
      const timer = setTimeout(timeOut, request.timeoutMs ?? DEFAULT_TIMEOUT_MS);
      try {
        return await this.#exchange<KubeStream>(request, limit.signal, async (response, reconnect) => {
          if (response.statusCode !== 200) return failureOf(response, await response.body.text());
          return { ok: true, chunks: response.body as AsyncIterable<Uint8Array>, reconnect };
        });
      } finally {
        clearTimeout(timer);
      }
    });
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  /** Sends one request and reads its response. `reconnect`: the next requests do not use the connections of this one. */
  async #exchange<T>(
    request: KubeRequest,
    limit: AbortSignal,
    read: (response: Dispatcher.ResponseData, reconnect: () => void) => Promise<T>,
  ): Promise<T> {
    const signal = request.signal ? AbortSignal.any([limit, request.signal]) : limit;
    let code = '<error>';
    let reconnect = (): void => undefined;
    try {
      const { headers, dispatcher } = await this.#connection.current();
      reconnect = () => this.#connection.retire(dispatcher);
      const response = await this.#dispatch(request, { headers, dispatcher, signal });
      code = String(response.statusCode);
      return await read(response, reconnect);
    } catch (error) {
      // The next attempt must not wait for another connection that is dead as well.
      if ((signal.reason as Error | undefined)?.name === 'TimeoutError') reconnect();
      throw error;
    } finally {
      this.#options.observe?.({ method: request.method, host: this.#host, code });
    }
  }

  async #dispatch(
    request: KubeRequest,
    {
      headers,
      dispatcher,
      signal,
    }: { headers: Record<string, string>; dispatcher: Dispatcher; signal: AbortSignal },
  ): Promise<Dispatcher.ResponseData> {
    const { part, mayWrite } = this.#options;
    const connection = this.#connection;
    const isFenced = mayWrite !== undefined && request.method !== 'GET';
    const hasBody = request.body !== undefined;
    const response = await (isFenced ? fenced(dispatcher, mayWrite) : dispatcher).request({
      origin: connection.origin,
      path: connection.prefix + request.path + queryText(request.query),
      method: request.method,
      headers: {
        ...headers,
        'user-agent': userAgentOf(part),
        accept: acceptOf(request),
        ...(hasBody && { 'content-type': request.contentType ?? 'application/json' }),
      },
      body: hasBody ? JSON.stringify(request.body) : null,
      signal,
    });
    if (response.statusCode === 401) connection.expire();
    return response;
  }
}

/**
 * Wraps the dispatcher so that a request is blocked while `isAllowed` returns false. `isAllowed` is called right before the
 * request is written to its connection, so a process that was suspended after its decision to write does not write late.
 * A process suspended in the microseconds between this call and the socket's write still sends that one request: its
 * resourceVersion, or its being a creation, must prevent it from overwriting newer data.
 */
function fenced(dispatcher: Dispatcher, isAllowed: () => boolean): Dispatcher {
  return dispatcher.compose((dispatch) => (options, handler) => {
    const start = handler.onRequestStart?.bind(handler);
    handler.onRequestStart = (...parts) => {
      if (!isAllowed()) throw new KubeError(FENCED);
      start?.(...parts);
    };
    return dispatch(options, handler);
  });
}

const FENCED = {
  status: 0,
  reason: 'fenced',
  message: 'write blocked: this process is not the leader',
  retryAfterMs: null,
};

/** Maps every missing response to one error, except the caller's own abort. */
async function guarded<T>(request: KubeRequest, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (request.signal?.aborted) throw request.signal.reason;
    if (error instanceof KubeError) throw error;
    const message = `the API server did not respond to ${request.method} ${request.path}`;
    throw new KubeError({ status: 0, reason: 'unreachable', message, retryAfterMs: null }, { cause: error });
  }
}

function queryText(query: KubeRequest['query']): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {}))
    if (value !== undefined) parameters.set(name, String(value));
  return parameters.size === 0 ? '' : `?${parameters.toString()}`;
}

async function readResponse<T>(
  response: Dispatcher.ResponseData,
  { method, path, maxBytes = DEFAULT_MAX_BYTES }: KubeRequest,
): Promise<KubeResponse<T>> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    // Leaving the loop closes the connection.
    if (bytes > maxBytes) {
      const message = `the response to ${method} ${path} has more than ${maxBytes} bytes`;
      return { ok: false, status: response.statusCode, reason: TOO_LARGE, message, retryAfterMs: null };
    }
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString();
  if (response.statusCode < 200 || response.statusCode > 299) return failureOf(response, text);
  return { ok: true, status: response.statusCode, body: JSON.parse(text) as T, bytes };
}

function failureOf(response: Dispatcher.ResponseData, text: string): KubeFailure {
  const status = parseStatus(text);
  const seconds = Number(response.headers['retry-after']);
  return {
    ok: false,
    status: response.statusCode,
    reason: status.reason ?? '',
    message: status.message ?? (text.slice(0, 300) || `the API server returned HTTP ${response.statusCode}`),
    retryAfterMs: Number.isFinite(seconds)
      ? Math.min(Math.max(0, seconds) * 1_000, LONGEST_RETRY_AFTER_MS)
      : null,
  };
}

/** Parses a Status object. A proxy in between may send any other text. */
function parseStatus(text: string): { reason?: string; message?: string } {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}
