import { detached } from '../../core/untrusted/fields.ts';
import { HEADER_VALUE } from '../../core/untrusted/header-syntax.ts';
import { withoutBlanks } from '../../core/untrusted/http-blanks.ts';
import type { HeaderLine, KnownLines } from '../../core/untrusted/known-lines.ts';
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

/** A line of the head that is allowed in plain requests. Of the first line: method and target in place of name and value. */
export interface PlainLine extends HeaderLine {
  /** Bits of header-names.ts. */
  readonly rules: number;
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
 * Reads a request if it is plain: the first `end` of `bytes` are one request of HTTP/1.1 that every server reads in the same way, or
 * a part of it that contains its head. null: they are not, and Node.js has to read them. All requests that are accepted are read in
 * the same way by Node.js (differential.test.ts). `lines`: those of other requests to the same server.
 */
export function readPlainRequest(
  bytes: Buffer,
  end: number,
  lines: KnownLines<PlainLine>,
): PlainRequest | null {
  const text = bytes.toString('latin1', 0, Math.min(end, MAX_HEAD));
  const headEnd = text.indexOf('\r\n\r\n');
  if (headEnd < 0) return null;
  const first = lineOf(lines, 0, text, 0);
  if (first === null) return null;
  const rawHeaders: string[] = [];
  let host = '';
  let length = '';
  for (let from = first.length; from < headEnd + 2;) {
    const line = lineOf(lines, 1 + rawHeaders.length / 2, text, from);
    if (line === null) return null;
    const { name, value, rules } = line;
    if ((rules & ROUTES) !== 0) {
      if (host !== '') return null;
      host = value;
    } else if ((rules & LENGTH) !== 0) {
      if (length !== '') return null;
      length = value;
    }
    rawHeaders.push(name, value);
    from += line.length;
  }
  const bodyAt = headEnd + 4;
  const bodyBytes = length === '' ? 0 : Number(length);
  const missing = bodyBytes - (end - bodyAt);
  if (host === '' || missing < 0 || rawHeaders.length > 2 * MAX_HEADER_FIELDS) return null;
  return { method: first.name, target: first.value, host, rawHeaders, bodyAt, bodyBytes, missing };
}

/** Line number `position` of the head, which begins at `from`; null: it is not one of a plain request. */
function lineOf(
  lines: KnownLines<PlainLine>,
  position: number,
  text: string,
  from: number,
): PlainLine | null {
  const known = lines.find(position, text, from);
  if (known !== undefined) return known;
  const line = position === 0 ? readRequestLine(text) : readHeaderLine(text, from);
  if (line !== null) lines.keep(position, text.slice(from, from + line.length), line);
  return line;
}

function readRequestLine(text: string): PlainLine | null {
  const lineEnd = text.indexOf('\r\n');
  const method = methodOf(text);
  if (method === undefined || !text.startsWith(VERSION, lineEnd - VERSION.length)) return null;
  // A copy, because the audit ring keeps the path, and a slice would keep the whole head.
  const target = detached(text.slice(method.length + 1, lineEnd - VERSION.length));
  return TARGET.test(target) ? { name: method, value: target, rules: 0, length: lineEnd + 2 } : null;
}

function readHeaderLine(text: string, from: number): PlainLine | null {
  const to = text.indexOf('\r\n', from);
  const colon = text.indexOf(':', from);
  if (colon < 0 || colon > to) return null;
  const { name, rules } = nameOf(text.slice(from, colon));
  const value = detached(withoutBlanks(text, colon + 1, to));
  if ((rules & UNUSUAL) !== 0 || !HEADER_VALUE.test(value)) return null;
  if ((rules & ROUTES) !== 0 && !isAuthority(value)) return null;
  if ((rules & LENGTH) !== 0 && !SIZE.test(value)) return null;
  if ((rules & CONNECTION) !== 0 && !isKeepAlive(value)) return null;
  return { name, value, rules, length: to + 2 - from };
}

function methodOf(text: string): string | undefined {
  for (const method of METHODS)
    if (text.charCodeAt(method.length) === SPACE && text.startsWith(method)) return method;
  return undefined;
}

function isKeepAlive(value: string): boolean {
  return value === 'keep-alive' || value.toLowerCase() === 'keep-alive';
}
