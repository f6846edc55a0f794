import { isRecord, own } from '../untrusted/fields.ts';

/** Token counts of one or more model calls. */
export interface TokenCounts {
  promptTokens: number;
  completionTokens: number;
  totalTokens: number;
}

export const NO_TOKENS: Readonly<TokenCounts> = { promptTokens: 0, completionTokens: 0, totalTokens: 0 };

/** Adds the counts of `more` to `sum`. */
export function addTokens(sum: TokenCounts, more: TokenCounts): void {
  sum.promptTokens += more.promptTokens;
  sum.completionTokens += more.completionTokens;
  sum.totalTokens += more.totalTokens;
}

/** The members that contain the token counts in one protocol. */
interface Vocabulary {
  /** Protocols and libraries that use it. */
  usedBy: string;
  prompt: string;
  /** Prompt tokens that are not included in `prompt`. */
  morePrompt?: readonly string[];
  completion: string;
  /** Completion tokens that are not included in `completion`. */
  moreCompletion?: readonly string[];
  total?: string;
}

/** Also in the table of docs/sidecar.md. */
export const VOCABULARIES: readonly Vocabulary[] = [
  {
    usedBy: 'OpenAI chat completions and embeddings, LiteLLM, CrewAI, AutoGen, Groq, Mistral',
    prompt: 'prompt_tokens',
    completion: 'completion_tokens',
    total: 'total_tokens',
  },
  {
    usedBy:
      'OpenAI Responses, OpenAI Agents, Anthropic, LangChain usage_metadata, pydantic-ai, smolagents, Cohere',
    prompt: 'input_tokens',
    // Only Anthropic, which counts cached tokens separately.
    morePrompt: ['cache_creation_input_tokens', 'cache_read_input_tokens'],
    completion: 'output_tokens',
    total: 'total_tokens',
  },
  {
    usedBy: 'AI SDK 5 and later, Mastra, Bedrock Converse, Claude Agent SDK (modelUsage)',
    prompt: 'inputTokens',
    morePrompt: ['cacheCreationInputTokens', 'cacheReadInputTokens'],
    completion: 'outputTokens',
    total: 'totalTokens',
  },
  {
    usedBy: 'AI SDK 4, the reporter',
    prompt: 'promptTokens',
    completion: 'completionTokens',
    total: 'totalTokens',
  },
  {
    usedBy: 'Gemini, Vertex',
    prompt: 'promptTokenCount',
    completion: 'candidatesTokenCount',
    moreCompletion: ['thoughtsTokenCount'],
    total: 'totalTokenCount',
  },
  {
    usedBy: 'Gemini in Python, Agent Development Kit',
    prompt: 'prompt_token_count',
    completion: 'candidates_token_count',
    moreCompletion: ['thoughts_token_count'],
    total: 'total_token_count',
  },
  { usedBy: 'Ollama', prompt: 'prompt_eval_count', completion: 'eval_count' },
];

/** Names of the members in all protocols. */
export const COUNT_NAMES: readonly string[] = [
  ...new Set(
    VOCABULARIES.flatMap(({ prompt, morePrompt = [], completion, moreCompletion = [], total = [] }) =>
      [prompt, morePrompt, completion, moreCompletion, total].flat(),
    ),
  ),
];

/** The token counts that a client sent. They are not usage of the agent. */
export interface SentCounts {
  /** Whether the request contained these counts. Zeros do not matter, and a total may be the sum. */
  hasCounts(holder: unknown): boolean;
}

/** Upper limit for one call. A larger number is invalid and would distort all sums. */
export const MAX_TOKENS = 1e9;

/**
 * The token counts in an object. null: none. `unreadable`: at least one count is invalid, so the others are not reliable
 * either. `sent`: those of the request.
 */
export function countsOf(
  holder: unknown,
  sent: SentCounts | null,
): TokenCounts | 'unreadable' | 'sent' | null {
  if (!isRecord(holder)) return null;
  for (const vocabulary of VOCABULARIES) {
    const counts = countsIn(holder, vocabulary);
    if (counts !== null) return sent?.hasCounts(holder) === true ? 'sent' : counts;
  }
  return null;
}

function countsIn(holder: Record<string, unknown>, words: Vocabulary): TokenCounts | 'unreadable' | null {
  const prompt = countAt(holder, words.prompt);
  const completion = countAt(holder, words.completion);
  if (prompt === null && completion === null) return null;
  const total = words.total === undefined ? null : countAt(holder, words.total);
  const promptTokens = sumAt(holder, prompt, words.morePrompt);
  const completionTokens = sumAt(holder, completion, words.moreCompletion);
  if (promptTokens === 'unreadable' || completionTokens === 'unreadable' || total === 'unreadable')
    return 'unreadable';
  // The total can be larger than the sum, because some vendors count reasoning tokens only in the total.
  const totalTokens = Math.max(total ?? 0, promptTokens + completionTokens);
  return { promptTokens, completionTokens, totalTokens };
}

/** The sum of a count and of the counts with these names. */
function sumAt(
  holder: Record<string, unknown>,
  count: number | 'unreadable' | null,
  more: readonly string[] = NO_NAMES,
): number | 'unreadable' {
  let sum = count ?? 0;
  for (const name of more) {
    const each = countAt(holder, name) ?? 0;
    if (sum === 'unreadable' || each === 'unreadable') return 'unreadable';
    sum += each;
  }
  return sum;
}

const NO_NAMES: readonly string[] = [];

/** null: the member is absent or null. */
function countAt(holder: Record<string, unknown>, name: string): number | 'unreadable' | null {
  const value = own(holder, name);
  if (value === undefined || value === null) return null;
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= MAX_TOKENS
    ? (value as number)
    : 'unreadable';
}
