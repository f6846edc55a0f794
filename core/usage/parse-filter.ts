import { Repetitions, type Repetition } from './repeated-event.ts';
import { MARKS, READ_TEXTS } from './usage-in-json.ts';

/** An escape of a letter, of `_` or of `.`: any name may be written with it. */
const ESCAPED = String.raw`\\u00(?:2[eE]|[4-7])`;
const MARK = new RegExp(`"(?:${MARKS.join('|').replaceAll('.', String.raw`\.`)})"|${ESCAPED}`);

/** Whether `findUsage` may find something in the value of a JSON text. false: certainly not. */
export function canCarryUsage(text: string): boolean {
  return MARK.test(text);
}

/** Texts that `findUsage` does not read may differ. */
const REPETITION: Repetition = {
  mayDiffer: (name, kind) => kind === 'text' && !READ_TEXTS.has(name),
  edit: null,
};

/**
 * Decides which texts of one response are parsed. Most events of a stream contain nothing but a piece of the text. The chunks of a
 * chat completion all carry the marks of a model response, and differ only in their text: a text that repeats the last parsed one is not
 * parsed.
 */
export class ParseFilter {
  readonly #repetitions = new Repetitions();

  /** UTF-16 units kept. */
  get heldLength(): number {
    return this.#repetitions.heldLength;
  }

  /** false: the text is not JSON, or adding its value to the usage would change nothing. */
  mustParse(text: string): boolean {
    return canCarryUsage(text) && this.#repetitions.matching(text) === null;
  }

  /** Call it after a text was parsed. `isRepeatable`: adding the same value again would change nothing. */
  parsed(text: string, isRepeatable: boolean): void {
    this.#repetitions.remember(text, isRepeatable ? REPETITION : null);
  }
}
