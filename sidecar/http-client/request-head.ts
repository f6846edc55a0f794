import type { UpstreamRequest } from '../proxy/upstream.ts';

/** How the end of the request's body is marked. */
export interface RequestHead {
  /** The head as sent, one character per byte. */
  text: string;
  /** true: the body is sent in chunks. */
  isChunked: boolean;
  /** Declared bytes of the body; null: none declared. */
  length: number | null;
}

/** Methods that define a meaning for a body: without a body, the length 0 is sent (RFC 9110 section 8.6). */
const WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'QUERY', 'PROPFIND', 'PROPPATCH']);

/** A line break is one character of a line, and a character above one byte would be sent as another one. */
const UNSENDABLE = /[^\t\x20-\xff]/;
const UNSENDABLE_TARGET = /[^\x21-\xff]/;

/** Writes the head of a request. `prefix`: precedes every path. `host`: for a request without Host, which HTTP/1.1 requires. */
export function requestHead(request: UpstreamRequest, prefix: string, host: string): RequestHead {
  const { method, path, headers, body } = request;
  const target = path === '*' ? path : prefix + path;
  if (UNSENDABLE_TARGET.test(target)) throw new Error('the request target has an invalid character');
  let length: number | null = null;
  let text = `${method} ${target} HTTP/1.1\r\n`;
  if (headers[0] !== 'Host') text += `Host: ${host}\r\n`;
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] ?? '';
    const value = headers[i + 1] ?? '';
    if (name.length === 14 && name.toLowerCase() === 'content-length') length = Number(value);
    // Not the line, which would have to be copied together for it.
    if (UNSENDABLE.test(name) || UNSENDABLE.test(value))
      throw new Error('a request header has an invalid character');
    text += `${name}: ${value}\r\n`;
  }
  const isStream = body !== null && !Buffer.isBuffer(body);
  const isChunked = request.chunked || (isStream && length === null);
  if (isChunked) text += 'Transfer-Encoding: chunked\r\n';
  else if (length === null && (body !== null || WITH_BODY.has(method))) {
    length = Buffer.isBuffer(body) ? body.length : 0;
    text += `Content-Length: ${length}\r\n`;
  }
  text += 'Connection: keep-alive\r\n\r\n';
  return { text, isChunked, length };
}

/** Writes the end of a chunked body. */
export function lastChunk(trailers: readonly string[]): string {
  let text = '0\r\n';
  for (let i = 0; i < trailers.length; i += 2) {
    const line = `${trailers[i] ?? ''}: ${trailers[i + 1] ?? ''}`;
    if (UNSENDABLE.test(line)) throw new Error('a request trailer has an invalid character');
    text += `${line}\r\n`;
  }
  return `${text}\r\n`;
}
