import { detached } from '../../core/untrusted/fields.ts';
import { HEADER_VALUE } from '../../core/untrusted/header-syntax.ts';
import { withoutBlanks } from '../../core/untrusted/http-blanks.ts';
import { isAuthority, MAX_HEADER_FIELDS } from '../proxy/framing.ts';
import { CONNECTION, LENGTH, nameOf, ROUTES, UNUSUAL } from '../proxy/header-names.ts';

/** A request without anything unusual. */
export interface PlainRequest {
  method: string;
  /** Path and query. */
  target: string;
  host: string;
  rawHeaders: string[];
  /** Position of the body. */
  bodyAt: number;
  bodyBytes: number;
  /** Bytes of the body that have not arrived. */
  missing: number;
}

/** A longer head is read by Node.js. */
const MAX_HEAD = 8 * 1024;

/** HEAD is missing: its response has no body, which only Node.js knows. */
const METHODS: readonly string[] = ['POST', 'GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const VERSION = ' HTTP/1.1';
const TARGET = /^\/[\x21\x22\x24-\x7e]*$/;
const SIZE = /^(?:0|[1-9]\d{0,9})$/;

const SPACE = 32;

/**
 * Reads a request if it is plain: `bytes` are one request of HTTP/1.1 that every server reads in the same way, or a part of it that
 * contains its head. null: they are not, and Node.js has to read them. All requests that are accepted are read in the same way by
 * Node.js (differential.test.ts).
 */
export function readPlainRequest(bytes: Buffer): PlainRequest | null {
  const text = bytes.toString('latin1', 0, Math.min(bytes.length, MAX_HEAD));
  const headEnd = text.indexOf('\r\n\r\n');
  if (headEnd < 0) return null;
  const lineEnd = text.indexOf('\r\n');
  const method = methodOf(text);
  if (method === undefined || !text.startsWith(VERSION, lineEnd - VERSION.length)) return null;
  // A copy, because the audit ring keeps the path, and a slice would keep the whole head.
  const target = detached(text.slice(method.length + 1, lineEnd - VERSION.length));
  if (!TARGET.test(target)) return null;
  const rawHeaders: string[] = [];
  let host = '';
  let length = '';
  for (let from = lineEnd + 2; from < headEnd + 2;) {
    const to = text.indexOf('\r\n', from);
    const colon = text.indexOf(':', from);
    if (colon < 0 || colon > to) return null;
    const { name, rules } = nameOf(text.slice(from, colon));
    if ((rules & UNUSUAL) !== 0) return null;
    const value = withoutBlanks(text, colon + 1, to);
    if (!HEADER_VALUE.test(value)) return null;
    if ((rules & ROUTES) !== 0) {
      if (host !== '' || !isAuthority(value)) return null;
      host = value;
    } else if ((rules & LENGTH) !== 0) {
      if (length !== '' || !SIZE.test(value)) return null;
      length = value;
    } else if ((rules & CONNECTION) !== 0 && !isKeepAlive(value)) return null;
    rawHeaders.push(name, value);
    from = to + 2;
  }
  const bodyAt = headEnd + 4;
  const bodyBytes = length === '' ? 0 : Number(length);
  const missing = bodyBytes - (bytes.length - bodyAt);
  if (host === '' || missing < 0 || rawHeaders.length > 2 * MAX_HEADER_FIELDS) return null;
  return { method, target, host, rawHeaders, bodyAt, bodyBytes, missing };
}

function methodOf(text: string): string | undefined {
  for (const method of METHODS)
    if (text.charCodeAt(method.length) === SPACE && text.startsWith(method)) return method;
  return undefined;
}

function isKeepAlive(value: string): boolean {
  return value === 'keep-alive' || value.toLowerCase() === 'keep-alive';
}
