import { detached } from '../untrusted/fields.ts';

/** How an event may differ from an earlier one and still have no effect. */
export interface Repetition {
  /** Whether the value of a member may be another text, or another number of digits only. */
  mayDiffer: (name: string, kind: Gap) => boolean;
  /** The text of an event that is sent instead of the received one; null: it is sent as received. */
  edit: ((data: string) => string) | null;
}

type Gap = 'text' | 'digits';

const [QUOTE, ESCAPE] = ['"', '\\'] as const;
/** A member whose value is a string or begins with digits, or any other string of a JSON text. */
const MEMBER = /"((?:[^"\\]|\\.)*)"(?:\s*:\s*(?:"((?:[^"\\]|\\.)*)"|(\d+)))?/g;

/**
 * Compares events as text. Safe because the end of a string is found with its escapes, and no name with an escape may have another
 * value: if all text outside the given values is equal, the parsed objects differ in these values only.
 */
export class RepeatedEvent {
  readonly edit: Repetition['edit'];
  /** The texts around the values that may differ. */
  readonly #parts: readonly string[];
  /** What follows each part but the last one. */
  readonly #gaps: readonly Gap[];

  private constructor(parts: readonly string[], gaps: readonly Gap[], edit: Repetition['edit']) {
    this.#parts = parts;
    this.#gaps = gaps;
    this.edit = edit;
  }

  /** `data`: the JSON text of the earlier event. null: no value in it may differ. */
  static of(data: string, { mayDiffer, edit }: Repetition): RepeatedEvent | null {
    const parts: string[] = [];
    const gaps: Gap[] = [];
    let from = 0;
    for (const { 0: found, 1: name = '', 2: text, 3: digits, index } of data.matchAll(MEMBER)) {
      const value = text ?? digits;
      const gap = text === undefined ? 'digits' : 'text';
      if (value === undefined || name.includes(ESCAPE) || !mayDiffer(name, gap)) continue;
      const end = index + found.length - (gap === 'text' ? QUOTE.length : 0);
      parts.push(data.slice(from, end - value.length));
      gaps.push(gap);
      from = end;
    }
    return parts.length === 0 ? null : new RepeatedEvent([...parts, data.slice(from)], gaps, edit);
  }

  matches(data: string): boolean {
    const [parts, gaps] = [this.#parts, this.#gaps];
    let at = 0;
    for (let index = 0; index < gaps.length; index++) {
      const part = parts[index] ?? '';
      // Not `startsWith`, which compares several times slower.
      if (data.slice(at, at + part.length) !== part) return false;
      const value = at + part.length;
      at = gaps[index] === 'text' ? endOfString(data, value) : afterDigits(data, value);
      if (at < 0) return false;
    }
    const rest = parts[gaps.length] ?? '';
    return at + rest.length === data.length && data.slice(at) === rest;
  }
}

/** Longer events are not compared with the next one. */
const MAX_KEPT = 1024;
/** Events in a row that do not repeat the one before them. After that, none is expected to. */
const MAX_MISSES = 20;
/** An event with one of these may not be JSON: a string has no control character, and not every escape is valid. */
// oxlint-disable-next-line no-control-regex -- these are the characters that JSON does not allow
const UNCERTAIN = /[\u0000-\u001f\\]/;

/** The last event of a stream, if its repetition has no effect. Most events of a stream are texts, which then need no parsing. */
export class Repetitions {
  #last: { data: string; repetition: Repetition } | null = null;
  #event: RepeatedEvent | null = null;
  #misses = 0;

  /** false: the events of this stream differ too often. */
  get areExpected(): boolean {
    return this.#misses < MAX_MISSES;
  }

  /** UTF-16 units kept. */
  get heldLength(): number {
    return this.#last?.data.length ?? 0;
  }

  /** The last event, if `data` repeats it. An event that would be changed and may not be JSON is not a repetition. */
  matching(data: string): RepeatedEvent | null {
    if (this.#last === null) return null;
    this.#event ??= RepeatedEvent.of(this.#last.data, this.#last.repetition);
    if (this.#event?.matches(data) !== true) return null;
    if (this.#event.edit !== null && UNCERTAIN.test(data)) return null;
    this.#misses = 0;
    return this.#event;
  }

  /** An event that was parsed. `repetition` null: it may have an effect again. */
  remember(data: string, repetition: Repetition | null): void {
    const isKept = repetition !== null && data.length <= MAX_KEPT;
    // A slice would keep the whole chunk in memory.
    this.#last = isKept ? { data: detached(data), repetition } : null;
    this.#event = null;
    this.#misses += 1;
  }
}

/** The position of the quote that ends the string; -1: none. */
function endOfString(data: string, from: number): number {
  for (let at = data.indexOf(QUOTE, from); at >= 0; at = data.indexOf(QUOTE, at + 1)) {
    let escapes = 0;
    while (data[at - 1 - escapes] === ESCAPE) escapes += 1;
    if (escapes % 2 === 0) return at;
  }
  return -1;
}

function afterDigits(data: string, from: number): number {
  let at = from;
  while (data.charCodeAt(at) >= 0x30 && data.charCodeAt(at) <= 0x39) at += 1;
  return at === from ? -1 : at;
}
