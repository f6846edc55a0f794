import { reportedName } from '../core/behavior/reported-name.ts';
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
import type { UsageTotals } from '../core/usage/usage.ts';

/** What is known of a call before it is made. Absent: not known, which denies where a rule wants to see it. */
export interface PolicyFacts {
  /** Types of the guardrails that ran on the input. */
  guardrailsInvoked?: readonly string[];
  /** Names of the tools that were called, or are about to be. */
  toolsCalled?: readonly string[];
  userConfirmed?: boolean;
  /** Of the toxicity filter. */
  toxicityScore?: number;
  /** Seconds: the TTL with which the short-term memory is written. */
  memoryTtlSeconds?: number;
  /** Of the UTC day; default: what the reporter counted. */
  tokensToday?: number;
  costTodayUsd?: number;
}

/** Longer names are cut as the declared ones are. */
const names = list(text({ max: 1e6 }), { max: 1000 });
const amount = number({ min: 0, max: Number.MAX_VALUE });

const FACTS: Field<Partial<PolicyFacts>> = object<object, Required<PolicyFacts>>(
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

/** The policy input document of a call. Throws TypeError with everything that is wrong with the facts. */
export function policyInputFrom(facts: PolicyFacts, known: UsageTotals & { agentName: string }): PolicyInput {
  const parsed = parseWith(FACTS, facts);
  if (!parsed.ok)
    throw new TypeError(
      `these facts cannot be checked: ${parsed.errors.map(({ path, message }) => `${path} ${message}`).join('; ')}`,
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
