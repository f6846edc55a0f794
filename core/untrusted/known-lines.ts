import { detached } from './fields.ts';

/** A valid header line. */
export interface HeaderLine {
  readonly name: string;
  /** A copy: a slice would keep the whole head in memory. */
  readonly value: string;
  /** Characters of the line, with its line break. */
  readonly length: number;
}

/** Further lines of a message, and longer lines, are read each time, so that the kept ones need at most 32 KiB. */
const MAX_LINES = 32;
const MAX_LENGTH = 256;

/**
 * The lines of the last heads, by position. Most messages repeat most lines of the message before, and the comparison costs
 * a third of reading the line.
 */
export class KnownLines<T extends HeaderLine> {
  readonly #lines: ({ text: string; line: T } | undefined)[] = [];

  /** The line number `position` of a message, which begins at `from`; undefined: it differs from the kept one. */
  find(position: number, text: string, from: number): T | undefined {
    const known = this.#lines[position];
    // Not `startsWith`, which compares more slowly.
    if (known === undefined || text.slice(from, from + known.text.length) !== known.text) return undefined;
    return known.line;
  }

  /** Keeps a line with its text, which includes the line break. */
  keep(position: number, text: string, line: T): void {
    if (position >= MAX_LINES || text.length > MAX_LENGTH) return;
    this.#lines[position] = { text: detached(text), line };
  }
}
