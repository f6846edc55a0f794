import { isRecord, own } from '../../untrusted/fields.ts';
import type { Json } from '../model-wire.ts';
import { jsonText, recordsAt, stringAt } from './members.ts';

/** Objects and lists around a value. */
const MAX_DEPTH = 64;

/** UTF-16 units of paths and values that are kept for all calls of one response. */
export interface Budget {
  left: number;
}

type Key = string | number;
type Container = Record<string, unknown> | unknown[];

/**
 * The arguments of a call that Vertex streams in parts (`partialArgs`). Each part has the path of a value, such as
 * `$.lines[0].text`; the parts of a string are joined while `willContinue` is true.
 */
export class PartialArguments {
  readonly #budget: Budget;
  readonly #root = emptyObject();
  /** The path of the string that continues; null: none. */
  #open: string | null = null;
  #isReadable = true;

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  /** Reads the parts in one `functionCall`. */
  add(call: Json): void {
    // Whole arguments next to parts have no defined order.
    const args = own(call, 'args');
    if (isRecord(args) && Object.keys(args).length > 0) this.#isReadable = false;
    for (const part of recordsAt(call, 'partialArgs'))
      if (this.#isReadable) this.#isReadable = this.#read(part);
  }

  /** The arguments as JSON text; null: they cannot be read, or are too long. */
  text(): string | null {
    return this.#isReadable ? jsonText(this.#root) : null;
  }

  #read(part: Json): boolean {
    const path = stringAt(part, 'jsonPath');
    const keys = path === null ? null : keysOf(path);
    const value = valueOf(part);
    if (path === null || keys === null || value === undefined) return false;
    this.#budget.left -= path.length + (typeof value === 'string' ? value.length : 1);
    if (this.#budget.left < 0) return false;
    const isContinued = this.#open === path;
    if (this.#open !== null && !isContinued) return false;
    this.#open = own(part, 'willContinue') === true ? path : null;
    return set(this.#root, keys, { value, isContinued });
  }
}

/** Without a prototype, so that any name is a plain member. */
const emptyObject = (): Record<string, unknown> => Object.create(null) as Record<string, unknown>;

/** undefined: no value that is known. */
function valueOf(part: Json): unknown {
  const text = stringAt(part, 'stringValue');
  if (text !== null) return text;
  const [number, flag] = [own(part, 'numberValue'), own(part, 'boolValue')];
  if (typeof number === 'number') return number;
  if (typeof flag === 'boolean') return flag;
  if (Object.hasOwn(part, 'nullValue')) return null;
  // The last part of a string may have no text.
  return own(part, 'willContinue') === undefined ? undefined : '';
}

/** One step of a path: `.name`, `['name']`, `["name"]` or `[0]`. */
const STEP = /\.([^.[\]'"]+)|\[(\d{1,6})\]|\['([^'\\]*)'\]|\["([^"\\]*)"\]/y;

/** The steps of a JSON path; null: it is not the path of one value below `$`. */
function keysOf(path: string): Key[] | null {
  if (!path.startsWith('$')) return null;
  const keys: Key[] = [];
  STEP.lastIndex = 1;
  while (STEP.lastIndex < path.length) {
    const [step, name, index, single, double] = STEP.exec(path) ?? [];
    if (step === undefined || keys.length >= MAX_DEPTH) return null;
    keys.push(index === undefined ? (name ?? single ?? double ?? '') : Number(index));
  }
  return keys.length === 0 ? null : keys;
}

/** Sets the value at a path. Returns false if there is another value already, or if a list would have a hole. */
function set(
  root: Container,
  keys: readonly Key[],
  { value, isContinued }: { value: unknown; isContinued: boolean },
): boolean {
  let container = root;
  for (const [at, key] of keys.entries()) {
    if (Array.isArray(container) !== (typeof key === 'number')) return false;
    if (Array.isArray(container) && Number(key) > container.length) return false;
    const members = container as Record<Key, unknown>;
    const before = members[key];
    const next = keys[at + 1];
    if (next === undefined) {
      if (isContinued ? typeof before !== 'string' || typeof value !== 'string' : before !== undefined)
        return false;
      members[key] = isContinued ? `${String(before)}${String(value)}` : value;
      return true;
    }
    const inner = before ?? (typeof next === 'number' ? [] : emptyObject());
    if (typeof inner !== 'object' || inner === null) return false;
    members[key] = inner;
    container = inner as Container;
  }
  return false;
}
