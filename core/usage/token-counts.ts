import { isRecord, own } from '../untrusted/fields.ts';

/** Token counts of one call of a model, or of several together. */
export interface TokenCounts {
  promptTokens: number;
  completionTokens: number;
  totalTokens: number;
}

/** The members in which a protocol states its token counts. */
interface Vocabulary {
  /** Protocols and libraries that use it. */
  usedBy: string;
  prompt: string;
  /** Counted apart from `prompt`, and prompt tokens all the same. */
  morePrompt?: readonly string[];
  completion: string;
  /** Counted apart from `completion`. */
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
    // Of Anthropic alone, which counts cached tokens apart.
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

/** One call cannot use more; a larger number would spoil every sum after it. */
export const MAX_TOKENS = 1e9;

/**
 * The counts that an object states; null: it states none; `unreadable`: one of them is not a count, so the others are not
 * reliable either.
 */
export function countsOf(holder: unknown): TokenCounts | 'unreadable' | null {
  if (!isRecord(holder)) return null;
  for (const vocabulary of VOCABULARIES) {
    const counts = countsIn(holder, vocabulary);
    if (counts !== null) return counts;
  }
  return null;
}

function countsIn(holder: Record<string, unknown>, words: Vocabulary): TokenCounts | 'unreadable' | null {
  const prompt = countAt(holder, words.prompt);
  const completion = countAt(holder, words.completion);
  if (prompt === null && completion === null) return null;
  const total = words.total === undefined ? null : countAt(holder, words.total);
  const more = [...(words.morePrompt ?? []), ...(words.moreCompletion ?? [])].map((name) =>
    countAt(holder, name),
  );
  if ([prompt, completion, total, ...more].includes('unreadable')) return 'unreadable';
  const sum = (names: readonly string[] = []): number =>
    names.reduce((all, name) => all + ((countAt(holder, name) as number | null) ?? 0), 0);
  const promptTokens = ((prompt as number | null) ?? 0) + sum(words.morePrompt);
  const completionTokens = ((completion as number | null) ?? 0) + sum(words.moreCompletion);
  // Some vendors count tokens that are in neither part (reasoning); their total is then the larger one.
  const totalTokens = Math.max((total as number | null) ?? 0, promptTokens + completionTokens);
  return { promptTokens, completionTokens, totalTokens };
}

/** null: the member is absent or null. */
function countAt(holder: Record<string, unknown>, name: string): number | 'unreadable' | null {
  const value = own(holder, name);
  if (value === undefined || value === null) return null;
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= MAX_TOKENS
    ? (value as number)
    : 'unreadable';
}
