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
 * that `JSON.stringify` writes as they were. The same object if the text has none. Keeps large numbers exact when a document is written
 * again. Without it, removing one call could change a number in the next.
 */
export function exactJson<T>(known: T, text: string): T {
  const plain = withoutLiterals(text);
  if (!INEXACT.test(plain)) return known;
  try {
    return sourceJson.parse(plain, (_key, value, { source }) =>
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

/**
 * What Python's JSON has in addition to numbers, and the numbers that stand for it while a document is read. They are outside the range
 * of JavaScript, so they are read as infinite, and `exactJson` keeps them.
 */
const LITERALS: Readonly<Record<string, string>> = {
  NaN: '9.1953e900001',
  Infinity: '9.1953e900002',
  '-Infinity': '-9.1953e900002',
};
const STANDS_FOR = new Map(Object.entries(LITERALS).map(([literal, number]) => [number, literal]));
const LITERAL = /NaN|Infinity/;
const TOKEN = /\\[^]|"|-?(?:NaN|Infinity)/g;

/** The text with numbers in place of NaN and Infinity; strings stay. */
function withoutLiterals(text: string): string {
  if (!LITERAL.test(text)) return text;
  let isInString = false;
  return text.replaceAll(TOKEN, (token) => {
    if (token === '"') isInString = !isInString;
    return isInString ? token : (LITERALS[token] ?? token);
  });
}

/** The JSON text of a document that was read, with NaN and Infinity where it had them. */
export const withLiterals = (text: string): string =>
  text.replaceAll(/-?9\.1953e90000[12]/g, (number) => STANDS_FOR.get(number) ?? number);

/** Reads JSON as the most lenient client does: Python's accepts NaN and Infinity. undefined: not JSON. */
export function readJson(text: string): unknown {
  const known = jsonOf(text);
  if (known !== undefined || !LITERAL.test(text)) return known;
  return jsonOf(withoutLiterals(text));
}
