import { addTokens } from '../usage/token-counts.ts';
import type { ModelCall } from '../shapes/request-usage.ts';
import { union } from './apply-events.ts';
import { LANE_USAGE } from '../shapes/hidden-members.ts';
import type { AuditEntry } from '../shapes/audit-entry.ts';
import { reportedCallsOf } from './entry-usage.ts';

/** Calls with tokens, and names, that one entry keeps. Tokens of further calls are added to the last one. */
const MAX_CALLS = 50;
const MAX_NAMES = 100;

/** A finished call through a lane. */
export interface FinishedLaneCall {
  /** null: not known, or not a call of a model. */
  model: string | null;
  tools: readonly string[];
  /** null: no tokens were used, or none are known. */
  usage: ModelCall | null;
  /** Tokens were used, but the vendor did not state them. */
  isUsageUnknown: boolean;
}

/** Adds a call to the entry of the request during which the agent made it. */
export function addLaneCall(entry: AuditEntry, call: FinishedLaneCall): void {
  const { calls, models, tools } = entry.egress ?? { calls: 0, models: [], tools: [] };
  entry.egress = {
    calls: calls + 1,
    models: union(models, call.model === null ? [] : [call.model]).slice(0, MAX_NAMES),
    tools: union(tools, call.tools).slice(0, MAX_NAMES),
  };
  const known = entry[LANE_USAGE] ?? { calls: [], withoutUsage: 0 };
  entry[LANE_USAGE] = {
    calls: call.usage === null ? known.calls : withCall(known.calls, call.usage),
    withoutUsage: known.withoutUsage + (call.isUsageUnknown ? 1 : 0),
  };
}

function withCall(calls: readonly ModelCall[], call: ModelCall): ModelCall[] {
  const last = calls.at(-1);
  if (last === undefined || calls.length < MAX_CALLS) return [...calls, call];
  const sum = { ...last };
  addTokens(sum, call);
  return [...calls.slice(0, -1), sum];
}

interface ComparedTokens {
  /** Tokens on the lanes, of the requests whose tokens the agent reported. */
  tokens: { prompt: number; completion: number; unknownCalls: number };
  /** Of the same requests; null: there is none. */
  reportedTokens: { prompt: number; completion: number } | null;
}

/** The tokens that lanes saw, next to those that the agent reported for the same requests. */
export function comparedTokensIn(entries: readonly AuditEntry[]): ComparedTokens {
  const tokens = { prompt: 0, completion: 0, unknownCalls: 0 };
  const reported = { prompt: 0, completion: 0 };
  let isReported = false;
  for (const entry of entries) {
    const lanes = entry[LANE_USAGE];
    const calls = lanes === undefined || entry.outcome === undefined ? [] : reportedCallsOf(entry);
    if (lanes === undefined || calls.length === 0) continue;
    isReported = true;
    addTo(tokens, lanes.calls);
    addTo(reported, calls);
    tokens.unknownCalls += lanes.withoutUsage;
  }
  return { tokens, reportedTokens: isReported ? reported : null };
}

function addTo(sum: { prompt: number; completion: number }, calls: readonly ModelCall[]): void {
  for (const { promptTokens, completionTokens } of calls) {
    sum.prompt += promptTokens;
    sum.completion += completionTokens;
  }
}
