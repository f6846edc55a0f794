import { MAX_TOKENS, type TokenCounts } from '../usage/token-counts.ts';

/** An object inside, also one that the limit of a text attribute has cut. */
const INNER = /\{[^{}]*\}?/g;
const MEMBER = /"([^"]+)":\s*(\d+)(?=[\s,}])/g;
/** Priority tiers repeat tokens of other members. */
const [INPUT, OUTPUT] = [/input(?!_priority)/, /output(?!_priority)/];

/**
 * Reads `langfuse.observation.usage_details`, an object as JSON. It has the usage of the vendor, or the names of Langfuse, with which
 * each token counts in one member: `{"input":28,"input_cached_tokens":3,"output":5}` are 31 prompt tokens.
 */
export function usageDetailsOf(json: string): TokenCounts {
  const outer = json.replace(/^\s*\{/, '').replace(INNER, '');
  const counts = new Map<string, number>();
  for (const [, name = '', digits] of outer.matchAll(MEMBER)) {
    const count = Number(digits);
    if (count <= MAX_TOKENS) counts.set(name, count);
  }
  const sumOf = (names: RegExp): number => {
    let sum = 0;
    for (const [name, count] of counts) if (names.test(name)) sum += count;
    return sum;
  };
  return {
    promptTokens: counts.get('prompt_tokens') ?? sumOf(INPUT),
    completionTokens: counts.get('completion_tokens') ?? sumOf(OUTPUT),
    totalTokens: counts.get('total') ?? counts.get('total_tokens') ?? 0,
  };
}
