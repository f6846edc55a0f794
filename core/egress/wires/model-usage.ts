import { own } from '../../untrusted/fields.ts';
import { MAX_TOKENS } from '../../usage/token-counts.ts';
import type { Json, ModelUsage, WireName } from '../model-wire.ts';
import { recordAt } from './members.ts';

/** Members of the usage, from the outside to the inside. */
type Path = readonly string[];

interface UsageRow {
  /** Where the counts are in the answer; the first one that exists. */
  holders: readonly Path[];
  /** Their sum. */
  prompt: readonly string[];
  /** The first one that exists. */
  cached: readonly Path[];
  cacheWrite: readonly Path[];
  /** Their sum. */
  completion: readonly string[];
  reasoning: readonly Path[];
}

const CHAT: UsageRow = {
  // Groq's streams have the usage in a member of their own.
  holders: [['usage'], ['x_groq', 'usage']],
  prompt: ['prompt_tokens'],
  // The second one is DeepSeek's.
  cached: [['prompt_tokens_details', 'cached_tokens'], ['prompt_cache_hit_tokens']],
  cacheWrite: [['prompt_tokens_details', 'cache_write_tokens']],
  completion: ['completion_tokens'],
  reasoning: [['completion_tokens_details', 'reasoning_tokens']],
};

const USAGE: Readonly<Record<WireName, UsageRow>> = {
  chat: CHAT,
  embeddings: CHAT,
  responses: {
    holders: [['usage']],
    prompt: ['input_tokens'],
    cached: [['input_tokens_details', 'cached_tokens']],
    cacheWrite: [['input_tokens_details', 'cache_write_tokens']],
    completion: ['output_tokens'],
    reasoning: [['output_tokens_details', 'reasoning_tokens']],
  },
  anthropic: {
    holders: [['usage']],
    prompt: ['input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens'],
    cached: [['cache_read_input_tokens']],
    cacheWrite: [['cache_creation_input_tokens']],
    completion: ['output_tokens'],
    // Part of the completion, without a count.
    reasoning: [],
  },
  gemini: {
    holders: [['usageMetadata']],
    prompt: ['promptTokenCount'],
    cached: [['cachedContentTokenCount']],
    cacheWrite: [],
    completion: ['candidatesTokenCount', 'thoughtsTokenCount'],
    reasoning: [['thoughtsTokenCount']],
  },
  cohere: {
    holders: [['usage', 'tokens']],
    prompt: ['input_tokens'],
    cached: [],
    cacheWrite: [],
    completion: ['output_tokens'],
    reasoning: [],
  },
  ollama: {
    holders: [[]],
    prompt: ['prompt_eval_count'],
    cached: [],
    cacheWrite: [],
    completion: ['eval_count'],
    reasoning: [],
  },
};

/** The usage in an answer, or in the event that has it. null: none, or one of its counts is not a valid number. */
export function usageOf(wire: WireName, answer: Json | null): ModelUsage | null {
  const row = USAGE[wire];
  for (const path of row.holders) {
    const holder = path.reduce<Json | null>(recordAt, answer);
    const usage = holder === null ? null : usageIn(holder, row);
    if (usage !== null) return usage;
  }
  return null;
}

function usageIn(holder: Json, row: UsageRow): ModelUsage | null {
  const [prompt, completion] = [row.prompt, row.completion].map((names) => sumOf(holder, names));
  if (prompt === undefined || completion === undefined) return null;
  if (prompt === null && completion === null) return null;
  const [cached, written, reasoning] = [row.cached, row.cacheWrite, row.reasoning].map((paths) =>
    firstOf(holder, paths),
  );
  if ([prompt, completion, cached, written, reasoning].some(Number.isNaN)) return null;
  const [promptTokens, completionTokens] = [prompt ?? 0, completion ?? 0];
  const cachedTokens = Math.min(cached ?? 0, promptTokens);
  return {
    promptTokens,
    cachedTokens,
    cacheWriteTokens: Math.min(written ?? 0, promptTokens - cachedTokens),
    completionTokens,
    reasoningTokens: Math.min(reasoning ?? 0, completionTokens),
  };
}

/** null: no count exists. NaN: a count is invalid. */
function sumOf(holder: Json, names: readonly string[]): number | null {
  const counts = names.map((name) => countAt(holder, name)).filter((count) => count !== null);
  return counts.length === 0 ? null : counts.reduce((sum, count) => sum + count, 0);
}

function firstOf(holder: Json, paths: readonly Path[]): number | null {
  for (const path of paths) {
    const parent = path.slice(0, -1).reduce<Json | null>(recordAt, holder);
    const count = parent === null ? null : countAt(parent, path.at(-1) ?? '');
    if (count !== null) return count;
  }
  return null;
}

/** null: absent or null. NaN: not a valid count. */
function countAt(record: Json, name: string): number | null {
  const value = own(record, name);
  if (value === undefined || value === null) return null;
  const isCount = Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= MAX_TOKENS;
  return isCount ? (value as number) : Number.NaN;
}
