import { MAX_TOKENS } from '../../shapes/tokens.ts';
import { own } from '../../untrusted/fields.ts';
import { countsOf } from '../../usage/token-counts.ts';
import type { Json, ModelUsage, WireName } from '../model-wire.ts';
import { recordAt } from './members.ts';

/** Members of the usage, from the outside to the inside. */
type Path = readonly string[];

/** A count, with the members around it. */
interface CountPath {
  parents: Path;
  name: string;
}

const at = (...path: [...parents: string[], name: string]): CountPath => ({
  parents: path.slice(0, -1),
  name: path.at(-1) ?? '',
});

interface UsageRow {
  /** Where the counts are in the response; the first one that exists. */
  holders: readonly Path[];
  /** The first one that exists. */
  cached: readonly CountPath[];
  cacheWrite: readonly CountPath[];
  reasoning: readonly CountPath[];
}

const CHAT: UsageRow = {
  // Groq's streams have the usage in a member of their own.
  holders: [['usage'], ['x_groq', 'usage']],
  // The second one is DeepSeek's.
  cached: [at('prompt_tokens_details', 'cached_tokens'), at('prompt_cache_hit_tokens')],
  cacheWrite: [at('prompt_tokens_details', 'cache_write_tokens')],
  reasoning: [at('completion_tokens_details', 'reasoning_tokens')],
};

const USAGE: Readonly<Record<WireName, UsageRow>> = {
  chat: CHAT,
  embeddings: CHAT,
  responses: {
    holders: [['usage']],
    cached: [at('input_tokens_details', 'cached_tokens')],
    cacheWrite: [at('input_tokens_details', 'cache_write_tokens')],
    reasoning: [at('output_tokens_details', 'reasoning_tokens')],
  },
  anthropic: {
    holders: [['usage']],
    cached: [at('cache_read_input_tokens')],
    cacheWrite: [at('cache_creation_input_tokens')],
    // Part of the completion, without a count.
    reasoning: [],
  },
  gemini: {
    holders: [['usageMetadata']],
    cached: [at('cachedContentTokenCount')],
    cacheWrite: [],
    reasoning: [at('thoughtsTokenCount')],
  },
  cohere: {
    holders: [
      ['usage', 'tokens'],
      ['usage', 'billed_units'],
    ],
    cached: [],
    cacheWrite: [],
    reasoning: [],
  },
  ollama: {
    holders: [[]],
    cached: [],
    cacheWrite: [],
    reasoning: [],
  },
};

/** The usage in a response, or in the event that has it. null: none, or one of its counts is not a valid number. */
export function usageOf(wire: WireName, response: Json | null): ModelUsage | null {
  const row = USAGE[wire];
  for (const path of row.holders) {
    const holder = path.reduce<Json | null>(recordAt, response);
    const usage = holder === null ? null : usageIn(holder, row);
    if (usage !== null) return usage;
  }
  return null;
}

/** The counts are those that the proxy reads. All that is not prompt is completion. */
function usageIn(holder: Json, row: UsageRow): ModelUsage | null {
  const counts = countsOf(holder, null);
  if (counts === null || counts === 'unreadable' || counts === 'sent') return null;
  const { promptTokens, totalTokens } = counts;
  const completionTokens = totalTokens - promptTokens;
  const cached = firstOf(holder, row.cached) ?? 0;
  const written = firstOf(holder, row.cacheWrite) ?? 0;
  const reasoning = firstOf(holder, row.reasoning) ?? 0;
  // The sum is NaN if a count is.
  if (Number.isNaN(cached + written + reasoning)) return null;
  const cachedTokens = Math.min(cached, promptTokens);
  return {
    promptTokens,
    cachedTokens,
    cacheWriteTokens: Math.min(written, promptTokens - cachedTokens),
    completionTokens,
    reasoningTokens: Math.min(reasoning, completionTokens),
  };
}

function firstOf(holder: Json, paths: readonly CountPath[]): number | null {
  for (const path of paths) {
    let parent: Json | null = holder;
    for (const name of path.parents) parent = recordAt(parent, name);
    const count = parent === null ? null : countAt(parent, path.name);
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
