import { isRecord } from '../untrusted/fields.ts';
import { createLines, createSseData } from './sse-data.ts';
import { createUsageCollector, TOOL_RESULT } from './answer-usage.ts';
import type { ReadUsage } from './usage.ts';

/** How a body states usage: one JSON document, server-sent events, or lines of JSON. */
export type AnswerForm = 'json' | 'stream' | 'lines';

/** Bytes of a body that are read at most; of a stream, bytes of one event or line. */
export const MAX_READ_BYTES = 1024 * 1024;

/** The form that a content type names; null: another one, or none. */
export function formOfType(contentType: string | undefined): AnswerForm | null {
  const type = mediaType(contentType);
  if (type === 'text/event-stream') return 'stream';
  if (LINES.has(type)) return 'lines';
  return type === 'application/json' || type.endsWith('+json') ? 'json' : null;
}

/** Ollama and servers of JSON lines. */
const LINES: ReadonlySet<string> = new Set([
  'application/x-ndjson',
  'application/ndjson',
  'application/jsonl',
  'application/x-jsonlines',
  'application/stream+json',
]);

/** Whether a body of this type may hold text in a form of its own, so that decoding it is worth the time. */
export function mayHoldAnyForm(contentType: string | undefined): boolean {
  return ['', 'text/plain', 'application/octet-stream'].includes(mediaType(contentType));
}

function mediaType(contentType: string | undefined): string {
  return contentType?.split(';')[0]?.trim().toLowerCase() ?? '';
}

/** Bytes of a body's beginning that `formOfStart` looks at. */
export const START_BYTES = 64;

const STARTS: readonly [AnswerForm, RegExp][] = [
  ['json', /^\s*\{/],
  ['stream', /^\s*(?:data|event|id|retry)?:/],
  // AI SDK 4 and Mastra: each line has the code of its kind in front.
  ['lines', /^[a-z\d]{1,2}:["[{]/],
];

/** The form that the first bytes show, for any content type; null: neither. */
export function formOfStart(start: Uint8Array): AnswerForm | null {
  const text = WHOLE_TEXT.decode(start.subarray(0, START_BYTES));
  return STARTS.find(([, pattern]) => pattern.test(text))?.[0] ?? null;
}

/** Decoding whole texts leaves nothing behind in it. */
const WHOLE_TEXT = new TextDecoder();

/** Usage of a whole JSON body; `broken`: it is not JSON. */
export function usageOfJson(body: Uint8Array): ReadUsage | 'broken' | null {
  const parsed = parseJson(WHOLE_TEXT.decode(body));
  if (!parsed.ok) return 'broken';
  const usage = createUsageCollector();
  usage.add(parsed.value);
  return usage.result();
}

export interface StreamText {
  write(chunk: Uint8Array): void;
  /** Bytes of memory that the unfinished event and the calls that were read take, estimated. */
  heldBytes(): number;
  /** So far; null: no model's answer was seen. */
  result(): ReadUsage | null;
  end(): ReadUsage | null;
}

/** Reads a stream's events or lines as its bytes come. */
export function createStreamText(form: 'stream' | 'lines'): StreamText {
  const decoder = new TextDecoder();
  const usage = createUsageCollector();
  const take = (text: string, code?: string): void => {
    const parsed = text === '[DONE]' ? null : parseJson(text);
    if (parsed?.ok)
      usage.add(code === STEP_CODE && isRecord(parsed.value) ? stepOf(parsed.value) : parsed.value);
  };
  const events =
    form === 'stream'
      ? createSseData((data) => take(data), MAX_READ_BYTES / 2)
      : createLines((line) => take(...withoutCode(line)), MAX_READ_BYTES / 2);
  return {
    write: (chunk) => events.write(decoder.decode(chunk, { stream: true })),
    heldBytes: () => events.heldLength() + usage.heldBytes,
    result: () => usage.result(),
    end() {
      events.write(decoder.decode());
      events.end();
      return usage.result();
    },
  };
}

/** Of AI SDK 4: the end of one step, which has the usage of that step. */
const STEP_CODE = 'e';
const stepOf = (end: Record<string, unknown>): unknown => ({ ...end, type: 'finish-step' });
const CODE = /^([a-z\d]{1,2}):/;

function withoutCode(line: string): [text: string, code?: string] {
  const [prefix = '', code] = CODE.exec(line) ?? [];
  return [line.slice(prefix.length), code ?? ''];
}

/** Members that models' answers have and that come first in them. */
const SHAPES: readonly RegExp[] = [
  /"object"\s*:\s*"(?:chat\.completion|text_completion|response|embedding)"/,
  /"choices"\s*:\s*\[/,
  /"type"\s*:\s*"message"[^]*"role"\s*:\s*"assistant"|"role"\s*:\s*"assistant"[^]*"type"\s*:\s*"message"/,
];

/** Whether the beginning of a body that is too large to read has the shape of a model's answer. */
export function startsLikeModelAnswer(form: AnswerForm, start: Uint8Array): boolean {
  if (form === 'json') {
    const text = WHOLE_TEXT.decode(start);
    return SHAPES.some((shape) => shape.test(text));
  }
  const stream = createStreamText(form);
  stream.write(start);
  const usage = stream.end();
  return usage !== null && usage.reason !== TOOL_RESULT;
}

function parseJson(text: string): { ok: true; value: unknown } | { ok: false } {
  try {
    return { ok: true, value: JSON.parse(text) as unknown };
  } catch {
    return { ok: false };
  }
}
