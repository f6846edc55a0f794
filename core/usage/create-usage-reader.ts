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
import type { ParsedUsage } from './usage.ts';

/** The parts of a response head and its request that usage needs. */
export interface AnswerHead {
  statusCode: number;
  /** Method of the request. */
  method?: string | undefined;
  contentType?: string | undefined;
  contentEncoding?: string | undefined;
  /** Path of the request without query string. It decides whether an unreadable body counts as a model response. */
  path?: string | undefined;
  declared?: DeclaredApi | undefined;
}

/** The parts of the agent's declared API that usage needs. */
export interface DeclaredApi {
  /** Path of the chat endpoint; undefined: not declared. */
  chatPath: string | undefined;
  /** Whether the agent is an MCP server. Then each tool result is a response of the agent. */
  isMcp: boolean;
}

/** Supported content codings. A body with another coding, or with several codings, is not read. */
export type Coding = 'gzip' | 'br' | 'zstd';

/**
 * Decodes a copy of a body or of its start. `too-large`: the result would exceed `maxBytes`; null: the body does not have
 * this coding. A truncated body is decoded as far as possible.
 */
export type Decode = (coding: Coding, body: Uint8Array, maxBytes: number) => Uint8Array | 'too-large' | null;

/** Receives the bytes of one response while it is forwarded. Never throws and never keeps more than 1 MiB. */
export interface UsageReader {
  /** false: the body is not needed, and `write` does not have to be called. */
  readonly needsBody: boolean;
  /** Bytes kept of the body and of the calls read from it. */
  readonly keptBytes: number;
  /** The chunk is kept without a copy, so its bytes must not change. */
  write(chunk: Uint8Array): void;
  /** Releases the kept bytes, because the sidecar has no memory for them. */
  giveUp(): void;
  /** Called after the last byte or after the exchange was aborted. null: the response is not a model response. */
  end(): ParsedUsage | null;
}

/** @param decode decodes compressed responses; this module contains no codec */
export function createUsageReader(head: AnswerHead, decode: Decode): UsageReader {
  if (head.statusCode < 200 || head.statusCode > 299) return decided(null);
  const reader = readerOf(head, decode);
  const end = reader.end.bind(reader);
  reader.end = () => asDeclared(end(), head);
  return reader;
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

/** The usage of a model response that cannot be read. */
function unreadable(reason: string): ParsedUsage {
  return { calls: [], unknown: [null], reason };
}

function decided(result: ParsedUsage | null): UsageReader {
  return {
    needsBody: false,
    keptBytes: 0,
    write: () => undefined,
    giveUp: () => undefined,
    end: () => result,
  };
}

/**
 * On the declared chat path, a response without readable usage counts as a call without usage. An MCP tool result without
 * usage counts only if the agent is declared as an MCP server, because most tools elsewhere do not call a model.
 */
function asDeclared(usage: ParsedUsage | null, { method, path, declared }: AnswerHead): ParsedUsage | null {
  const isToolResult = usage?.calls.length === 0 && usage.reason === TOOL_RESULT;
  if (usage !== null && (!isToolResult || declared?.isMcp === true)) return usage;
  const isChat = method === 'POST' && declared?.chatPath !== undefined && path === declared.chatPath;
  return isChat ? unreadable('response without readable usage on the declared chat path') : null;
}

const MODEL_PATH = /\/(chat\/completions|completions|messages|responses|v1\/chat)\/?$/;

function isModelPath(head: AnswerHead): boolean {
  const path = head.path ?? '';
  return MODEL_PATH.test(path) || path === head.declared?.chatPath;
}

const NO_MEMORY = unreadable('the sidecar did not have enough memory to read the body');
const TOO_LARGE = unreadable('the body is larger than 1 MiB');
/** Bytes kept of a body that is too large, to detect whether it is a model response. */
const KEPT_OF_TOO_LARGE = 4096;
/** Prefix lengths of a compressed body to decode until enough bytes are available. The last one holds a whole zstd block (128 KiB). */
const DECODED_OF_TOO_LARGE = [64, 1024, 4096, 16 * 1024, 132 * 1024] as const;
const KEPT_OF_COMPRESSED = 132 * 1024;

interface KeptBody {
  /** null: detected from the first bytes of the body. */
  form: AnswerForm | null;
  modelPath: boolean;
  coding?: { name: Coding; decode: Decode };
}

/** Collects the body and reads it at the end. */
function keptReader(about: KeptBody): UsageReader {
  /** The body so far. While there is only one chunk, this is the chunk itself. */
  let store: Uint8Array = new Uint8Array(0);
  let bytes = 0;
  let hasGivenUp = false;
  return {
    get needsBody() {
      return !hasGivenUp && bytes <= MAX_READ_BYTES;
    },
    get keptBytes() {
      return store.byteLength;
    },
    write(chunk) {
      if (bytes > MAX_READ_BYTES) return;
      if (bytes === 0) store = chunk;
      else {
        // Chunks are copied into one buffer. Otherwise a body of one-byte chunks would use a hundred times its size.
        const kept = chunk.subarray(0, Math.max(0, MAX_READ_BYTES - bytes));
        store = withRoom(store, bytes + kept.byteLength);
        store.set(kept, bytes);
      }
      bytes += chunk.byteLength;
      // `slice` copies; a view would keep the whole buffer in memory.
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

function usageOfBody(body: Uint8Array, about: KeptBody): ParsedUsage | null {
  const { coding, modelPath } = about;
  const decoded = coding === undefined ? body : coding.decode(coding.name, body, MAX_READ_BYTES);
  if (decoded === 'too-large') return usageOfTooLarge(body, about);
  if (decoded === null)
    return modelPath ? unreadable(`content-encoding ${coding?.name} cannot be decoded`) : null;
  const form = about.form ?? formOfStart(decoded);
  if (form === null) return null;
  const usage = form === 'json' ? usageOfJson(decoded) : usageOfStream(form, decoded);
  if (usage !== 'broken') return usage;
  // JSON lines begin like a single JSON document.
  const ofLines = usageOfStream('lines', decoded);
  if (ofLines !== null) return ofLines;
  return modelPath ? unreadable('the body is not complete JSON') : null;
}

function usageOfStream(form: 'stream' | 'lines', body: Uint8Array): ParsedUsage | null {
  const stream = createStreamText(form);
  stream.write(body);
  return stream.end();
}

/** A large model response counts as a call without usage. Any other large body does not count as a call. */
function usageOfTooLarge(kept: Uint8Array, { form: named, modelPath, coding }: KeptBody): ParsedUsage | null {
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

/** Returns a buffer with room for `bytes`. Only a buffer of this module has spare room; a chunk has exactly its own length. */
function withRoom(store: Uint8Array, bytes: number): Uint8Array {
  if (bytes <= store.byteLength) return store;
  const grown = new Uint8Array(Math.min(MAX_READ_BYTES, Math.max(bytes, 2 * store.byteLength, 16 * 1024)));
  grown.set(store);
  return grown;
}

/** For a content type without a known form: the first bytes decide whether and how the body is read. */
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
    get needsBody() {
      return reader?.needsBody ?? true;
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
  /** The result after `giveUp`. */
  let result: ParsedUsage | null = null;
  return {
    get needsBody() {
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
