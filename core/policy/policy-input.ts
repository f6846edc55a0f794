import type { AuditEntry, BehavioralEvent } from '../behavior/audit-entry.ts';
import type { UsageTotals } from '../usage/usage.ts';

/**
 * What a policy engine is told of one request, or of the agent's day: the contract's policy input document. What is
 * not known is absent; an empty list is a fact. Numbers are finite, texts well-formed Unicode, so that every engine
 * reads the same values.
 */
export interface PolicyInput {
  agent_name: string;
  /** `report`: asked by a gap report that has no request to speak of. */
  request_type: 'llm_call' | 'report';
  guardrails_invoked?: readonly string[];
  tools_called?: readonly string[];
  user_confirmed?: boolean;
  /** Of the toxicity filter, the highest that the request reported. */
  toxicity_score?: number;
  /** UTC day, all instances of the agent; absent without a price. */
  cost_today_usd?: number;
  /** UTC day, all instances of the agent. */
  tokens_today?: number;
  /** Of the short-term memory. Several writes: one that differs from the declared TTL, if there is any. */
  memory_write?: { ttl_seconds: number };
}

/** What the manifest says that decides which of an entry's memory writes is told. */
export interface DeclaredMemory {
  ttlSeconds?: number;
  /** Backends of long-term and vector memory that are not the short-term memory's own: other TTLs hold there. */
  otherBackends: readonly string[];
}

/** Everything that an input is made from. */
export interface InputFacts {
  agentName: string;
  memory: DeclaredMemory;
  /** Today's totals of the agent, as far as they are known. */
  totals?: Partial<UsageTotals>;
  /** The request; without one the input is of type `report`. */
  entry?: Pick<AuditEntry, 'guardrailsInvoked' | 'toolsCalled' | 'userConfirmed' | 'events'>;
}

export function policyInputOf({ agentName, memory, totals = {}, entry }: InputFacts): PolicyInput {
  const input: PolicyInput = { agent_name: agentName, request_type: entry ? 'llm_call' : 'report' };
  if (totals.costTodayUsd !== undefined) input.cost_today_usd = finite(totals.costTodayUsd);
  if (totals.tokensToday !== undefined) input.tokens_today = finite(totals.tokensToday);
  if (entry === undefined) return input;
  const { guardrailsInvoked, toolsCalled, userConfirmed, events = [] } = entry;
  if (guardrailsInvoked !== undefined) input.guardrails_invoked = guardrailsInvoked.map(wellFormed);
  if (toolsCalled !== undefined) input.tools_called = toolsCalled.map(wellFormed);
  if (userConfirmed !== undefined) input.user_confirmed = userConfirmed;
  const toxicity = toxicityIn(events);
  if (toxicity !== undefined) input.toxicity_score = toxicity;
  const ttl = writeTtlIn(events, memory);
  if (ttl !== undefined) input.memory_write = { ttl_seconds: ttl };
  return input;
}

function toxicityIn(events: readonly BehavioralEvent[]): number | undefined {
  let highest: number | undefined;
  for (const event of events)
    if (event.type === 'guardrail' && event.guardrailType === 'toxicity-filter' && event.score !== undefined)
      highest = Math.max(highest ?? event.score, event.score);
  return highest;
}

function writeTtlIn(
  events: readonly BehavioralEvent[],
  { ttlSeconds, otherBackends }: DeclaredMemory,
): number | undefined {
  let told: number | undefined;
  for (const event of events) {
    if (event.type !== 'memory' || event.ttlSeconds === undefined) continue;
    if (event.backend !== undefined && otherBackends.includes(event.backend)) continue;
    if (told === undefined || event.ttlSeconds !== ttlSeconds) told = event.ttlSeconds;
  }
  return told;
}

/** JSON has no infinity: it would arrive as null, which is below every limit. */
function finite(value: number): number {
  return Math.min(value, Number.MAX_VALUE);
}

/** Half a surrogate pair would arrive in another engine as the replacement character, and equal something else. */
function wellFormed(text: string): string {
  return text.toWellFormed();
}
