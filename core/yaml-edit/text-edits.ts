import type { TextStyle } from './render.ts';

/** The text from one offset to another becomes another text. */
interface TextEdit {
  from: number;
  to: number;
  text: string;
}

/** Edits of one text, collected by its offsets and made together. */
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

  /** Puts whole lines before the line that begins at `offset`, or behind a last line that has no end. */
  insertLines(offset: number, lines: string): void {
    const { newline } = this.style;
    if (this.#endsInALine(offset)) this.replace(offset, offset, newline + lines.slice(0, -newline.length));
    else this.replace(offset, offset, lines);
  }

  /** Where the line of `offset` begins. */
  lineStart(offset: number): number {
    return this.text.lastIndexOf('\n', offset - 1) + 1;
  }

  /** Where the line after `offset` begins; a line that ends right before `offset` counts as its own. */
  nextLine(offset: number): number {
    if (this.text[offset - 1] === '\n') return offset;
    const end = this.text.indexOf('\n', offset);
    return end === -1 ? this.text.length : end + 1;
  }

  /** Nothing but spaces stands before `offset` on its line. */
  isFirstOnLine(offset: number): boolean {
    return /^ *$/.test(this.text.slice(this.lineStart(offset), offset));
  }

  columnOf(offset: number): number {
    return offset - this.lineStart(offset);
  }

  /** The text with every edit made; those of one place in the order in which they came. */
  made(): string {
    const ordered = this.#edits
      .map((edit, order) => ({ ...edit, order }))
      .sort((a, b) => a.from - b.from || a.order - b.order);
    let made = '';
    let at = 0;
    for (const { from, to, text } of ordered) {
      made += this.text.slice(at, Math.max(at, from)) + text;
      at = Math.max(at, to);
    }
    made += this.text.slice(at);
    // Where the last line had no end, the one that is last now has none either.
    const { newline } = this.style;
    return !this.text.endsWith('\n') && made.endsWith(newline) ? made.slice(0, -newline.length) : made;
  }

  #endsInALine(offset: number): boolean {
    return offset === this.text.length && offset > 0 && !this.text.endsWith('\n');
  }
}
