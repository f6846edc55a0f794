import type { IncomingMessage } from 'node:http';
import { valuesOf } from './headers.ts';

/** Maximum number of header fields of a request. */
export const MAX_HEADER_FIELDS = 256;

/** The parts of a request that determine its target and its end. */
export type RequestHead = Pick<IncomingMessage, 'method' | 'url' | 'httpVersion' | 'rawHeaders'>;

export type Framed =
  | {
      ok: true;
      /** Origin form (`/path?query`), or `*` for `OPTIONS *`. */
      path: string;
      host: string | null;
      body: 'none' | 'sized' | 'chunked';
      /** Bytes of the body; Infinity: unknown in advance. */
      bodyBytes: number;
    }
  | { ok: false; status: 400 | 413 | 431 | 501 | 505; detail: string };

/**
 * Rejects ambiguous requests, which two servers could read differently, and normalises all others. Node's strict parser has
 * already rejected a length next to a transfer coding, two lengths, bare line feeds and folded lines.
 */
export function frame(head: RequestHead): Framed {
  if (head.rawHeaders.length > 2 * MAX_HEADER_FIELDS)
    return rejected(431, `the request has more than ${MAX_HEADER_FIELDS} header fields`);
  if (head.httpVersion !== '1.1' && head.httpVersion !== '1.0')
    return rejected(505, 'only HTTP/1.1 and HTTP/1.0 are supported');
  const hosts = valuesOf(head.rawHeaders, 'host');
  if (hosts.length === 0 && head.httpVersion === '1.1')
    return rejected(400, 'the request has no Host header');
  if (hosts.length > 1) return rejected(400, 'the request has more than one Host header');
  if (!hosts.every((host) => AUTHORITY.test(host)))
    return rejected(400, 'the Host header is not a valid host');
  const codings = valuesOf(head.rawHeaders, 'transfer-encoding');
  if (codings.length > 0 && head.httpVersion === '1.0')
    return rejected(400, 'HTTP/1.0 does not support Transfer-Encoding');
  if (codings.length > 0 && !CHUNKED.test(codings.join(',')))
    return rejected(501, 'the only supported Transfer-Encoding is chunked');
  const target = targetOf(head);
  if (target === null)
    return rejected(400, 'the request target is neither a path nor an absolute http(s) URL');
  const length = Number(valuesOf(head.rawHeaders, 'content-length')[0] ?? 0);
  if (!Number.isSafeInteger(length)) return rejected(413, 'the Content-Length is too large');
  return {
    ok: true,
    path: target.path,
    host: target.authority ?? hosts[0] ?? null,
    body: codings.length > 0 ? 'chunked' : length > 0 ? 'sized' : 'none',
    bodyBytes: codings.length > 0 ? Infinity : length,
  };
}

function rejected(status: 400 | 413 | 431 | 501 | 505, detail: string): Framed {
  return { ok: false, status, detail };
}

/** The value is not trimmed: JavaScript treats some bytes above ASCII as blanks, HTTP does not. */
const CHUNKED = /^chunked$/i;
/** `uri-host [":" port]` of RFC 9110 section 7.2. Some servers read other values as a path, a list or credentials. */
const AUTHORITY = /^(?:\[[\da-f:.]+\]|(?:[\w.~!$&'()*+;=-]|%[\da-f]{2})+)(?::\d*)?$/i;
const ABSOLUTE = /^https?:\/\/([^/?]+)([/?].*)?$/i;

/** Whether a Host header has this form. */
export const isAuthority = (value: string): boolean => AUTHORITY.test(value);

/** The authority of an absolute-form target replaces the Host header (RFC 9112 section 3.2.2). */
function targetOf({ method, url: target = '/' }: RequestHead): { path: string; authority?: string } | null {
  // A target must not have a fragment: some servers remove it, others treat it as a part of the path.
  if (target.includes('#')) return null;
  if (target.startsWith('/')) return { path: target };
  if (target === '*') return method === 'OPTIONS' ? { path: '*' } : null;
  const [, authority, rest] = ABSOLUTE.exec(target) ?? [];
  if (authority === undefined || !AUTHORITY.test(authority)) return null;
  if (rest === undefined) return { path: method === 'OPTIONS' ? '*' : '/', authority };
  return { path: rest.startsWith('?') ? `/${rest}` : rest, authority };
}
