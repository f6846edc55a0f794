import type { Item } from './draft.ts';
import type { Place } from './source.ts';

/** Literals that a plain scalar would not be read as: another type, or a comment. */
const PLAIN = /^\$?[A-Za-z_][\w$./@+-]*(?::[\w$./@+-]+)*$/;
const KEYWORD = /^(?:true|false|null|yes|no|on|off|y|n)$/i;
const MAX_PLACES = 3;

/** One line of text without characters that would end a comment or hide something in a terminal. */
export function oneLine(text: string): string {
  return (
    text
      .toWellFormed()
      // oxlint-disable-next-line no-control-regex -- this replaces control characters
      .replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]+/g, ' ')
      .trim()
  );
}

/** A scalar with this value. JSON strings are valid YAML with any content. */
export function scalar(value: string | number | boolean): string {
  if (typeof value !== 'string') return String(value);
  return PLAIN.test(value) && !KEYWORD.test(value) ? value : JSON.stringify(value.toWellFormed());
}

/** A literal of the code. A blank in front keeps a literal from being read as a reference of the manifest. */
export function literal(text: string): string {
  return scalar(/^\$[A-Za-z]+:/.test(text) ? ` ${text}` : text);
}

/** `[a, b]` on one line. */
export const flowList = (values: readonly string[]): string => `[${values.map(literal).join(', ')}]`;

/** `{ a: b }` on one line, with scalars that are already YAML. */
export const flowMap = (members: readonly (readonly [key: string, value: string])[]): string =>
  `{ ${members.map(([key, value]) => `${scalar(key)}: ${value}`).join(', ')} }`;

/** `app/main.py:12, app/tools.py:3 and 2 more`. */
export function placesText(places: readonly Place[]): string {
  const shown = places.slice(0, MAX_PLACES).map(({ file, line }) => `${oneLine(file)}:${line}`);
  const rest = places.length - shown.length;
  return rest > 0 ? `${shown.join(', ')} and ${rest} more` : shown.join(', ');
}

/** Comment of a discovery. */
export const found = ({ places, proposed, seen }: Item<object>): string =>
  [
    ...(proposed.includes('item') ? ['proposed by the model, please review'] : []),
    ...(seen === undefined ? [] : [seen]),
    ...(places.length === 0 ? [] : [placesText(places)]),
  ].join('; ');

/** A value or a member of the manifest as YAML, and what a reader should know about it. */
export interface Written {
  text: string;
  comment: string;
}

/** Collects the lines of a YAML document. */
export class YamlLines {
  readonly #lines: string[] = [];

  /** @param depth levels of two blanks */
  add(depth: number, text: string, comment = ''): this {
    const note = comment === '' ? '' : ` # ${oneLine(comment)}`;
    this.#lines.push(`${'  '.repeat(depth)}${text}${note}`);
    return this;
  }

  comment(depth: number, text: string): this {
    this.#lines.push(`${'  '.repeat(depth)}# ${oneLine(text)}`);
    return this;
  }

  toString(): string {
    return `${this.#lines.join('\n')}\n`;
  }
}
