import {
  createStreamText,
  formOfStart,
  formOfType,
  MAX_READ_BYTES,
  mayHoldAnyForm,
  START_BYTES,
  startsLikeModelAnswer,
  usageOfJson,
  type AnswerForm,
  type StreamText,
} from './answer-form.ts';
import { TOOL_RESULT } from './answer-usage.ts';
import type { ReadUsage } from './usage.ts';

/** The head of an answer that passes, as far as usage needs it. */
export interface AnswerHead {
  statusCode: number;
  /** Of the request. */
  method?: string | undefined;
  contentType?: string | undefined;
  contentEncoding?: string | undefined;
  /** Path of the request without query string; says whether a body that cannot be read would have been a model's answer. */
  path?: string | undefined;
  declared?: DeclaredApi | undefined;
}

/** What the manifest declares of the agent's API, as far as usage needs it. */
export interface DeclaredApi {
  /** Path of the chat endpoint; undefined: none is declared. */
  chatPath: string | undefined;
  /** The agent is an MCP server: each result of a tool is an answer of the agent. */
  isMcp: boolean;
}

/** Codings that are decoded; a body with another one, or with several, is not read. */
export type Coding = 'gzip' | 'br' | 'zstd';

/**
 * Decodes a copy of a body, or of its beginning. `too-large`: more than `maxBytes` would come of it; null: it is not of
 * this coding. What is cut short gives what had come.
 */
export type Decode = (coding: Coding, body: Uint8Array, maxBytes: number) => Uint8Array | 'too-large' | null;

/** Is fed the bytes of one answer as they pass. Never throws, never holds more than 1 MiB. */
export interface UsageReader {
  /** false: nothing of the body is wanted; `write` may be left out. */
  readonly wantsBody: boolean;
  /** Bytes that are kept of the body, and of the calls that were read from it. */
  readonly keptBytes: number;
  /** The chunk is kept, not copied: its bytes must not change. */
  write(chunk: Uint8Array): void;
  /** Keeps nothing any more: there is no memory for it. */
  giveUp(): void;
  /** After the last byte, or after the exchange was cut. null: this was no model's answer. */
  end(): ReadUsage | null;
}

/** @param decode reads compressed answers; this module has no codec of its own */
export function createUsageReader(head: AnswerHead, decode: Decode): UsageReader {
  if (head.statusCode < 200 || head.statusCode > 299) return decided(null);
  return asDeclared(readerOf(head, decode), head);
}

function readerOf(head: AnswerHead, decode: Decode): UsageReader {
  const form = formOfType(head.contentType);
  const modelPath = isModelPath(head);
  const encoding = head.contentEncoding?.trim().toLowerCase() ?? '';
  if (encoding === '' || encoding === 'identity') {
    if (form === 'stream' || form === 'lines') return streamReader(form);
    return form === 'json' ? keptReader({ form, modelPath }) : unnamedReader(modelPath);
  }
  if (form === null && !modelPath && !mayHoldAnyForm(head.contentType)) return decided(null);
  const coding = CODINGS.get(encoding);
  if (coding !== undefined) return keptReader({ form, modelPath, coding: { name: coding, decode } });
  const isCall = form !== null && modelPath;
  return decided(isCall ? unreadable(`content-encoding ${encoding.slice(0, 50)}`) : null);
}

const CODINGS: ReadonlyMap<string, Coding> = new Map([
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['br', 'br'],
  ['zstd', 'zstd'],
]);

/** An answer of a model whose usage is not known. */
function unreadable(reason: string): ReadUsage {
  return { calls: [], unknown: [null], reason };
}

function decided(result: ReadUsage | null): UsageReader {
  return {
    wantsBody: false,
    keptBytes: 0,
    write: () => undefined,
    giveUp: () => undefined,
    end: () => result,
  };
}

/**
 * On the declared chat path what shows no usage is a call without usage. The result of an MCP tool without usage is one where
 * the agent is declared as an MCP server; elsewhere most tools have no model.
 */
function asDeclared(reader: UsageReader, { method, path, declared }: AnswerHead): UsageReader {
  const isChat = method === 'POST' && declared?.chatPath !== undefined && path === declared.chatPath;
  const end = (): ReadUsage | null => {
    const usage = reader.end();
    const isToolResult = usage?.calls.length === 0 && usage.reason === TOOL_RESULT;
    if (usage !== null && (!isToolResult || declared?.isMcp === true)) return usage;
    return isChat ? unreadable('an answer on the declared chat path without readable usage') : null;
  };
  return {
    get wantsBody() {
      return reader.wantsBody;
    },
    get keptBytes() {
      return reader.keptBytes;
    },
    write: (chunk) => reader.write(chunk),
    giveUp: () => reader.giveUp(),
    end,
  };
}

const MODEL_PATH = /\/(chat\/completions|completions|messages|responses|v1\/chat)\/?$/;

function isModelPath(head: AnswerHead): boolean {
  const path = head.path ?? '';
  return MODEL_PATH.test(path) || path === head.declared?.chatPath;
}

const NO_MEMORY = unreadable('the sidecar had no memory to read the body');
const TOO_LARGE = unreadable('the body is over 1 MiB');
/** Bytes of a body that is too large; they show whether it is a model's answer. */
const KEPT_OF_TOO_LARGE = 4096;
/** Of a compressed one so many are decoded until that is there. A block of zstd has up to 128 KiB. */
const DECODED_OF_TOO_LARGE = [64, 1024, 4096, 16 * 1024, 132 * 1024] as const;
const KEPT_OF_COMPRESSED = 132 * 1024;

interface KeptBody {
  /** null: the body's first bytes show it. */
  form: AnswerForm | null;
  modelPath: boolean;
  coding?: { name: Coding; decode: Decode };
}

/** Keeps the body and reads it at the end. */
function keptReader(about: KeptBody): UsageReader {
  /** The body so far; the first chunk itself while it is the only one. */
  let store: Uint8Array = new Uint8Array(0);
  let bytes = 0;
  let hasGivenUp = false;
  return {
    get wantsBody() {
      return !hasGivenUp && bytes <= MAX_READ_BYTES;
    },
    get keptBytes() {
      return store.byteLength;
    },
    write(chunk) {
      if (bytes > MAX_READ_BYTES) return;
      if (bytes === 0) store = chunk;
      else {
        // Copied into one store: a body in pieces of one byte would otherwise cost a hundred times its size.
        const kept = chunk.subarray(0, Math.max(0, MAX_READ_BYTES - bytes));
        store = withRoom(store, bytes + kept.byteLength);
        store.set(kept, bytes);
      }
      bytes += chunk.byteLength;
      // A copy: a view would keep the whole store.
      if (bytes > MAX_READ_BYTES)
        store = store.slice(0, about.coding ? KEPT_OF_COMPRESSED : KEPT_OF_TOO_LARGE);
    },
    giveUp() {
      hasGivenUp = true;
      store = new Uint8Array(0);
    },
    end() {
      if (hasGivenUp) return about.modelPath ? NO_MEMORY : null;
      if (bytes === 0) return null;
      if (bytes > MAX_READ_BYTES) return usageOfTooLarge(store, about);
      return usageOfBody(store.subarray(0, bytes), about);
    },
  };
}

function usageOfBody(body: Uint8Array, about: KeptBody): ReadUsage | null {
  const { coding, modelPath } = about;
  const decoded = coding === undefined ? body : coding.decode(coding.name, body, MAX_READ_BYTES);
  if (decoded === 'too-large') return usageOfTooLarge(body, about);
  if (decoded === null)
    return modelPath ? unreadable(`content-encoding ${coding?.name} cannot be decoded`) : null;
  const form = about.form ?? formOfStart(decoded);
  if (form === null) return null;
  const usage = form === 'json' ? usageOfJson(decoded) : usageOfStream(form, decoded);
  if (usage !== 'broken') return usage;
  // Lines of JSON begin like one document.
  const ofLines = usageOfStream('lines', decoded);
  if (ofLines !== null) return ofLines;
  return modelPath ? unreadable('the body is not whole JSON') : null;
}

function usageOfStream(form: 'stream' | 'lines', body: Uint8Array): ReadUsage | null {
  const stream = createStreamText(form);
  stream.write(body);
  return stream.end();
}

/** A model's answer that cannot be read is a call without usage; another large body is none. */
function usageOfTooLarge(kept: Uint8Array, { form: named, modelPath, coding }: KeptBody): ReadUsage | null {
  const start = coding === undefined ? kept : decodedStart(kept, coding);
  const form = named ?? formOfStart(start);
  if (form === null) return null;
  return modelPath || startsLikeModelAnswer(form, start) ? TOO_LARGE : null;
}

function decodedStart(body: Uint8Array, { name, decode }: NonNullable<KeptBody['coding']>): Uint8Array {
  let start: Uint8Array = new Uint8Array(0);
  for (const length of DECODED_OF_TOO_LARGE) {
    const decoded = decode(name, body.subarray(0, length), MAX_READ_BYTES);
    if (decoded === null || decoded === 'too-large') break;
    start = decoded.subarray(0, KEPT_OF_TOO_LARGE);
    if (start.byteLength === KEPT_OF_TOO_LARGE) break;
  }
  return start;
}

/** A store that has room is one of our own: a chunk is as long as what it holds. */
function withRoom(store: Uint8Array, bytes: number): Uint8Array {
  if (bytes <= store.byteLength) return store;
  const grown = new Uint8Array(Math.min(MAX_READ_BYTES, Math.max(bytes, 2 * store.byteLength, 16 * 1024)));
  grown.set(store);
  return grown;
}

/** Of an answer whose content type names no form: its first bytes decide how it is read, and whether. */
function unnamedReader(modelPath: boolean): UsageReader {
  let start: Uint8Array = new Uint8Array(0);
  let reader: UsageReader | null = null;
  const decide = (): UsageReader => {
    const form = formOfStart(start);
    if (form === null) return decided(null);
    const found = form === 'json' ? keptReader({ form, modelPath }) : streamReader(form);
    found.write(start);
    return found;
  };
  return {
    get wantsBody() {
      return reader?.wantsBody ?? true;
    },
    get keptBytes() {
      return reader?.keptBytes ?? start.byteLength;
    },
    write(chunk) {
      if (reader !== null) {
        reader.write(chunk);
        return;
      }
      start = start.byteLength === 0 ? chunk : joined(start, chunk);
      if (start.byteLength >= START_BYTES || formOfStart(start) !== null) reader = decide();
    },
    giveUp() {
      reader ??= decided(null);
      reader.giveUp();
    },
    end: () => (reader ?? decide()).end(),
  };
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const both = new Uint8Array(first.byteLength + second.byteLength);
  both.set(first);
  both.set(second, first.byteLength);
  return both;
}

function streamReader(form: 'stream' | 'lines'): UsageReader {
  let stream: StreamText | null = createStreamText(form);
  /** Of a reader that has given up. */
  let result: ReadUsage | null = null;
  return {
    get wantsBody() {
      return stream !== null;
    },
    get keptBytes() {
      return stream?.heldBytes() ?? 0;
    },
    giveUp() {
      if (stream !== null && stream.result() !== null) result = NO_MEMORY;
      stream = null;
    },
    write: (chunk) => stream?.write(chunk),
    end: () => (stream === null ? result : stream.end()),
  };
}
