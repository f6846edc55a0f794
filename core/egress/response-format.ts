import { bodyText } from './body-text.ts';

/** How the body of a response is read: one JSON document, server-sent events, or lines of JSON. */
export type ResponseFormat = 'json' | 'sse' | 'ndjson';

/** Lines of JSON have no such type here: they begin like a document, and clients also read a document that has their type. */
export const isSseType = (contentType: string): boolean => contentType === 'text/event-stream';

/** Bytes in which a format must begin, after the blanks that servers send while a client waits. */
const START_BYTES = 64;
/** Bytes that show the encoding of a text. */
const ENCODING_BYTES = 4;
/** The first byte of a byte order mark, or of a letter in UTF-16 or UTF-32. */
const isOfEncoding = (byte = 0): boolean => byte === 0 || byte >= 0x80;

/** Blanks of JSON: space, tab, LF and CR. */
const isBlank = (byte: number): boolean => byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d;

const FIELDS = [':', 'data:', 'event:', 'id:', 'retry:'];

/** The format of a body that begins with these bytes; `none`: none of them; null: not known yet. `isWhole`: the body has no more bytes. */
export function formatOfStart(start: Buffer, isWhole = false): ResponseFormat | 'none' | null {
  const begin = start.findIndex((byte) => !isBlank(byte));
  if (begin < 0) return isWhole ? 'none' : null;
  const bytes = start.subarray(begin, begin + START_BYTES);
  if (!isWhole && bytes.length < ENCODING_BYTES && isOfEncoding(bytes[0])) return null;
  const { text } = bodyText(bytes);
  if (text.startsWith('{') || text.startsWith('[')) return 'json';
  if (FIELDS.some((field) => text.startsWith(field))) return 'sse';
  const isOpen = bytes.length < START_BYTES && FIELDS.some((field) => field.startsWith(text));
  return isOpen && !isWhole ? null : 'none';
}
