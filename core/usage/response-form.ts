import { isRecord, jsonOf } from '../untrusted/fields.ts';
import { StreamReader } from './sse-data.ts';
import { LINES, SSE } from './sse-format.ts';
import { StreamDecoder } from './stream-decoder.ts';
import { TOOL_RESULT, UsageCollector, usageOfDocument } from './response-usage.ts';
import { ParseFilter } from './parse-filter.ts';
import { EVERY_RESPONSE, type UsageScope } from './usage-scope.ts';
import type { ParsedUsage } from './usage.ts';

/** Format of a body that may contain usage: one JSON document, server-sent events, or lines of JSON. */
export type ResponseForm = 'json' | 'stream' | 'lines';

/** Maximum bytes of a body that are read. For a stream, the limit applies to the characters of one event or line. */
export const MAX_READ_BYTES = 1024 * 1024;

/** The form for a content type; null: unsupported or missing content type. */
export function formOfType(contentType: string | undefined): ResponseForm | null {
  // The usual values need no parsing.
  if (contentType === 'application/json') return 'json';
  if (contentType === 'text/event-stream') return 'stream';
  const type = mediaType(contentType);
  if (type === 'text/event-stream') return 'stream';
  if (LINE_TYPES.has(type)) return 'lines';
  return type === 'application/json' || type.endsWith('+json') ? 'json' : null;
}

/** Content types of Ollama and of other servers that send JSON lines. */
const LINE_TYPES: ReadonlySet<string> = new Set([
  'application/x-ndjson',
  'application/ndjson',
  'application/jsonl',
  'application/x-jsonlines',
  'application/stream+json',
]);

/** Whether a body of this content type may contain any form, so that decoding the body is worthwhile. */
export function mayHoldAnyForm(contentType: string | undefined): boolean {
  return ['', 'text/plain', 'application/octet-stream'].includes(mediaType(contentType));
}

function mediaType(contentType: string | undefined): string {
  return contentType?.split(';')[0]?.trim().toLowerCase() ?? '';
}

/** Number of leading bytes that `formOfStart` reads. */
export const START_BYTES = 64;

const STARTS: readonly [ResponseForm, RegExp][] = [
  ['json', /^\s*\{/],
  ['stream', /^\s*(?:data|event|id|retry)?:/],
  // AI SDK 4 and Mastra: each line begins with a type code.
  ['lines', /^[a-z\d]{1,2}:["[{]/],
];

/** Detects the form from the first bytes, for any content type; null: not detected. */
export function formOfStart(start: Uint8Array): ResponseForm | null {
  const text = WHOLE_TEXT.decode(start.subarray(0, START_BYTES));
  return STARTS.find(([, pattern]) => pattern.test(text))?.[0] ?? null;
}

/** Shared decoder. Decoding a whole text leaves no state in the decoder. */
const WHOLE_TEXT = new TextDecoder();

/** Usage in a complete JSON body; `broken`: the body is not valid JSON. */
export function usageOfJson(body: Uint8Array, scope: UsageScope): ParsedUsage | 'broken' | null {
  const text = WHOLE_TEXT.decode(body);
  // Whether a body without usage is valid matters only on the path of a model endpoint.
  if (!scope.modelPath && !new ParseFilter().mustParse(text)) return null;
  const value = jsonOf(text);
  if (value === undefined) return 'broken';
  return usageOfDocument(value, scope);
}

export interface StreamText {
  write(chunk: Uint8Array): void;
  /** Estimated memory of the unfinished event and of the calls read so far, in bytes. */
  heldBytes(): number;
  /** Usage read so far; null: no model response was found. */
  result(): ParsedUsage | null;
  end(): ParsedUsage | null;
}

/** Creates an incremental reader of a stream's events or lines. */
export function createStreamText(form: 'stream' | 'lines', scope: UsageScope): StreamText {
  const decoder = new StreamDecoder();
  const usage = new UsageCollector(scope);
  const filter = new ParseFilter();
  const add = (line: string, text = line, code = ''): void => {
    if (!filter.mustParse(line)) return;
    const value = jsonOf(text);
    if (value === undefined) return;
    filter.parsed(line, usage.add(code === STEP_CODE && isRecord(value) ? stepOf(value) : value));
  };
  const onSkip = (start: string): void => {
    const isResponse = SHAPES.some((shape) => shape.test(start)) && !UNFINISHED.test(start);
    if (scope.modelPath || isResponse) usage.skip(isResponse);
  };
  const onData = (data: string): void => (form === 'stream' ? add(data) : add(data, ...withoutCode(data)));
  const events = new StreamReader(form === 'stream' ? SSE : LINES, { onData, onSkip }, MAX_READ_BYTES);
  return {
    write: (chunk) => events.write(decoder.decode(chunk)),
    heldBytes: () => events.heldLength() + filter.heldLength + usage.heldBytes,
    result: () => usage.result(),
    end() {
      events.write(decoder.end());
      events.end();
      return usage.result();
    },
  };
}

/** Type code of AI SDK 4 for the end of a step, which contains the usage of the step. */
const STEP_CODE = 'e';
const stepOf = (end: Record<string, unknown>): unknown => ({ ...end, type: 'finish-step' });
const CODE = /^([a-z\d]{1,2}):/;

function withoutCode(line: string): [text: string, code: string] {
  const [prefix = '', code] = CODE.exec(line) ?? [];
  return [line.slice(prefix.length), code ?? ''];
}

/** Members at the start of model responses. */
const SHAPES: readonly RegExp[] = [
  /"object"\s*:\s*"(?:chat\.completion|text_completion|response|embedding)"/,
  /"(?:choices|candidates)"\s*:\s*\[/,
  /"type"\s*:\s*"message"[^]*"role"\s*:\s*"assistant"|"role"\s*:\s*"assistant"[^]*"type"\s*:\s*"message"/,
];

const UNFINISHED = /"status"\s*:\s*"(?:queued|in_progress)"/;

/** Whether the start of a body that is too large to read looks like a model response. */
export function startsLikeModelResponse(form: ResponseForm, start: Uint8Array): boolean {
  if (form === 'json') {
    const text = WHOLE_TEXT.decode(start);
    return SHAPES.some((shape) => shape.test(text));
  }
  const stream = createStreamText(form, EVERY_RESPONSE);
  stream.write(start);
  const usage = stream.end();
  return usage !== null && usage.reason !== TOOL_RESULT;
}
