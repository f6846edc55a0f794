import { jsonOf } from '../../untrusted/fields.ts';

/** More digits than a number of JavaScript has, or an exponent that may be above its range. */
const INEXACT = /\d{16}|\d[eE]\+?\d{3}/;

/** TypeScript does not know the newer members of JSON. */
interface SourceJson {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): unknown;
  isRawJSON(value: unknown): boolean;
}
const sourceJson = JSON as unknown as SourceJson;

/**
 * `known`, the parsed `text`, in a form that is written with the same numbers: numbers that JavaScript cannot represent are objects
 * that `JSON.stringify` writes as they were. The same object if the text has none. Only for a document that is written again, so that
 * an allowed call does not get another order number because the call next to it was removed.
 */
export function exactJson<T>(known: T, text: string): T {
  if (!INEXACT.test(text)) return known;
  try {
    return sourceJson.parse(text, (_key, value, { source }) =>
      typeof value === 'number' && source !== undefined && INEXACT.test(source)
        ? sourceJson.rawJSON(source)
        : value,
    ) as T;
  } catch {
    // Nested too deeply for a second reading.
    return known;
  }
}

/** A number of a document that JavaScript cannot represent, as `exactJson` returns it. */
export interface ExactNumber {
  readonly rawJSON: string;
}

export const isExactNumber = (value: unknown): value is ExactNumber => sourceJson.isRawJSON(value);

const BYTE_ORDER_MARK = '\uFEFF';

/** The text of a JSON body. Clients accept a byte order mark, `JSON.parse` does not. */
export function jsonBodyText(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
}

export const jsonBodyOf = (bytes: Buffer): unknown => jsonOf(jsonBodyText(bytes));
