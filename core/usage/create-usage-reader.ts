import {
  createStreamText,
  formOfStart,
  formOfType,
  MAX_READ_BYTES,
  mayHoldAnyForm,
  START_BYTES,
  startsLikeModelResponse,
  usageOfJson,
  type ResponseForm,
  type StreamText,
} from './response-form.ts';
import { TOOL_RESULT } from './response-usage.ts';
import { codingOf, type Coding, type Decode } from './coding.ts';
import { scopeOf, type AskedFor, type UsageScope } from './usage-scope.ts';
import type { ParsedUsage } from './usage.ts';

/** The parts of a response head and its request that usage needs. */
export interface UsageHead extends AskedFor {
  statusCode: number;
  contentType?: string | undefined;
  contentEncoding?: string | undefined;
}

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
export function createUsageReader(head: UsageHead, decode: Decode): UsageReader {
  if (head.statusCode < 200 || head.statusCode > 299) return NOTHING;
  const scope = scopeOf(head);
  if (scope === null) return NOTHING;
  const form = formOfType(head.contentType);
  const coding = codingOf(head.contentEncoding);
  if (coding === null) {
    if (form === 'stream' || form === 'lines') return new StreamReader(form, scope, scope);
    return form === 'json' ? new KeptReader({ form, scope }, scope) : new UnnamedReader(scope);
  }
  const { modelPath } = scope;
  if (form === null && !modelPath && !mayHoldAnyForm(head.contentType)) return decided(null, scope);
  if (coding !== 'unknown') return new KeptReader({ form, scope, coding: { name: coding, decode } }, scope);
  const isCall = form !== null && modelPath;
  const name = (head.contentEncoding ?? '').trim().toLowerCase().slice(0, 50);
  return decided(isCall ? unreadable(`content-encoding ${name}`) : null, scope);
}

/** The usage of a model response that cannot be read. */
function unreadable(reason: string): ParsedUsage {
  return { calls: [], unknown: [null], reason };
}

/** The readers are classes, because one is created for each response. */
abstract class Reader implements UsageReader {
  readonly #scope: UsageScope | null;

  /** @param scope null: the request does not matter, or matters to another reader that uses this one */
  constructor(scope: UsageScope | null) {
    this.#scope = scope;
  }

  abstract readonly needsBody: boolean;
  abstract readonly keptBytes: number;
  abstract write(chunk: Uint8Array): void;
  abstract giveUp(): void;
  /** The usage in the body, whatever the declared API is. */
  protected abstract read(): ParsedUsage | null;

  end(): ParsedUsage | null {
    const usage = this.read();
    return this.#scope === null ? usage : asAsked(usage, this.#scope);
  }
}

/** A reader of a response whose body is not needed. */
function decided(result: ParsedUsage | null, scope: UsageScope | null): UsageReader {
  const ignore = (): void => undefined;
  const end = () => (scope === null ? result : asAsked(result, scope));
  return { needsBody: false, keptBytes: 0, write: ignore, giveUp: ignore, end };
}

const NOTHING: UsageReader = decided(null, null);

/**
 * On the declared chat path, a response without readable usage counts as a call without usage, and so does a response on the path
 * of a model whose only usage is that of its request. An MCP tool result without usage counts only if the agent is declared as an
 * MCP server, because most tools elsewhere do not call a model.
 */
function asAsked(usage: ParsedUsage | null, scope: UsageScope): ParsedUsage | null {
  if (scope.needsBody && (scope.request?.bytes ?? 0) === 0) return null;
  const isToolResult = usage?.calls.length === 0 && usage.reason === TOOL_RESULT;
  if (usage !== null && (!isToolResult || scope.isMcp)) return usage;
  if (scope.isChat) return NOT_READ;
  return scope.modelPath && scope.request?.hasMatched === true ? SENT : null;
}

const NOT_READ = unreadable('response without readable usage on the declared chat path');
const SENT = unreadable('the request contains the same usage');

const NO_MEMORY = unreadable('the sidecar did not have enough memory to read the body');
const TOO_LARGE = unreadable('the body is larger than 1 MiB');
/** Bytes kept of a body that is too large, to detect whether it is a model response. */
const KEPT_OF_TOO_LARGE = 4096;
/** Prefix lengths of a compressed body to decode until enough bytes are available. The last one holds a whole zstd block (128 KiB). */
const DECODED_OF_TOO_LARGE = [64, 1024, 4096, 16 * 1024, 132 * 1024] as const;
const KEPT_OF_COMPRESSED = 132 * 1024;

interface KeptBody {
  scope: UsageScope;
  /** null: detected from the first bytes of the body. */
  form: ResponseForm | null;
  coding?: { name: Coding; decode: Decode };
}

/** Collects the body and reads it at the end. */
class KeptReader extends Reader {
  readonly #about: KeptBody;
  /** The body so far. While there is only one chunk, this is the chunk itself. */
  #store: Uint8Array = NO_BYTES;
  #bytes = 0;
  #hasGivenUp = false;

  constructor(about: KeptBody, scope: UsageScope | null) {
    super(scope);
    this.#about = about;
  }

  get needsBody(): boolean {
    return !this.#hasGivenUp && this.#bytes <= MAX_READ_BYTES;
  }

  get keptBytes(): number {
    return this.#store.byteLength;
  }

  write(chunk: Uint8Array): void {
    if (this.#bytes > MAX_READ_BYTES) return;
    if (this.#bytes === 0) this.#store = chunk;
    else {
      // Chunks are copied into one buffer. Otherwise a body of one-byte chunks would use a hundred times its size.
      const kept = chunk.subarray(0, Math.max(0, MAX_READ_BYTES - this.#bytes));
      this.#store = withRoom(this.#store, this.#bytes + kept.byteLength);
      this.#store.set(kept, this.#bytes);
    }
    this.#bytes += chunk.byteLength;
    // `slice` copies; a view would keep the whole buffer in memory.
    if (this.#bytes > MAX_READ_BYTES)
      this.#store = this.#store.slice(0, this.#about.coding ? KEPT_OF_COMPRESSED : KEPT_OF_TOO_LARGE);
  }

  giveUp(): void {
    this.#hasGivenUp = true;
    this.#store = NO_BYTES;
  }

  protected read(): ParsedUsage | null {
    if (this.#hasGivenUp) return this.#about.scope.modelPath ? NO_MEMORY : null;
    if (this.#bytes === 0) return null;
    if (this.#bytes > MAX_READ_BYTES) return usageOfTooLarge(this.#store, this.#about);
    return usageOfBody(this.#store.subarray(0, this.#bytes), this.#about);
  }
}

const NO_BYTES = new Uint8Array(0);

function usageOfBody(body: Uint8Array, about: KeptBody): ParsedUsage | null {
  const { coding, scope } = about;
  const decoded = coding === undefined ? body : coding.decode(coding.name, body, MAX_READ_BYTES);
  if (decoded === 'too-large') return usageOfTooLarge(body, about);
  if (decoded === null)
    return scope.modelPath ? unreadable(`content-encoding ${coding?.name} cannot be decoded`) : null;
  const form = about.form ?? formOfStart(decoded);
  if (form === null) return null;
  const usage = form === 'json' ? usageOfJson(decoded, scope) : usageOfStream(form, decoded, scope);
  if (usage !== 'broken') return usage;
  // JSON lines begin like a single JSON document.
  const ofLines = usageOfStream('lines', decoded, scope);
  if (ofLines !== null) return ofLines;
  return scope.modelPath ? unreadable('the body is not complete JSON') : null;
}

function usageOfStream(form: 'stream' | 'lines', body: Uint8Array, scope: UsageScope): ParsedUsage | null {
  const stream = createStreamText(form, scope);
  stream.write(body);
  return stream.end();
}

/** A large model response counts as a call without usage. Any other large body does not count as a call. */
function usageOfTooLarge(kept: Uint8Array, { form: named, scope, coding }: KeptBody): ParsedUsage | null {
  const start = coding === undefined ? kept : decodedStart(kept, coding);
  const form = named ?? formOfStart(start);
  if (form === null) return null;
  return scope.modelPath || startsLikeModelResponse(form, start) ? TOO_LARGE : null;
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
class UnnamedReader extends Reader {
  readonly #read: UsageScope;
  #start: Uint8Array = NO_BYTES;
  #reader: UsageReader | null = null;

  constructor(scope: UsageScope) {
    super(scope);
    this.#read = scope;
  }

  get needsBody(): boolean {
    return this.#reader?.needsBody ?? true;
  }

  get keptBytes(): number {
    return this.#reader?.keptBytes ?? this.#start.byteLength;
  }

  write(chunk: Uint8Array): void {
    if (this.#reader !== null) {
      this.#reader.write(chunk);
      return;
    }
    const start = this.#start.byteLength === 0 ? chunk : joined(this.#start, chunk);
    this.#start = start;
    if (start.byteLength >= START_BYTES || formOfStart(start) !== null) this.#reader = this.#decide();
  }

  giveUp(): void {
    this.#reader ??= NOTHING;
    this.#reader.giveUp();
  }

  protected read(): ParsedUsage | null {
    return (this.#reader ?? this.#decide()).end();
  }

  #decide(): UsageReader {
    const form = formOfStart(this.#start);
    if (form === null) return NOTHING;
    const scope = this.#read;
    const found =
      form === 'json' ? new KeptReader({ form, scope }, null) : new StreamReader(form, scope, null);
    found.write(this.#start);
    return found;
  }
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const both = new Uint8Array(first.byteLength + second.byteLength);
  both.set(first);
  both.set(second, first.byteLength);
  return both;
}

class StreamReader extends Reader {
  #stream: StreamText | null;
  /** The result after `giveUp`. */
  #result: ParsedUsage | null = null;

  constructor(form: 'stream' | 'lines', read: UsageScope, scope: UsageScope | null) {
    super(scope);
    this.#stream = createStreamText(form, read);
  }

  get needsBody(): boolean {
    return this.#stream !== null;
  }

  get keptBytes(): number {
    return this.#stream?.heldBytes() ?? 0;
  }

  write(chunk: Uint8Array): void {
    this.#stream?.write(chunk);
  }

  giveUp(): void {
    if (this.#stream !== null && this.#stream.result() !== null) this.#result = NO_MEMORY;
    this.#stream = null;
  }

  protected read(): ParsedUsage | null {
    return this.#stream === null ? this.#result : this.#stream.end();
  }
}
