import { MAX_TOKENS } from '../shapes/tokens.ts';
import type { TokenCounts } from '../shapes/request-usage.ts';

/** An object inside, also one that the limit of a text attribute has cut. */
const INNER = /\{[^{}]*\}?/g;
const MEMBER = /"([^"]+)":\s*(\d+)(?=[\s,}])/g;
/** Priority tiers repeat tokens of other members. */
const [INPUT, OUTPUT] = [/input(?!_priority)/, /output(?!_priority)/];

/**
 * Reads the usage of a call that is one attribute: an object as JSON, with the usage of the vendor or with the names of Langfuse. There
 * each token counts in one member: `{"input":28,"input_cached_tokens":3,"output":5}` are 31 prompt tokens. If input and output are the
 * total already, the other members are parts of them.
 */
export function usageDetailsOf(json: string): TokenCounts {
  const outer = json.replace(/^\s*\{/, '').replace(INNER, '');
  const counts = new Map<string, number>();
  for (const [, name = '', digits] of outer.matchAll(MEMBER)) {
    const count = Number(digits);
    if (count <= MAX_TOKENS) counts.set(name, count);
  }
  const first = (...names: string[]): number => names.map((name) => counts.get(name)).find(Boolean) ?? 0;
  const sumOf = (names: RegExp): number => {
    let sum = 0;
    for (const [name, count] of counts) if (names.test(name)) sum += count;
    return sum;
  };
  const promptTokens = first('prompt_tokens', 'input_tokens', 'input');
  const completionTokens = first('completion_tokens', 'output_tokens', 'output');
  const totalTokens = first('total_tokens', 'total');
  const isComplete = counts.has('prompt_tokens') || promptTokens + completionTokens === totalTokens;
  return isComplete
    ? { promptTokens, completionTokens, totalTokens }
    : { promptTokens: sumOf(INPUT), completionTokens: sumOf(OUTPUT), totalTokens };
}
