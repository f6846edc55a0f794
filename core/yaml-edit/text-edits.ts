import type { TextStyle } from './render.ts';

/** Replaces the text between two offsets. */
interface TextEdit {
  from: number;
  to: number;
  text: string;
}

/** Collects edits by offset and applies them together. */
export class TextEdits {
  readonly text: string;
  readonly style: TextStyle;
  readonly #edits: TextEdit[] = [];

  constructor(text: string, style: TextStyle) {
    this.text = text;
    this.style = style;
  }

  replace(from: number, to: number, text: string): void {
    this.#edits.push({ from, to, text });
  }

  /** Inserts whole lines before the line that begins at `offset`, or after a last line without a line end. */
  insertLines(offset: number, lines: string): void {
    const { newline } = this.style;
    if (this.#isEndOfOpenLine(offset))
      this.replace(offset, offset, newline + lines.slice(0, -newline.length));
    else this.replace(offset, offset, lines);
  }

  /** Offset of the start of the line that contains `offset`. */
  lineStart(offset: number): number {
    return this.text.lastIndexOf('\n', offset - 1) + 1;
  }

  /** Offset of the start of the next line; `offset` itself if `offset` is at the start of a line. */
  nextLine(offset: number): number {
    if (this.text[offset - 1] === '\n') return offset;
    const end = this.text.indexOf('\n', offset);
    return end === -1 ? this.text.length : end + 1;
  }

  /** Whether only spaces precede `offset` on its line. */
  isFirstOnLine(offset: number): boolean {
    return /^ *$/.test(this.text.slice(this.lineStart(offset), offset));
  }

  columnOf(offset: number): number {
    return offset - this.lineStart(offset);
  }

  /** Returns the text with all edits applied. Edits at the same offset are applied in the order in which they were added. */
  apply(): string {
    const ordered = this.#edits
      .map((edit, order) => ({ ...edit, order }))
      .sort((a, b) => a.from - b.from || a.order - b.order);
    let result = '';
    let at = 0;
    for (const { from, to, text } of ordered) {
      result += this.text.slice(at, Math.max(at, from)) + text;
      at = Math.max(at, to);
    }
    result += this.text.slice(at);
    // If the last line had no line end, the new last line must not have one either.
    const { newline } = this.style;
    return !this.text.endsWith('\n') && result.endsWith(newline) ? result.slice(0, -newline.length) : result;
  }

  #isEndOfOpenLine(offset: number): boolean {
    return offset === this.text.length && offset > 0 && !this.text.endsWith('\n');
  }
}
