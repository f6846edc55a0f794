import { detached, isRecord, own } from '../untrusted/fields.ts';
import type { Coding, Decode } from './coding.ts';
import { countNames, type SentCounts } from './token-counts.ts';
import { MODELS } from './call-names.ts';

/** Bytes of an encoded body that are kept to be decoded. */
const MAX_ENCODED = 1024 * 1024;
/** A body with more different numbers or names is taken to contain every number and name. */
const [MAX_NUMBERS, MAX_MODELS] = [10_000, 100] as const;
const NUMBER_BYTES = 40;
/** Longer than a name, its separators and its value. */
const OVERLAP = 512;

/** Parts of the names of counts. Their first letters are rare, so a search for them is fast. */
export const COUNT_NEEDLES = ['_token', 'Token', '_eval', '_count', '_predicted'] as const;

/** Between a name and its value in JSON, JSON within a string, forms, YAML and XML. */
const SEPARATORS = String.raw`(?:\\[nrt]|[^\w.-])+`;
const NUMBER = String.raw`-?(?:0[xob][\dA-Fa-f]+|\d[\d._eE+-]*)`;
/** AI SDK 6 has an object with a total instead of the number. */
const COUNT = valuePattern(countNames(), `(?:total${SEPARATORS})?(${NUMBER})`);
const MODEL = valuePattern(MODELS, String.raw`([^"'&<\r\n]{1,200})`);
/** In front of `/` in a name, or of the quote after it. */
const BACKSLASHES = /\\+(?=\/|$)/g;
/** Printable characters that are escaped in JSON or in a form. */
const ESCAPED = /(?:\\u00|%)[2-7]/;
/** Starts only at the first backslash. Otherwise, the time for many backslashes would grow with their square. */
const ESCAPE = /(?:(?<!\\)\\+u00|%)([2-7][\dA-Fa-f])/g;
const NOT_ASCII = /[^\x20-\x7e]/;

/**
 * The token counts and model names in the body of one request, without the body. An agent may return what its client sent, and
 * a client must not write the agent's usage. The text is searched, not parsed, because agents read more formats than JSON.
 */
export class RequestContent implements SentCounts {
  bytes = 0;
  hasMatched = false;
  readonly #coding: Coding | null;
  readonly #decode: Decode;
  /** Bytes of the complete body; Infinity: unknown. */
  readonly #length: number;
  #encoded: Buffer[] | null = null;
  #rest = '';
  #numbers: Set<number> | 'any' | null = null;
  #models: Set<string> | 'any' | null = null;

  /**
   * @param coding null: the body is not encoded; `unknown`: it cannot be decoded
   * @param length bytes of the body; Infinity: unknown
   */
  constructor(coding: Coding | 'unknown' | null, decode: Decode, length = Infinity) {
    this.#coding = coding === 'unknown' ? null : coding;
    this.#decode = decode;
    this.#length = length;
  }

  /** Estimated memory in bytes. */
  get heldBytes(): number {
    const ofNumbers = this.#numbers instanceof Set ? this.#numbers.size * NUMBER_BYTES : 0;
    return ofNumbers + (this.#encoded === null ? 0 : this.bytes);
  }

  /** An encoded body is searched as it is, too, because many agents ignore the coding. */
  write(chunk: Buffer): void {
    this.bytes += chunk.length;
    if (this.#numbers === 'any' && this.#models === 'any') return;
    this.#search(chunk);
    if (this.#coding === null) return;
    if (this.bytes > MAX_ENCODED) this.giveUp();
    else (this.#encoded ??= []).push(Buffer.from(chunk));
  }

  /** Releases the memory. From then on, every count and name is taken to be in the request. */
  giveUp(): void {
    this.#encoded = null;
    this.#numbers = 'any';
    this.#models = 'any';
  }

  hasCounts(holder: unknown): boolean {
    this.#decodeAll();
    const numbers = this.#numbers;
    if (numbers === null || !isRecord(holder)) return false;
    const { iterations } = holder;
    const parts: readonly unknown[] = Array.isArray(iterations) ? iterations : [];
    const stated = [holder, ...parts].flatMap(countsIn);
    const isSent = (value: unknown): boolean =>
      numbers === 'any' ||
      numbers.has(typeof value === 'number' ? value : Number.NaN) ||
      (isRecord(value) && numbers.has(own(value, 'total') as number)) ||
      isSum(value, stated);
    const hasAll = stated.length > 0 && stated.every(isSent);
    this.hasMatched ||= hasAll;
    return hasAll;
  }

  hasModel(name: string): boolean {
    this.#decodeAll();
    if (this.#models === null) return false;
    return this.#models === 'any' || this.#models.has(name) || NOT_ASCII.test(name);
  }

  #decodeAll(): void {
    const encoded = this.#encoded;
    if (encoded === null || this.#coding === null) return;
    this.#encoded = null;
    const decoded = this.#decode(this.#coding, Buffer.concat(encoded), MAX_ENCODED);
    if (decoded === 'too-large') this.giveUp();
    else if (decoded !== null) this.#search(Buffer.from(decoded));
  }

  /** As Latin-1, because that is fast, and names and numbers are ASCII. */
  #search(chunk: Buffer): void {
    let text = this.#rest + chunk.toString('latin1');
    // UTF-16 and UTF-32
    if (text.includes('\0')) text = text.replaceAll(/\0+/g, '');
    if ((text.includes('\\u00') || text.includes('%')) && ESCAPED.test(text))
      text = text.replaceAll(ESCAPE, (_escape, code: string) =>
        String.fromCharCode(Number.parseInt(code, 16)),
      );
    if (COUNT_NEEDLES.some((needle) => text.includes(needle)))
      for (const value of valuesIn(text, COUNT))
        this.#numbers = withValue(this.#numbers, Number(value?.replaceAll('_', '')), MAX_NUMBERS);
    for (const value of valuesIn(text, MODEL))
      if (value !== undefined)
        this.#models = withValue(this.#models, detached(withoutEscapes(value)), MAX_MODELS);
    // Any number of blanks may be in front of a value.
    if (this.bytes < this.#length) this.#rest = detached(text.replaceAll(/\s{9,}/g, ' ').slice(-OVERLAP));
  }
}

function valuePattern(names: readonly string[], value: string): RegExp {
  const longestFirst = names.toSorted((a, b) => b.length - a.length);
  return new RegExp(`(?:${longestFirst.join('|')})(?:${SEPARATORS}${value})?`, 'g');
}

/** The values of the matches; undefined: no value follows. */
function valuesIn(text: string, pattern: RegExp): readonly (string | undefined)[] {
  const values: (string | undefined)[] = [];
  pattern.lastIndex = 0;
  for (let found = pattern.exec(text); found !== null; found = pattern.exec(text)) values.push(found[1]);
  return values;
}

/** `replaceAll` with a pattern is slow, even if nothing matches. */
const withoutEscapes = (name: string): string =>
  name.includes('\\') ? name.replaceAll(BACKSLASHES, '') : name;

function withValue<T>(known: Set<T> | 'any' | null, value: T, max: number): Set<T> | 'any' {
  if (known === 'any' || (known?.size ?? 0) >= max) return 'any';
  return (known ?? new Set<T>()).add(value);
}

/** The counts in a holder or in a part of it, whatever their types are. */
function countsIn(holder: unknown): unknown[] {
  if (!isRecord(holder)) return [];
  return countNames()
    .map((name) => own(holder, name))
    .filter((value) => value !== 0 && value !== null && value !== undefined);
}

/** Whether a value is the sum of the other ones, as a total is. */
function isSum(value: unknown, values: readonly unknown[]): boolean {
  const others = values.filter((other) => other !== value);
  return others.length > 1 && others.reduce<number>((sum, other) => sum + Number(other), 0) === value;
}
