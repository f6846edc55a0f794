import type { TokenCounts } from '../shapes/request-usage.ts';
import { MAX_TOKENS } from '../shapes/tokens.ts';
import { isRecord, own } from '../untrusted/fields.ts';

export const NO_TOKENS: Readonly<TokenCounts> = { promptTokens: 0, completionTokens: 0, totalTokens: 0 };

/** Adds the counts of `more` to `sum`. */
export function addTokens(sum: TokenCounts, more: TokenCounts): void {
  sum.promptTokens += more.promptTokens;
  sum.completionTokens += more.completionTokens;
  sum.totalTokens += more.totalTokens;
}

/** The members that contain the token counts in one protocol. */
interface Vocabulary {
  prompt: string;
  /** Prompt tokens that are not included in `prompt`. */
  morePrompt?: readonly string[];
  completion: string;
  /** Completion tokens that are not included in `completion`. */
  moreCompletion?: readonly string[];
  total?: string;
}

/** The protocols and libraries that use each are also in the table of docs/sidecar.md. */
const VOCABULARIES: readonly Vocabulary[] = [
  // OpenAI chat completions and embeddings, LiteLLM, CrewAI, AutoGen, Groq, Mistral
  { prompt: 'prompt_tokens', completion: 'completion_tokens', total: 'total_tokens' },
  // OpenAI Responses, OpenAI Agents, Anthropic, LangChain usage_metadata, pydantic-ai, smolagents, Cohere
  {
    prompt: 'input_tokens',
    // Only Anthropic, which counts cached tokens separately.
    morePrompt: ['cache_creation_input_tokens', 'cache_read_input_tokens'],
    completion: 'output_tokens',
    total: 'total_tokens',
  },
  // AI SDK 5 and later, Mastra, Bedrock Converse, Strands, Claude Agent SDK (modelUsage)
  {
    prompt: 'inputTokens',
    morePrompt: ['cacheCreationInputTokens', 'cacheWriteInputTokens', 'cacheReadInputTokens'],
    completion: 'outputTokens',
    total: 'totalTokens',
  },
  // AI SDK 4, the reporter
  { prompt: 'promptTokens', completion: 'completionTokens', total: 'totalTokens' },
  // Gemini, Vertex
  {
    prompt: 'promptTokenCount',
    morePrompt: ['toolUsePromptTokenCount'],
    completion: 'candidatesTokenCount',
    // Gemini Live has the second one instead of candidates.
    moreCompletion: ['thoughtsTokenCount', 'responseTokenCount'],
    total: 'totalTokenCount',
  },
  // Gemini in Python, Agent Development Kit
  {
    prompt: 'prompt_token_count',
    morePrompt: ['tool_use_prompt_token_count'],
    completion: 'candidates_token_count',
    moreCompletion: ['thoughts_token_count', 'response_token_count'],
    total: 'total_token_count',
  },
  // Gemini Interactions
  {
    prompt: 'total_input_tokens',
    morePrompt: ['total_tool_use_tokens'],
    completion: 'total_output_tokens',
    moreCompletion: ['total_thought_tokens'],
    total: 'total_tokens',
  },
  // Microsoft.Extensions.AI
  { prompt: 'inputTokenCount', completion: 'outputTokenCount', total: 'totalTokenCount' },
  // Microsoft Agent Framework in Python
  { prompt: 'input_token_count', completion: 'output_token_count', total: 'total_token_count' },
  // Semantic Kernel in .NET
  { prompt: 'InputTokenCount', completion: 'OutputTokenCount', total: 'TotalTokenCount' },
  // Ollama
  { prompt: 'prompt_eval_count', completion: 'eval_count' },
  // llama.cpp without OpenAI
  { prompt: 'tokens_evaluated', completion: 'tokens_predicted' },
];

/** Names of the members in all protocols. A function, so that bundles without it do not contain the vocabularies. */
export const countNames = (): readonly string[] => [
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
  const total = onlyTotalOf(holder);
  return total !== null && sent?.hasCounts(holder) === true ? 'sent' : total;
}

function countsIn(holder: Record<string, unknown>, words: Vocabulary): TokenCounts | 'unreadable' | null {
  const prompt = countAt(holder, words.prompt);
  const completion = countAt(holder, words.completion);
  if (prompt === null && completion === null) return null;
  const total = words.total === undefined ? null : countAt(holder, words.total);
  const morePrompt = sumAt(holder, words.morePrompt);
  const moreCompletion = sumAt(holder, words.moreCompletion);
  for (const count of [prompt, completion, total, morePrompt, moreCompletion])
    if (count === 'unreadable') return 'unreadable';
  const parts = { prompt, completion, morePrompt, moreCompletion } as Parts;
  return withIterations(holder, byTotal(parts, total as number | null));
}

interface Parts {
  prompt: number | null;
  completion: number | null;
  morePrompt: number;
  moreCompletion: number;
}

/**
 * The stated total decides. It is larger than the parts if a vendor counts some tokens only in the total, and it is less if some
 * parts are included in others. A total that is less than a part is wrong.
 */
function byTotal({ morePrompt, moreCompletion, ...parts }: Parts, total: number | null): TokenCounts {
  const [prompt, completion] = [parts.prompt ?? 0, parts.completion ?? 0];
  const sum = prompt + morePrompt + completion + moreCompletion;
  if (total === null || total < Math.max(prompt, completion))
    return {
      promptTokens: prompt + morePrompt,
      completionTokens: completion + moreCompletion,
      totalTokens: sum,
    };
  if (total >= sum) {
    const completionTokens =
      parts.completion === null ? total - prompt - morePrompt : completion + moreCompletion;
    return { promptTokens: prompt + morePrompt, completionTokens, totalTokens: total };
  }
  const promptTokens = Math.min(total - completion, prompt + morePrompt);
  return { promptTokens, completionTokens: total - promptTokens, totalTokens: total };
}

/** Anthropic: the counts around the iterations of one call do not include those of its compactions and advisors. */
function withIterations(holder: Record<string, unknown>, counts: TokenCounts): TokenCounts | 'unreadable' {
  const iterations = own(holder, 'iterations');
  if (!Array.isArray(iterations)) return counts;
  const sum = { ...NO_TOKENS };
  for (const iteration of iterations) {
    const each = countsOf(iteration, null);
    if (each === 'unreadable') return each;
    if (each !== null && each !== 'sent') addTokens(sum, each);
  }
  return sum.totalTokens > counts.totalTokens ? sum : counts;
}

/** Counts of an embedding whose vendor states nothing but the total. */
function onlyTotalOf(holder: Record<string, unknown>): TokenCounts | 'unreadable' | null {
  const total = countAt(holder, 'total_tokens') ?? countAt(holder, 'totalTokens');
  if (total === null || total === 'unreadable') return total;
  return { promptTokens: total, completionTokens: 0, totalTokens: total };
}

/** The sum of the counts with these names. */
function sumAt(holder: Record<string, unknown>, names: readonly string[] = NO_NAMES): number | 'unreadable' {
  let sum = 0;
  for (const name of names) {
    const count = countAt(holder, name) ?? 0;
    if (count === 'unreadable') return count;
    sum += count;
  }
  return sum;
}

const NO_NAMES: readonly string[] = [];

/** null: the member is absent or null. */
function countAt(holder: Record<string, unknown>, name: string): number | 'unreadable' | null {
  const member = own(holder, name);
  // AI SDK 6 has the parts next to the total in an object.
  const value = isRecord(member) ? own(member, 'total') : member;
  if (value === undefined || value === null) return null;
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= MAX_TOKENS
    ? (value as number)
    : 'unreadable';
}
