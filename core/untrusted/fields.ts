/** An error of untrusted JSON. Parsers return all errors at once. */
export interface FieldError {
  /** For example `gap.issues[3].severity`; empty for the document itself. */
  path: string;
  message: string;
}

/** The result of a parser for a value that is not valid. */
export const INVALID: unique symbol = Symbol('invalid');

/** Limits the size of the error response for a body with very many errors. */
const MAX_ERRORS = 50;

export function fail(errors: FieldError[], path: string, message: string): typeof INVALID {
  if (errors.length < MAX_ERRORS) errors.push({ path, message });
  return INVALID;
}

/** The parsed JSON text; undefined for a text that is not JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The own member `key`. Members of the prototype are not read. */
export function own(record: Record<string, unknown>, key: string): unknown {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

/** Cuts the text to at most `max` UTF-16 units, without half a surrogate pair at the end. The rest does not stay in memory. */
export function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  const last = text.charCodeAt(max - 1);
  return detached(text.slice(0, last >= 0xd800 && last <= 0xdbff ? max - 1 : max));
}

/** Copies the string. V8 keeps the original string in memory as long as a slice of it exists. */
export function detached(part: string): string {
  return ` ${part}`.slice(1);
}
