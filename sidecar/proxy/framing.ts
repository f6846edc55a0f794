import type { IncomingMessage } from 'node:http';
import { valuesOf, type HeaderList } from './headers.ts';

/** Fields that a head may have. */
export const MAX_HEADER_FIELDS = 256;

/** The parts of a request that say where it goes and where it ends. */
export interface RequestLine {
  method: string;
  /** The request target as sent. */
  target: string;
  httpVersion: string;
  rawHeaders: HeaderList;
}

export type Framed =
  | {
      ok: true;
      /** Origin form (`/path?query`), or `*` for `OPTIONS *`. */
      path: string;
      host: string | null;
      body: 'none' | 'sized' | 'chunked';
      /** Bytes of the body; Infinity: not known ahead. */
      bodyBytes: number;
    }
  | { ok: false; status: 400 | 413 | 431 | 501 | 505; detail: string };

export const lineOf = (request: IncomingMessage): RequestLine => ({
  method: request.method ?? 'GET',
  target: request.url ?? '/',
  httpVersion: request.httpVersion,
  rawHeaders: request.rawHeaders,
});

/**
 * Refuses what two servers could read in two ways, and normalises the rest. Node's strict parser has already refused
 * a length beside a transfer coding, two lengths, bare line feeds and folded lines; this is what it lets through.
 */
export function frame(line: RequestLine): Framed {
  if (line.rawHeaders.length > 2 * MAX_HEADER_FIELDS)
    return refused(431, `the head has more than ${MAX_HEADER_FIELDS} fields`);
  if (line.httpVersion !== '1.1' && line.httpVersion !== '1.0')
    return refused(505, 'only HTTP/1.1 and HTTP/1.0 are spoken here');
  const hosts = valuesOf(line.rawHeaders, 'host');
  if (hosts.length === 0 && line.httpVersion === '1.1') return refused(400, 'the request has no Host header');
  if (hosts.length > 1) return refused(400, 'the request has more than one Host header');
  if (!hosts.every((host) => AUTHORITY.test(host))) return refused(400, 'the Host header is not a host');
  const codings = valuesOf(line.rawHeaders, 'transfer-encoding');
  if (codings.length > 0 && line.httpVersion === '1.0')
    return refused(400, 'HTTP/1.0 has no Transfer-Encoding');
  if (codings.length > 0 && !CHUNKED.test(codings.join(',')))
    return refused(501, 'the only Transfer-Encoding understood here is chunked');
  const target = targetOf(line);
  if (target === null) return refused(400, 'the request target is neither a path nor an absolute http URL');
  const length = Number(valuesOf(line.rawHeaders, 'content-length')[0] ?? 0);
  if (!Number.isSafeInteger(length)) return refused(413, 'the body is longer than can be counted here');
  return {
    ok: true,
    path: target.path,
    host: target.authority ?? hosts[0] ?? null,
    body: codings.length > 0 ? 'chunked' : length > 0 ? 'sized' : 'none',
    bodyBytes: codings.length > 0 ? Infinity : length,
  };
}

function refused(status: 400 | 413 | 431 | 501 | 505, detail: string): Framed {
  return { ok: false, status, detail };
}

/** Not trimmed: a byte above ASCII is no blank, though JavaScript takes some for one. */
const CHUNKED = /^chunked$/i;
/** `uri-host [":" port]` of RFC 9110 section 7.2; what is none is read by some as a path, a list or credentials. */
const AUTHORITY = /^(?:\[[\da-f:.]+\]|(?:[\w.~!$&'()*+;=-]|%[\da-f]{2})+)(?::\d*)?$/i;
const ABSOLUTE = /^https?:\/\/([^/?]+)([/?].*)?$/i;

/** The authority of an absolute-form target replaces the Host header (RFC 9112 section 3.2.2). */
function targetOf({ method, target }: RequestLine): { path: string; authority?: string } | null {
  // No target has a fragment: some servers cut it off, others take it for a part of the path.
  if (target.includes('#')) return null;
  if (target.startsWith('/')) return { path: target };
  if (target === '*') return method === 'OPTIONS' ? { path: '*' } : null;
  const [, authority, rest] = ABSOLUTE.exec(target) ?? [];
  if (authority === undefined || !AUTHORITY.test(authority)) return null;
  if (rest === undefined) return { path: method === 'OPTIONS' ? '*' : '/', authority };
  return { path: rest.startsWith('?') ? `/${rest}` : rest, authority };
}
