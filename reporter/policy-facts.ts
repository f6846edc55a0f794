import { present } from '../core/untrusted/present.ts';
import { reportedName } from '../core/untrusted/reported-name.ts';
import { flag, integer, number, optional, parseWith, text } from '../core/shapes/field.ts';
import { list, object } from '../core/shapes/object.ts';
import type { PolicyInput } from '../core/policy/policy-input.ts';
import type { UsageTotals } from '../core/shapes/usage.ts';

/**
 * Facts about a model call before it is made. A rule that requires an absent fact denies the call. `null`: unknown because no request
 * is open; the rule then gives no decision.
 */
export interface PolicyFacts {
  /** Types of guardrails that ran on the input. */
  guardrailsInvoked?: readonly string[] | null;
  /** Names of tools that were called or will be called. */
  toolsCalled?: readonly string[];
  userConfirmed?: boolean | null;
  /** Score of the toxicity filter. */
  toxicityScore?: number;
  /** TTL of the write to short-term memory, in seconds. */
  memoryTtlSeconds?: number;
  /** Tokens of the UTC day; default: the reporter's own count. */
  tokensToday?: number;
  /** Cost of the UTC day; default: the reporter's own count. */
  costTodayUsd?: number;
}

/** Longer names are truncated in the same way as declared names. */
const names = (about: string) => optional(list(about, text('A name.', { max: 1e6 }), { max: 1000 }));
const amount = (about: string) => optional(number(about, { min: 0, max: Number.MAX_VALUE }));

const facts = object('Facts about a model call.', {
  guardrailsInvoked: names('Guardrails that ran on the input.'),
  toolsCalled: names('Tools that were called or will be called.'),
  userConfirmed: optional(flag('Whether the user confirmed.')),
  toxicityScore: optional(number('Score of the toxicity filter.', { min: -1e9, max: 1e9 })),
  memoryTtlSeconds: optional(integer('TTL of the write to short-term memory.', { min: 0 })),
  tokensToday: amount('Tokens of the UTC day.'),
  costTodayUsd: amount('Cost of the UTC day.'),
});

/** The policy input document of a call. Throws TypeError with all problems of the facts. */
export function policyInputFrom(given: PolicyFacts, known: UsageTotals & { agentName: string }): PolicyInput {
  const parsed = parseWith(facts, given);
  if (!parsed.ok)
    throw new TypeError(
      `invalid facts: ${parsed.errors.map(({ path, message }) => `${path} ${message}`).join('; ')}`,
    );
  const { guardrailsInvoked, toolsCalled, userConfirmed, toxicityScore, memoryTtlSeconds } = parsed.value;
  const { tokensToday = known.tokensToday, costTodayUsd = known.costTodayUsd } = parsed.value;
  return {
    agent_name: known.agentName,
    request_type: 'llm_call',
    tokens_today: tokensToday,
    ...present({
      cost_today_usd: costTodayUsd,
      guardrails_invoked: guardrailsInvoked?.map(reportedName),
      tools_called: toolsCalled?.map(reportedName),
      user_confirmed: userConfirmed,
      toxicity_score: toxicityScore,
      memory_write: memoryTtlSeconds === undefined ? undefined : { ttl_seconds: memoryTtlSeconds },
    }),
  };
}
