import { ApiError, errorOf } from './api-error.ts';
import { reportReachable } from './reachable.ts';

const TIMEOUT_MS = 30_000;

export interface RequestOptions {
  /** null: without a key; the browser sends the cookie of a session by itself. */
  key: string | null;
  body?: unknown;
  signal?: AbortSignal | undefined;
}

/** A response with its body. */
export interface Reply {
  headers: Headers;
  text: string;
}

/**
 * Sends a request and reads the response. `path`: from the root of the server, such as `/api/v1/agents`.
 * Rejects with an ApiError, or with the reason of the caller's signal.
 */
export async function request(method: string, path: string, options: RequestOptions): Promise<Reply> {
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const signal = options.signal === undefined ? timeout : AbortSignal.any([timeout, options.signal]);
  const response = await open(method, path, { ...options, signal });
  return { headers: response.headers, text: await connected(response.text(), options.signal) };
}

/** Sends a request without a limit on time, and returns when the head of the response is there: for a stream. */
export async function open(method: string, path: string, options: RequestOptions): Promise<Response> {
  const { key, body, signal } = options;
  const headers = new Headers();
  if (key !== null) headers.set('x-admin-key', key);
  if (body !== undefined) headers.set('content-type', 'application/json');
  // Relative to the page, so that a proxy may serve the dashboard under a path.
  const sent = fetch(path.replace(/^\//, ''), {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  });
  const response = await connected(sent, signal);
  reportReachable(true);
  if (!response.ok) throw errorOf(response.status, await connected(response.text(), signal));
  return response;
}

/** Rejects with kind `offline` if the connection breaks. */
async function connected<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const isTimeout = error instanceof DOMException && error.name === 'TimeoutError';
    if (signal?.aborted === true && !isTimeout) throw error;
    reportReachable(false);
    const detail = isTimeout
      ? 'the control plane did not respond in time'
      : 'the control plane is not reachable';
    throw new ApiError('offline', detail, { cause: error });
  }
}
