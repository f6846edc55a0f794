import { isRecord, own } from '../untrusted/fields.ts';
import type { Coding, Decode } from './coding.ts';
import { COUNT_NAMES, type SentCounts } from './token-counts.ts';
import { MODELS } from './call-names.ts';

/** Bytes of an encoded body that are kept to be decoded. */
const MAX_ENCODED = 1024 * 1024;
/** A body with more different numbers or names is taken to contain every number and name. */
const [MAX_NUMBERS, MAX_MODELS] = [10_000, 100] as const;
const NUMBER_BYTES = 40;
/** Characters that are searched again with the next chunk. Longer than a name, its separator and its value. */
const OVERLAP = 320;

/** Characters between a name and its value in JSON, JSON within a string, forms, YAML and XML. */
const SEPARATOR = String.raw`(?:%[\dA-Fa-f]{2}|[^\w.+-]){1,24}`;
const COUNT = new RegExp(String.raw`(?:${COUNT_NAMES.join('|')})(?:${SEPARATOR}(-?\d[\d.eE+-]*))?`, 'g');
const MODEL = new RegExp(String.raw`(?:${MODELS.join('|')})${SEPARATOR}([^"\\&<\r\n]{1,200})`, 'g');
/** What can be in front of a name: nothing, or not a part of a longer name. An encoded character ends with a letter. */
const BEFORE = /(?:^|[^A-Za-z_]|%[\dA-Fa-f]{2}|\\[nrt])$/;
const LONGEST_BEFORE = 3;
const ESCAPED = /\\[u/]/;
const ESCAPE = /\\+(?:u00([\dA-Fa-f]{2})|\/)/g;
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
  #encoded: Buffer[] | null = null;
  #rest = '';
  #numbers: Set<number> | 'any' | null = null;
  #models: Set<string> | 'any' | null = null;

  /** @param coding null: the body is not encoded; `unknown`: it cannot be decoded */
  constructor(coding: Coding | 'unknown' | null, decode: Decode) {
    this.#coding = coding;
    this.#decode = decode;
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
  #search(chunk: Buffer): void {
    const end = chunk.toString('latin1', Math.max(0, chunk.length - OVERLAP));
    const isShort = end.length === chunk.length;
    let text = this.#rest + (isShort ? end : chunk.toString('latin1'));
    this.#rest = isShort ? text.slice(-OVERLAP) : end;
    if (ESCAPED.test(text)) text = text.replaceAll(ESCAPE, unescaped);
    for (const value of valuesIn(text, COUNT))
      this.#numbers = withValue(this.#numbers, Number(value), MAX_NUMBERS);
    for (const value of valuesIn(text, MODEL))
      this.#models = withValue(this.#models, String(value), MAX_MODELS);
  }
}

const unescaped = (_escape: string, code: string | undefined): string =>
  code === undefined ? '/' : String.fromCharCode(Number.parseInt(code, 16));

/** The values of the matches; undefined: no value follows. */
function valuesIn(text: string, pattern: RegExp): readonly (string | undefined)[] {
  pattern.lastIndex = 0;
  let found = pattern.exec(text);
  if (found === null) return NO_VALUES;
  const values: (string | undefined)[] = [];
  for (; found !== null; found = pattern.exec(text)) {
    const before = text.slice(Math.max(0, found.index - LONGEST_BEFORE), found.index);
    if (BEFORE.test(before)) values.push(found[1]);
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
