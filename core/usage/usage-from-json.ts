import { cut, isRecord, own } from '../untrusted/fields.ts';
import type { ModelCall, RequestUsage } from './usage.ts';

const MAX_MODEL_ID = 200;

/**
 * The token usage that a model's answer states, or why it states none; null when the value does not look like a
 * model's answer at all. Reads the OpenAI-compatible forms (chat, completion, embedding, response) and Anthropic's.
 */
export function usageFromJson(value: unknown): RequestUsage | null {
  if (!isRecord(value)) return null;
  const usage = own(value, 'usage');
  if (usage !== undefined && usage !== null) {
    const call = callOf(modelIdOf(value), usage);
    if (call === 'unreadable') return { unavailable: 'the answer has a usage that cannot be read' };
    if (call !== null) return call;
  }
  if (!isModelAnswer(value)) return null;
  return { unavailable: usage ? 'the answer has a usage that cannot be read' : 'the answer has no usage' };
}

/** Whether a JSON object has the shape of a model's answer, or of one chunk of it. */
export function isModelAnswer(value: Record<string, unknown>): boolean {
  const object = own(value, 'object');
  if (typeof object === 'string' && MODEL_OBJECTS.has(object)) return true;
  if (Array.isArray(own(value, 'choices'))) return true;
  return own(value, 'type') === 'message' && own(value, 'role') === 'assistant';
}

const MODEL_OBJECTS = new Set(['chat.completion', 'chat.completion.chunk', 'text_completion', 'response']);

export function modelIdOf(value: Record<string, unknown>): string {
  const model = own(value, 'model');
  return typeof model === 'string' && model !== '' ? cut(model, MAX_MODEL_ID) : 'unknown';
}

/**
 * One call from a `usage` object in either vendor's words; null when it has no token counts, `unreadable` when one of
 * them is not a valid count: the other counts are then not reliable either.
 */
export function callOf(modelId: string, usage: unknown): ModelCall | 'unreadable' | null {
  if (!isRecord(usage)) return null;
  if (COUNTS.some((name) => !isCountOrAbsent(own(usage, name)))) return 'unreadable';
  const tokens = tokensOf(usage);
  const { prompt, completion } = tokens;
  if (prompt === null && completion === null) return null;
  const promptTokens = prompt ?? 0;
  const completionTokens = completion ?? 0;
  const sum = promptTokens + completionTokens;
  // Some vendors count tokens that are in neither part (reasoning); their total is then the larger one.
  return { modelId, promptTokens, completionTokens, totalTokens: Math.max(tokens.total ?? 0, sum) };
}

interface Tokens {
  prompt: number | null;
  completion: number | null;
  total: number | null;
}

/** Anthropic counts cached prompt tokens apart from `input_tokens`; they are prompt tokens all the same. */
function tokensOf(usage: Record<string, unknown>): Tokens {
  const input = countOf(own(usage, 'input_tokens'));
  const cached =
    (countOf(own(usage, 'cache_creation_input_tokens')) ?? 0) +
    (countOf(own(usage, 'cache_read_input_tokens')) ?? 0);
  return {
    prompt: countOf(own(usage, 'prompt_tokens')) ?? (input === null ? null : input + cached),
    completion: countOf(own(usage, 'completion_tokens')) ?? countOf(own(usage, 'output_tokens')),
    total: countOf(own(usage, 'total_tokens')),
  };
}

/** One request cannot use more; a larger number is a lie that would spoil every sum after it. */
export const MAX_TOKENS = 1e9;

const COUNTS = [
  'prompt_tokens',
  'completion_tokens',
  'input_tokens',
  'output_tokens',
  'cache_creation_input_tokens',
  'cache_read_input_tokens',
  'total_tokens',
] as const;

function isCountOrAbsent(value: unknown): boolean {
  return value === undefined || value === null || countOf(value) !== null;
}

function countOf(value: unknown): number | null {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= MAX_TOKENS
    ? (value as number)
    : null;
}
