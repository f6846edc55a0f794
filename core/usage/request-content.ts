import { isRecord, own } from '../untrusted/fields.ts';
import type { Coding, Decode } from './coding.ts';
import { COUNT_NAMES, type SentCounts } from './token-counts.ts';
import { MODELS } from './call-names.ts';

/** Bytes of an encoded body that are kept to be decoded. */
const MAX_ENCODED = 1024 * 1024;
/** A body with more different numbers or names is taken to contain every number and name. */
const [MAX_NUMBERS, MAX_MODELS] = [10_000, 100] as const;
const NUMBER_BYTES = 40;
/** Hits of a name. A body with more of them is taken to contain everything, because each costs time. */
const MAX_HITS = 20_000;
/** Longer than a name, its separators and its value. */
const OVERLAP = 512;
/** Longer than what is in front of a name, and the longest name up to its needle. */
const IN_FRONT = 32;
/** Up to this length, a text is searched faster than bytes. */
const SHORT = 2048;

/** Parts of the names of counts. Their first letters are rare, so a search for them is fast. */
export const COUNT_NEEDLES = ['_token', 'Token', '_eval', '_count', '_predicted'] as const;
const MODEL_NEEDLE = 'model';
const ESCAPE_NEEDLE = '\\u00';

/** Characters between a name and its value in JSON, JSON within a string, forms, YAML and XML. */
const SEPARATOR = String.raw`(?:%[\dA-Fa-f]{2}|[^\w.+-])`;
const MAX_SEPARATORS = 64;
const NUMBER = String.raw`[-+]?(?:0[xob][\dA-Fa-f]+|\d[\d._eE+-]*)`;
const NAME = String.raw`(?:[^"\\&<\r\n]|\\+\/){1,200}`;
const COUNT = valuePattern(COUNT_NAMES, NUMBER);
const MODEL = valuePattern(MODELS, NAME);
/** What can be in front of a name: nothing, or not a part of a longer name. An encoded character ends with a letter. */
const BEFORE = /(?:^|[^A-Za-z_]|%[\dA-Fa-f]{2}|\\[nrt])$/;
const LONGEST_BEFORE = 3;
/** A letter or `_` of a name. */
const ESCAPE = /\\+u00([4-7][\dA-Fa-f])/g;
const ESCAPED_SLASH = /\\+\//g;
const NOT_ASCII = /[^\x20-\x7e]/;

/**
 * The token counts and model names in the body of one request, without the body. An agent may return what its client sent, and
 * a client must not write the agent's usage. The text is searched, not parsed, because agents read more formats than JSON.
 */
export class RequestContent implements SentCounts {
  bytes = 0;
  hasMatched = false;
  readonly #coding: Coding | 'unknown' | null;
  readonly #decode: Decode;
  /** Bytes of the complete body; Infinity: unknown. */
  readonly #length: number;
  #hits = 0;
  #encoded: Buffer[] | null = null;
  #rest = '';
  #numbers: Set<number> | 'any' | null = null;
  #models: Set<string> | 'any' | null = null;

  /**
   * @param coding null: the body is not encoded; `unknown`: it cannot be decoded
   * @param length bytes of the body; Infinity: unknown
   */
  constructor(coding: Coding | 'unknown' | null, decode: Decode, length = Infinity) {
    this.#coding = coding;
    this.#decode = decode;
    this.#length = length;
  }

  /** Estimated memory in bytes. */
  get heldBytes(): number {
    const ofNumbers = this.#numbers instanceof Set ? this.#numbers.size * NUMBER_BYTES : 0;
    return ofNumbers + (this.#encoded === null ? 0 : this.bytes);
  }

  write(chunk: Buffer): void {
    this.bytes += chunk.length;
    if (this.#numbers === 'any') return;
    if (this.#coding === null) this.#search(chunk);
    else if (this.#coding === 'unknown' || this.bytes > MAX_ENCODED) this.giveUp();
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
    if (encoded === null || this.#coding === null || this.#coding === 'unknown') return;
    this.#encoded = null;
    const decoded = this.#decode(this.#coding, Buffer.concat(encoded), MAX_ENCODED);
    if (decoded === null || decoded === 'too-large') this.giveUp();
    else this.#search(Buffer.from(decoded.buffer, decoded.byteOffset, decoded.byteLength));
  }

  /** As Latin-1, because that is fast, and names and numbers are ASCII. */
  #search(bytes: Buffer): void {
    // UTF-16 and UTF-32
    const chunk = bytes.includes(0) ? Buffer.from(bytes.filter((byte) => byte !== 0)) : bytes;
    const isShort = chunk.length <= SHORT;
    if (isShort) this.#searchText(this.#rest + chunk.toString('latin1'));
    else {
      if (this.#rest !== '') this.#searchText(this.#rest + chunk.toString('latin1', 0, OVERLAP));
      this.#searchText(chunk);
    }
    if (this.bytes >= this.#length) return;
    const end = chunk.toString('latin1', Math.max(0, chunk.length - OVERLAP));
    this.#rest = isShort ? (this.#rest + end).slice(-OVERLAP) : end;
  }

  #searchText(text: string | Buffer): void {
    if (hasEscape(text)) text = part(text, 0, text.length).replaceAll(ESCAPE, unescaped);
    if (typeof text === 'string' && text.length <= SHORT + OVERLAP) {
      if (COUNT_NEEDLES.some((needle) => text.includes(needle))) this.#addCounts(text);
      if (text.includes(MODEL_NEEDLE)) this.#addModels(text);
      return;
    }
    for (const needle of COUNT_NEEDLES)
      for (let at = text.indexOf(needle); at >= 0 && this.#mayFind(); at = text.indexOf(needle, at + 1))
        this.#addCounts(part(text, at - IN_FRONT, at + OVERLAP / 2));
    for (
      let at = text.indexOf(MODEL_NEEDLE);
      at >= 0 && this.#mayFind();
      at = text.indexOf(MODEL_NEEDLE, at + 1)
    )
      this.#addModels(part(text, at - LONGEST_BEFORE, at + OVERLAP));
  }

  #addCounts(text: string): void {
    for (const value of valuesIn(text, COUNT))
      if (value === FAR) this.giveUp();
      else this.#numbers = withValue(this.#numbers, Number(value?.replaceAll(/^\+|_/g, '')), MAX_NUMBERS);
  }

  #addModels(text: string): void {
    for (const value of valuesIn(text, MODEL))
      if (value === FAR) this.giveUp();
      else if (value !== undefined) this.#models = withValue(this.#models, withoutEscapes(value), MAX_MODELS);
  }

  #mayFind(): boolean {
    this.#hits += 1;
    if (this.#hits > MAX_HITS) this.giveUp();
    return this.#numbers !== 'any';
  }
}

/** A part of a text, or of bytes as text. */
function part(text: string | Buffer, from: number, to: number): string {
  const start = Math.max(0, from);
  return typeof text === 'string'
    ? text.slice(start, to)
    : text.toString('latin1', start, Math.min(to, text.length));
}

/** Whether a letter or `_` is escaped, as it may be in any name. */
function hasEscape(text: string | Buffer): boolean {
  for (let at = text.indexOf(ESCAPE_NEEDLE); at >= 0; at = text.indexOf(ESCAPE_NEEDLE, at + 1)) {
    const next = part(text, at + ESCAPE_NEEDLE.length, at + ESCAPE_NEEDLE.length + 1);
    if (next >= '4' && next <= '7') return true;
  }
  return false;
}

const withoutEscapes = (name: string): string =>
  name.includes('\\') ? name.replaceAll(ESCAPED_SLASH, '/') : name;

const unescaped = (_escape: string, code: string): string => String.fromCharCode(Number.parseInt(code, 16));

/** In place of a value that may follow after more blanks than are searched. */
const FAR = ' ';

function valuePattern(names: readonly string[], value: string): RegExp {
  const next = `${SEPARATOR}{1,${MAX_SEPARATORS}}(${value})|(${SEPARATOR}{${MAX_SEPARATORS + 1}})`;
  const longestFirst = names.toSorted((a, b) => b.length - a.length);
  return new RegExp(`(?:${longestFirst.join('|')})(?:${next})?`, 'g');
}

/** The values of the matches; undefined: no value follows. */
function valuesIn(text: string, pattern: RegExp): readonly (string | undefined)[] {
  pattern.lastIndex = 0;
  let found = pattern.exec(text);
  if (found === null) return NO_VALUES;
  const values: (string | undefined)[] = [];
  for (; found !== null; found = pattern.exec(text)) {
    const before = text.slice(Math.max(0, found.index - LONGEST_BEFORE), found.index);
    if (BEFORE.test(before)) values.push(found[2] === undefined ? found[1] : FAR);
  }
  return values;
}

const NO_VALUES: readonly string[] = [];

function withValue<T>(known: Set<T> | 'any' | null, value: T, max: number): Set<T> | 'any' {
  if (known === 'any' || (known?.size ?? 0) >= max) return 'any';
  return (known ?? new Set<T>()).add(value);
}

/** The counts in a holder or in a part of it, whatever their types are. */
function countsIn(holder: unknown): unknown[] {
  if (!isRecord(holder)) return [];
  return COUNT_NAMES.map((name) => own(holder, name)).filter(
    (value) => value !== 0 && value !== null && value !== undefined,
  );
}

/** Whether a value is the sum of the other ones, as a total is. */
function isSum(value: unknown, values: readonly unknown[]): boolean {
  const others = values.filter((other) => other !== value);
  return others.length > 1 && others.reduce<number>((sum, other) => sum + Number(other), 0) === value;
}
