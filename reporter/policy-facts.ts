import { reportedName } from '../core/untrusted/reported-name.ts';
import {
  flag,
  integer,
  list,
  number,
  object,
  parseWith,
  text,
  type Field,
} from '../core/untrusted/fields.ts';
import type { PolicyInput } from '../core/policy/policy-input.ts';
import type { UsageTotals } from '../core/shapes/usage.ts';

/**
 * Facts about a model call before it is made. A rule that requires an absent fact denies the call. `null`: unknown because no request
 * is open; the rule then gives no verdict.
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
const names = list(text({ max: 1e6 }), { max: 1000 });
const amount = number({ min: 0, max: Number.MAX_VALUE });

type KnownFacts = { [Name in keyof PolicyFacts]-?: NonNullable<PolicyFacts[Name]> };

/** `null` is read like an absent member. */
const FACTS: Field<Partial<KnownFacts>> = object<object, KnownFacts>(
  {},
  {
    guardrailsInvoked: names,
    toolsCalled: names,
    userConfirmed: flag,
    toxicityScore: number({ min: -1e9, max: 1e9 }),
    memoryTtlSeconds: integer({ min: 0 }),
    tokensToday: amount,
    costTodayUsd: amount,
  },
);

/** The policy input document of a call. Throws TypeError with all problems of the facts. */
export function policyInputFrom(facts: PolicyFacts, known: UsageTotals & { agentName: string }): PolicyInput {
  const parsed = parseWith(FACTS, facts);
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
    ...(costTodayUsd === undefined ? {} : { cost_today_usd: costTodayUsd }),
    ...(guardrailsInvoked === undefined ? {} : { guardrails_invoked: guardrailsInvoked.map(reportedName) }),
    ...(toolsCalled === undefined ? {} : { tools_called: toolsCalled.map(reportedName) }),
    ...(userConfirmed === undefined ? {} : { user_confirmed: userConfirmed }),
    ...(toxicityScore === undefined ? {} : { toxicity_score: toxicityScore }),
    ...(memoryTtlSeconds === undefined ? {} : { memory_write: { ttl_seconds: memoryTtlSeconds } }),
  };
}
