import { createSseData } from './sse-data.ts';
import { createStreamUsage } from './stream-usage.ts';
import type { RequestUsage } from './usage.ts';
import { usageFromJson } from './usage-from-json.ts';

/** Bodies over it are passed on unread; one event of a stream, too. */
export const MAX_READ_BYTES = 1024 * 1024;

/** The head of an answer that passes, as far as usage needs it. */
export interface AnswerHead {
  statusCode: number;
  contentType?: string | undefined;
  contentEncoding?: string | undefined;
  /** Path of the request without query string; says whether a body that cannot be read would have been a model's answer. */
  path?: string | undefined;
  /** The manifest's chat path, where it is not one of the well-known ones. */
  chatPath?: string | undefined;
}

/** Is fed the bytes of one answer as they pass. Never throws, never holds more than 1 MiB. */
export interface UsageReader {
  /** false: nothing of the body is wanted; `write` may be left out. */
  readonly wantsBody: boolean;
  /** Bytes of the body that are kept. */
  readonly keptBytes: number;
  /** The chunk is kept, not copied: its bytes must not change. */
  write(chunk: Uint8Array): void;
  /** Keeps nothing any more: there is no memory for it. */
  giveUp(): void;
  /** After the last byte, or after the exchange was cut. null: this was no model's answer. */
  end(): RequestUsage | null;
}

export function createUsageReader(head: AnswerHead): UsageReader {
  const form = formOf(head.contentType);
  if (head.statusCode < 200 || head.statusCode > 299 || form === null) return decided(null);
  const encoding = head.contentEncoding?.trim().toLowerCase() ?? '';
  if (encoding !== '' && encoding !== 'identity')
    return decided(isModelPath(head) ? { unavailable: `content-encoding ${encoding.slice(0, 50)}` } : null);
  return form === 'json' ? jsonReader(isModelPath(head)) : streamReader();
}

function decided(result: RequestUsage | null): UsageReader {
  return {
    wantsBody: false,
    keptBytes: 0,
    write: () => undefined,
    giveUp: () => undefined,
    end: () => result,
  };
}

function formOf(contentType: string | undefined): 'json' | 'stream' | null {
  const type = contentType?.split(';')[0]?.trim().toLowerCase() ?? '';
  if (type === 'text/event-stream') return 'stream';
  return type === 'application/json' || type.endsWith('+json') ? 'json' : null;
}

const MODEL_PATH = /\/(chat\/completions|completions|messages|responses|v1\/chat)\/?$/;

function isModelPath(head: AnswerHead): boolean {
  const path = head.path ?? '';
  return MODEL_PATH.test(path) || (head.chatPath !== undefined && path === head.chatPath);
}

/** Decoding whole texts leaves nothing behind in it. */
const WHOLE_TEXT = new TextDecoder();

const NO_MEMORY: RequestUsage = { unavailable: 'the sidecar had no memory to read the body' };

function jsonReader(modelPath: boolean): UsageReader {
  /** The body so far; the first chunk itself while it is the only one. */
  let store: Uint8Array = new Uint8Array(0);
  let bytes = 0;
  let hasGivenUp = false;
  return {
    get wantsBody() {
      return !hasGivenUp;
    },
    get keptBytes() {
      return store.byteLength;
    },
    write(chunk) {
      if (bytes + chunk.byteLength > MAX_READ_BYTES) store = new Uint8Array(0);
      else if (bytes === 0) store = chunk;
      else {
        // Copied into one store: a body in pieces of one byte would otherwise cost a hundred times its size.
        store = withRoom(store, bytes + chunk.byteLength);
        store.set(chunk, bytes);
      }
      bytes += chunk.byteLength;
    },
    giveUp() {
      hasGivenUp = true;
      store = new Uint8Array(0);
    },
    end() {
      if (hasGivenUp) return modelPath ? NO_MEMORY : null;
      if (bytes > MAX_READ_BYTES) return modelPath ? { unavailable: 'the body is over 1 MiB' } : null;
      if (bytes === 0) return null;
      const parsed = parseJson(WHOLE_TEXT.decode(store.subarray(0, bytes)));
      if (parsed.ok) return usageFromJson(parsed.value);
      return modelPath ? { unavailable: 'the body is not whole JSON' } : null;
    },
  };
}

/** A store that has room is one of our own: a chunk is as long as what it holds. */
function withRoom(store: Uint8Array, bytes: number): Uint8Array {
  if (bytes <= store.byteLength) return store;
  const grown = new Uint8Array(Math.min(MAX_READ_BYTES, Math.max(bytes, 2 * store.byteLength, 16 * 1024)));
  grown.set(store);
  return grown;
}

function streamReader(): UsageReader {
  const decoder = new TextDecoder();
  const usage = createStreamUsage();
  const events = createSseData((data) => {
    const parsed = data === '[DONE]' ? null : parseJson(data);
    if (parsed?.ok) usage.event(parsed.value);
  }, MAX_READ_BYTES / 2);
  let hasGivenUp = false;
  return {
    get wantsBody() {
      return !hasGivenUp;
    },
    get keptBytes() {
      return hasGivenUp ? 0 : events.heldLength();
    },
    giveUp() {
      hasGivenUp = true;
    },
    write: (chunk) => events.write(decoder.decode(chunk, { stream: true })),
    end() {
      if (hasGivenUp) return usage.result() === null ? null : NO_MEMORY;
      events.write(decoder.decode());
      events.end();
      return usage.result();
    },
  };
}

function parseJson(text: string): { ok: true; value: unknown } | { ok: false } {
  try {
    return { ok: true, value: JSON.parse(text) as unknown };
  } catch {
    return { ok: false };
  }
}
