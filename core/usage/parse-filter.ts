import { detached } from '../untrusted/fields.ts';
import { MARKS, READ_TEXTS } from './usage-in-json.ts';

/** Decides which texts of one response are parsed. Most events of a stream contain nothing but a piece of the answer. */
export interface ParseFilter {
  /** false: the text is not JSON, or adding its value to the usage would change nothing. */
  mustParse(text: string): boolean;
  /** Call it after a text was parsed. `isRepeatable`: adding the same value again would change nothing. */
  parsed(text: string, isRepeatable: boolean): void;
  /** UTF-16 units kept. */
  readonly heldLength: number;
}

export type CreateParseFilter = () => ParseFilter;

/** An escape of a letter, of `_` or of `.`: any name may be written with it. */
const ESCAPED = String.raw`\\u00(?:2[eE]|[4-7])`;
const MARK = new RegExp(`"(?:${MARKS.join('|').replaceAll('.', String.raw`\.`)})"|${ESCAPED}`);

/** Whether `findUsage` may find something in the value of a JSON text. false: certainly not. */
export function canCarryUsage(text: string): boolean {
  return MARK.test(text);
}

/** Longer texts are not kept to be compared with the next one. */
const MAX_KEPT = 1024;

/** A member with a text as its value, or any other string of a JSON text. */
const STRING = /"((?:[^"\\]|\\.)*)"\s*:\s*"((?:[^"\\]|\\.)*)"|"(?:[^"\\]|\\.)*"/g;

/**
 * The chunks of a chat completion all carry the marks of a model response, and differ only in the text of the answer. A text
 * is not parsed if it differs from the last parsed one only in strings that `findUsage` does not read.
 */
class RepetitionFilter implements ParseFilter {
  /** The last parsed text without the strings that may differ; null: its repetition must be parsed. */
  #pieces: string[] | null = null;
  heldLength = 0;

  mustParse(text: string): boolean {
    return canCarryUsage(text) && !this.#isRepetition(text);
  }

  parsed(text: string, isRepeatable: boolean): void {
    this.#pieces = isRepeatable && text.length <= MAX_KEPT ? piecesOf(text) : null;
    this.heldLength = this.#pieces === null ? 0 : text.length;
  }

  #isRepetition(text: string): boolean {
    const pieces = this.#pieces;
    if (pieces === null) return false;
    let at = 0;
    for (const piece of pieces) {
      if (at > 0) at = endOfString(text, at);
      // Not `startsWith`, which compares several times slower.
      if (text.slice(at, at + piece.length) !== piece) return false;
      at += piece.length;
    }
    return at === text.length;
  }
}

export const createParseFilter: CreateParseFilter = () => new RepetitionFilter();

/** Splits a JSON text at the strings that `findUsage` does not read. Copies, because a slice would keep the whole chunk in memory. */
function piecesOf(text: string): string[] {
  const pieces: string[] = [];
  let from = 0;
  for (const { 0: found, 1: name, 2: value, index } of text.matchAll(STRING)) {
    if (name === undefined || value === undefined || name.includes('\\') || READ_TEXTS.has(name)) continue;
    const end = index + found.length - 1;
    pieces.push(detached(text.slice(from, end - value.length)));
    from = end;
  }
  pieces.push(detached(text.slice(from)));
  return pieces;
}

/** The position of the quote that ends the string; the length of the text if there is none. */
function endOfString(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (text[at - 1 - backslashes] === '\\') backslashes += 1;
    if (backslashes % 2 === 0) return at;
  }
  return text.length;
}
