import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { answerError, notJson } from './http-app.ts';
import type { Logger } from './logger.ts';

/** One busy route of an application, by what it is asked in nearly every case: a POST of JSON. */
export interface JsonShortcut {
  path: string;
  /** Of a body; bytes. */
  limit: number;
  logger: Logger;
  /** Called before the body is read. */
  begin(request: IncomingMessage, response: ServerResponse): void;
  /** Answers; throws a Problem to refuse. */
  answer(body: unknown, response: ServerResponse): void;
}

/**
 * Takes the requests of a shortcut past `app`, which serves the same route and everything else: what is answered is the same
 * on both ways. A request that is in any way unusual, or will be refused before its body is read, goes to `app`.
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
    // Node refuses a request that has a length and chunks.
    length >= 1 &&
    length <= limit
  );
}

function serve(request: IncomingMessage, response: ServerResponse, shortcut: JsonShortcut): void {
  const chunks: Buffer[] = [];
  shortcut.begin(request, response);
  request.on('data', (chunk: Buffer) => void chunks.push(chunk));
  // Of a body that is cut there is no end, and nobody is left to be answered.
  request.on('end', () => {
    try {
      shortcut.answer(parse(chunks), response);
    } catch (error) {
      answerError(shortcut.logger, error, { method: 'POST', path: shortcut.path }, response);
    }
  });
}

function parse(chunks: Buffer[]): unknown {
  const [first] = chunks;
  const bytes = chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks);
  const text = bytes.toString();
  try {
    // A byte order mark is no part of the text.
    return JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
  } catch (error) {
    throw notJson(error);
  }
}
