/**
 * Texts of an event that do not matter to its reader, by their keys: with other texts, the same event has no effect. Keys with
 * numbers are allowed too.
 */
export interface Repetition {
  keys: ReadonlySet<string>;
  /** The text of an event that is sent instead of the received one; null: it is sent as received. */
  edit: ((data: string) => string) | null;
}

const [QUOTE, ESCAPE] = ['"', '\\'] as const;
const BETWEEN = /^\s*:\s*$/;
const NUMBER = /^\s*:\s*\d+/;

/**
 * Recognises events that differ from an earlier event only in such texts, without parsing them. Exact: without an escape, a string
 * of JSON is the text between two quotes, so an event whose other characters are all the same has the same members, names and
 * values apart from these texts. An event with an escape is not recognised.
 */
export class RepeatedEvent {
  readonly edit: Repetition['edit'];
  /** The texts around those that do not matter. */
  readonly #parts: readonly string[];
  /** What follows each part but the last one. */
  readonly #gaps: readonly ('text' | 'digits')[];

  private constructor(
    parts: readonly string[],
    gaps: readonly ('text' | 'digits')[],
    edit: Repetition['edit'],
  ) {
    this.#parts = parts;
    this.#gaps = gaps;
    this.edit = edit;
  }

  /** `data`: the JSON text of the earlier event. null: it has an escape, or none of the keys. */
  static of(data: string, { keys, edit }: Repetition): RepeatedEvent | null {
    if (data.includes(ESCAPE)) return null;
    // Texts outside of strings, and strings, in turn.
    const tokens = data.split(QUOTE);
    const parts: string[] = [];
    const gaps: ('text' | 'digits')[] = [];
    let part = tokens[0] ?? '';
    for (let at = 1; at + 1 < tokens.length; at += 2) {
      const [before = '', text = '', after = ''] = [tokens[at - 1], tokens[at], tokens[at + 1]];
      if (BETWEEN.test(before) && keys.has(tokens[at - 2] ?? '')) {
        parts.push(part + QUOTE);
        gaps.push('text');
        part = QUOTE + after;
        continue;
      }
      part += QUOTE + text + QUOTE;
      const [number = ''] = keys.has(text) ? (NUMBER.exec(after) ?? []) : [];
      if (number !== '') {
        parts.push(part + number.replace(/\d+$/, ''));
        gaps.push('digits');
        part = '';
      }
      part += after.slice(number.length);
    }
    return parts.length === 0 ? null : new RepeatedEvent([...parts, part], gaps, edit);
  }

  matches(data: string): boolean {
    const [parts, gaps] = [this.#parts, this.#gaps];
    let at = 0;
    for (let index = 0; index < gaps.length; index++) {
      const part = parts[index] ?? '';
      if (!data.startsWith(part, at)) return false;
      at =
        gaps[index] === 'text' ? data.indexOf(QUOTE, at + part.length) : afterDigits(data, at + part.length);
      if (at < 0) return false;
    }
    const rest = parts[gaps.length] ?? '';
    return at + rest.length === data.length && data.endsWith(rest) && !data.includes(ESCAPE);
  }
}

/** Events in a row that do not repeat the one before them. After that, none is expected to. */
const MAX_MISSES = 20;
/** Not valid in a string of JSON. */
// oxlint-disable-next-line no-control-regex -- these are the characters that JSON does not allow
const CONTROL = /[\u0000-\u001f]/;

/** The last event of a stream, if its repetition has no effect. Most events of a stream are texts, which then need no parsing. */
export class Repetitions {
  #last: { data: string; repetition: Repetition } | null = null;
  #event: RepeatedEvent | null = null;
  #misses = 0;

  /** false: the events of this stream differ too often. */
  get areExpected(): boolean {
    return this.#misses < MAX_MISSES;
  }

  /** The last event, if `data` repeats it. An event that would be changed and may not be JSON is not a repetition. */
  matching(data: string): RepeatedEvent | null {
    if (this.#last === null) return null;
    this.#event ??= RepeatedEvent.of(this.#last.data, this.#last.repetition);
    if (this.#event?.matches(data) !== true) return null;
    if (this.#event.edit !== null && CONTROL.test(data)) return null;
    this.#misses = 0;
    return this.#event;
  }

  /** An event that was parsed. `repetition` null: it may have an effect again. */
  remember(data: string, repetition: Repetition | null): void {
    this.#last = repetition === null ? null : { data, repetition };
    this.#event = null;
    this.#misses += 1;
  }
}

function afterDigits(data: string, from: number): number {
  let at = from;
  while (data.charCodeAt(at) >= 0x30 && data.charCodeAt(at) <= 0x39) at += 1;
  return at === from ? -1 : at;
}
