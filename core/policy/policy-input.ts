import type { AuditEntry } from '../shapes/audit-entry.ts';
import type { BehavioralEvent } from '../shapes/events.ts';
import type { UsageTotals } from '../shapes/usage.ts';

/** What an agent does on an egress lane. */
export const EGRESS_REQUEST_TYPES = [
  'egress_model_request',
  'egress_tool_call',
  'egress_mcp_call',
  'egress_connect',
] as const;
export type EgressRequestType = (typeof EGRESS_REQUEST_TYPES)[number];

/**
 * The contract's policy input document: the facts about one request, or only the totals of the day. An unknown fact is
 * absent; an empty list is a known fact. Numbers are finite and strings are well-formed Unicode, so that every engine
 * reads the same values. `egress-input.ts` composes the documents of the egress lanes.
 */
export interface PolicyInput {
  agent_name: string;
  /** `report`: query of a gap report without a request. */
  request_type: 'llm_call' | 'report' | EgressRequestType;
  guardrails_invoked?: readonly string[];
  tools_called?: readonly string[];
  user_confirmed?: boolean;
  /** The highest score of the toxicity filter that the request reported. */
  toxicity_score?: number;
  /** Cost of the UTC day over all instances of the agent; absent without prices in the manifest. */
  cost_today_usd?: number;
  /** Tokens of the UTC day over all instances of the agent. */
  tokens_today?: number;
  /** A write to the short-term memory. Of several writes, one whose TTL differs from the declared TTL, if any. */
  memory_write?: { ttl_seconds: number };
  /** The requested model of an egress request, as the agent wrote it. */
  model?: string;
  /** The names of `model` that are compared: lower case, without the path of a gateway, with and without its date. */
  model_names?: readonly string[];
  /** Tools that an `egress_model_request` offers; in other egress requests the tools that are called. */
  tools?: readonly string[];
  /** Those of `tools` that a declared MCP server has. */
  mcp_tools?: readonly string[];
  /** Those of `tools` whose arguments are not valid. */
  invalid_arguments?: readonly string[];
  /** Destination of an `egress_connect`: lower case, without port and brackets. */
  host?: string;
  /** Tokens that this call and the calls in flight may use; at least 1. */
  reserved_tokens?: number;
}

/** The manifest values that select which memory write of an entry goes into the input. */
export interface MemoryWriteSelection {
  ttlSeconds?: number;
  /** Backends of long-term and vector memory that differ from the short-term backend. Other TTLs apply there. */
  otherBackends: readonly string[];
}

/** The facts that an input is built from. */
export interface InputFacts {
  agentName: string;
  memory: MemoryWriteSelection;
  /** Today's totals of the agent; an unknown total is absent. */
  totals?: Partial<UsageTotals>;
  /** The request; absent: the input has type `report`. */
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
  { ttlSeconds, otherBackends }: MemoryWriteSelection,
): number | undefined {
  let selected: number | undefined;
  for (const event of events) {
    if (event.type !== 'memory' || event.ttlSeconds === undefined) continue;
    if (event.backend !== undefined && otherBackends.includes(event.backend)) continue;
    if (selected === undefined || event.ttlSeconds !== ttlSeconds) selected = event.ttlSeconds;
  }
  return selected;
}

/** JSON has no infinity. It would become null, and null is below every limit. */
const finite = (value: number): number => Math.min(value, Number.MAX_VALUE);

/** Another engine reads a lone surrogate as the replacement character, which would change string comparisons. */
const wellFormed = (text: string): string => text.toWellFormed();
