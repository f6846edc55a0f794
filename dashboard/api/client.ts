import { currentKey, reportRefusal } from '../session.ts';
import { ApiError } from './api-error.ts';
import { nextOf } from './link.ts';
import { open, request, type Reply } from './request.ts';

export { ApiError } from './api-error.ts';

/** One page of a list. */
export interface Page<T> {
  items: T[];
  /** Path of the next page; null: the last one. */
  next: string | null;
  /** Number of items on all pages; null: not known. */
  total: number | null;
}

/** Reads JSON. `path`: from the root of the server, such as `/api/v1/agents`. Rejects with an ApiError. */
export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return JSON.parse((await send('GET', path, { signal })).text) as T;
}

export async function getPage<T>(path: string, signal?: AbortSignal): Promise<Page<T>> {
  const { text, headers } = await send('GET', path, { signal });
  const total = headers.get('x-total-count');
  return {
    items: JSON.parse(text) as T[],
    next: nextOf(headers.get('link')),
    total: total === null ? null : Number(total),
  };
}

/** Sends JSON, and reads the JSON of the response. */
export async function post<T>(path: string, body: unknown): Promise<T> {
  return JSON.parse((await send('POST', path, { body })).text) as T;
}

export async function remove(path: string): Promise<void> {
  await send('DELETE', path, {});
}

/** The body of an endless response. Rejects like `get` if it does not start. */
export async function getStream(path: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
  const response = await withKey((key) => open('GET', path, { key, signal }));
  if (response.body === null) throw new ApiError('server', 'the response has no body');
  return response.body;
}

const send = (
  method: string,
  path: string,
  options: { body?: unknown; signal?: AbortSignal | undefined },
): Promise<Reply> => withKey((key) => request(method, path, { key, ...options }));

/** A refused credential ends the session. */
async function withKey<T>(work: (key: string | null) => Promise<T>): Promise<T> {
  const key = currentKey();
  try {
    return await work(key);
  } catch (error) {
    if (error instanceof ApiError) reportRefusal(error, key);
    throw error;
  }
}
