import { createSseData } from './sse-data.ts';
import { createStreamUsage } from './stream-usage.ts';
import { usageFromJson } from './usage-from-json.ts';
import type { RequestUsage } from './usage.ts';

/** How a body states usage: one JSON document, or server-sent events. */
export type AnswerForm = 'json' | 'stream';

/** Bytes of a body that are read at most; of a stream, bytes of one event. */
export const MAX_READ_BYTES = 1024 * 1024;

/** The form that a content type names; null: another one, or none. */
export function formOfType(contentType: string | undefined): AnswerForm | null {
  const type = mediaType(contentType);
  if (type === 'text/event-stream') return 'stream';
  return type === 'application/json' || type.endsWith('+json') ? 'json' : null;
}

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
];

/** The form that the first bytes show, for any content type; null: neither. */
export function formOfStart(start: Uint8Array): AnswerForm | null {
  const text = WHOLE_TEXT.decode(start.subarray(0, START_BYTES));
  return STARTS.find(([, pattern]) => pattern.test(text))?.[0] ?? null;
}

/** Decoding whole texts leaves nothing behind in it. */
const WHOLE_TEXT = new TextDecoder();

/** Usage of a whole JSON body; `broken`: it is not JSON. */
export function usageOfJson(body: Uint8Array): RequestUsage | 'broken' | null {
  const parsed = parseJson(WHOLE_TEXT.decode(body));
  return parsed.ok ? usageFromJson(parsed.value) : 'broken';
}

export interface StreamText {
  write(chunk: Uint8Array): void;
  /** UTF-16 units of the unfinished event. */
  heldLength(): number;
  /** So far; null: no model's answer was seen. */
  result(): RequestUsage | null;
  end(): RequestUsage | null;
}

/** Reads a stream's events as its bytes come. */
export function createStreamText(): StreamText {
  const decoder = new TextDecoder();
  const usage = createStreamUsage();
  const events = createSseData((data) => {
    const parsed = data === '[DONE]' ? null : parseJson(data);
    if (parsed?.ok) usage.event(parsed.value);
  }, MAX_READ_BYTES / 2);
  return {
    write: (chunk) => events.write(decoder.decode(chunk, { stream: true })),
    heldLength: () => events.heldLength(),
    result: () => usage.result(),
    end() {
      events.write(decoder.decode());
      events.end();
      return usage.result();
    },
  };
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
  const stream = createStreamText();
  stream.write(start);
  return stream.end() !== null;
}

function parseJson(text: string): { ok: true; value: unknown } | { ok: false } {
  try {
    return { ok: true, value: JSON.parse(text) as unknown };
  } catch {
    return { ok: false };
  }
}
