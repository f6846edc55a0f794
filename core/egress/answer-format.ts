import { bodyText } from './body-text.ts';

/** How the body of a response is read: one JSON document, server-sent events, or lines of JSON. */
export type AnswerFormat = 'json' | 'sse' | 'ndjson';

const FORMATS: Readonly<Record<string, AnswerFormat>> = {
  'text/event-stream': 'sse',
  'application/x-ndjson': 'ndjson',
  'application/ndjson': 'ndjson',
};

/** The format that a content type names; null: the first bytes decide, because clients read the body whatever its type is. */
export const formatOfType = (contentType: string): AnswerFormat | null => FORMATS[contentType] ?? null;

/** Bytes in which a format must begin. */
const START_BYTES = 64;
/** Bytes that show the encoding of a text. */
const ENCODING_BYTES = 4;
/** The first byte of a byte order mark, or of a letter in UTF-16 or UTF-32. */
const isOfEncoding = (byte = 0): boolean => byte === 0 || byte >= 0x80;

const FIELDS = [':', 'data:', 'event:', 'id:', 'retry:'];

/** The format of a body that begins with these bytes; `none`: none of them; null: not known yet. `isWhole`: the body has no more bytes. */
export function formatOfStart(start: Buffer, isWhole = false): AnswerFormat | 'none' | null {
  if (!isWhole && start.length < ENCODING_BYTES && isOfEncoding(start[0])) return null;
  const { text } = bodyText(start.subarray(0, START_BYTES));
  if (text.startsWith('{') || text.startsWith('[')) return 'json';
  if (FIELDS.some((field) => text.startsWith(field))) return 'sse';
  const isOpen = start.length < START_BYTES && FIELDS.some((field) => field.startsWith(text));
  return isOpen && !isWhole ? null : 'none';
}
