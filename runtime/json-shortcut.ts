// Bypasses Express for one route. Express with its body parser, and the log format, took half of the CPU time that an admission
// review costs beyond a webhook that only returns `allowed` (docs/decisions/0021).
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { respondError, notJson } from './http-app.ts';
import type { Logger } from './logger.ts';

/** Fast path for the usual request of one busy route: a POST with a JSON body. */
export interface JsonShortcut {
  path: string;
  /** Maximum body size in bytes. */
  limit: number;
  logger: Logger;
  /** Called before the body is read. */
  begin(request: IncomingMessage, response: ServerResponse): void;
  /** Sends the response, or throws a Problem. */
  respond(body: unknown, response: ServerResponse): void;
}

/**
 * Serves the usual requests of a route without `app`. `app` serves the same route with the same responses, and everything
 * else. A request that is unusual, or that is rejected before its body is read, goes to `app`.
 */
export function withShortcut(app: RequestListener, shortcut: JsonShortcut): RequestListener {
  return (request, response) => {
    if (isUsual(request, shortcut)) serve(request, response, shortcut);
    else app(request, response);
  };
}

function isUsual({ method, url = '', headers }: IncomingMessage, { path, limit }: JsonShortcut): boolean {
  const length = Number(headers['content-length']);
  return (
    method === 'POST' &&
    url.startsWith(path) &&
    (url.length === path.length || url[path.length] === '?') &&
    headers['content-type'] === 'application/json' &&
    headers['content-encoding'] === undefined &&
    // Node.js rejects a request with both Content-Length and Transfer-Encoding.
    length >= 1 &&
    length <= limit
  );
}

function serve(request: IncomingMessage, response: ServerResponse, shortcut: JsonShortcut): void {
  const chunks: Buffer[] = [];
  shortcut.begin(request, response);
  request.on('data', (chunk: Buffer) => void chunks.push(chunk));
  // A truncated body emits no 'end', and its client is gone.
  request.on('end', () => {
    try {
      shortcut.respond(parse(chunks), response);
    } catch (error) {
      respondError(shortcut.logger, error, { method: 'POST', path: shortcut.path }, response);
    }
  });
}

function parse(chunks: Buffer[]): unknown {
  const [first] = chunks;
  const bytes = chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks);
  const text = bytes.toString();
  try {
    // A byte order mark is not part of the text.
    return JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
  } catch (error) {
    throw notJson(error);
  }
}
