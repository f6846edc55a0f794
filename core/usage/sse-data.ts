import { detached } from '../untrusted/fields.ts';

const LINE_END = /\r\n|\n|\r/g;

/** `event`: name of the event; null: no name. */
type OnData = (data: string, event: string | null) => void;

/** Called once with the start of an event or line that is too long. */
type OnSkip = (start: string) => void;

/** Characters of a skipped event or line. */
const SKIPPED_START = 4096;

const startOf = (pieces: readonly string[]): string => detached(pieces.join('').slice(0, SKIPPED_START));

/**
 * Splits a stream of server-sent events into the data of its events, independent of chunk boundaries. Keeps one unfinished
 * event of at most `maxLength` UTF-16 units. A longer event is skipped completely.
 */
export class SseEvents {
  readonly #onData: OnData;
  readonly #maxLength: number;
  readonly #onSkip: OnSkip | undefined;
  /** The unfinished line. Only new text is searched, so that a long line in small pieces stays cheap. */
  #pieces: string[] = [];
  #data: string[] = [];
  #event: string | null = null;
  #held = 0;
  #skipping = false;
  #afterCarriageReturn = false;

  constructor(onData: OnData, maxLength: number, onSkip?: OnSkip) {
    this.#onData = onData;
    this.#maxLength = maxLength;
    this.#onSkip = onSkip;
  }

  /** UTF-16 units kept of the unfinished event. */
  heldLength(): number {
    return this.#skipping ? 0 : this.#held;
  }

  write(text: string): void {
    if (text === '') return;
    let start = this.#afterCarriageReturn && text.startsWith('\n') ? 1 : 0;
    const line = (end: number, next: number): void => {
      if (end > start) this.#hold(text.slice(start, end));
      this.#finishLine();
      start = next;
    };
    // Few streams have carriage returns. Without them, no regular expression is needed.
    if (!text.includes('\r'))
      for (let end = text.indexOf('\n', start); end >= 0; end = text.indexOf('\n', start)) line(end, end + 1);
    else {
      LINE_END.lastIndex = start;
      for (let found = LINE_END.exec(text); found !== null; found = LINE_END.exec(text))
        line(found.index, LINE_END.lastIndex);
    }
    if (start < text.length) this.#hold(text.slice(start));
    this.#afterCarriageReturn = text.endsWith('\r');
  }

  /** Ends the stream. A last event without a blank line still counts, because many servers end their streams this way. */
  end(): void {
    if (this.#pieces.length > 0) this.#finishLine();
    this.#finishEvent();
  }

  #hold(piece: string): void {
    this.#held += piece.length;
    if (!this.#skipping) this.#pieces.push(piece);
    if (this.#held <= this.#maxLength) return;
    if (!this.#skipping) this.#onSkip?.(startOf([...this.#data, ...this.#pieces]));
    this.#skipping = true;
    // The placeholder keeps the line non-blank, because a blank line would end the event.
    [this.#data, this.#pieces] = [[], [':']];
  }

  #finishLine(): void {
    if (this.#pieces.length === 0) {
      this.#finishEvent();
      return;
    }
    const line = this.#pieces.join('');
    this.#pieces = [];
    if (this.#skipping) return;
    if (line.startsWith('data:')) this.#data.push(valueOf(line));
    else {
      this.#held -= line.length;
      if (line.startsWith('event:')) this.#event = valueOf(line);
    }
  }

  #finishEvent(): void {
    if (this.#data.length > 0 && !this.#skipping) this.#onData(this.#data.join('\n'), this.#event);
    this.#data = [];
    this.#event = null;
    this.#held = 0;
    this.#skipping = false;
  }
}

/** The text after the colon, without one leading space. */
function valueOf(line: string): string {
  const value = line.slice(line.indexOf(':') + 1);
  return value.startsWith(' ') ? value.slice(1) : value;
}

/** Splits text into lines, like `SseEvents` for events. A line longer than `maxLength` units is skipped completely. */
export function createLines(
  onLine: (line: string) => void,
  maxLength: number,
  onSkip?: OnSkip,
): Pick<SseEvents, 'write' | 'heldLength' | 'end'> {
  let pieces: string[] = [];
  let held = 0;
  const finishLine = (): void => {
    if (held > 0 && held <= maxLength) onLine(pieces.join(''));
    pieces = [];
    held = 0;
  };
  const hold = (piece: string): void => {
    const wasShort = held <= maxLength;
    held += piece.length;
    pieces.push(piece);
    if (held <= maxLength) return;
    if (wasShort) onSkip?.(startOf(pieces));
    pieces = [];
  };
  return {
    heldLength: () => (held > maxLength ? 0 : held),
    write(text) {
      const lines = text.split('\n');
      for (const line of lines.slice(0, -1)) {
        hold(line);
        finishLine();
      }
      hold(lines.at(-1) ?? '');
    },
    end: finishLine,
  };
}
