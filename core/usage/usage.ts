/** `GET /usage` when the agent reports its own usage, and the window that a heartbeat ships. */
export interface AgentUsageReport {
  source: 'agent-sdk';
  /** ISO 8601 */
  windowStartedAt: string;
  models: ModelUsage[];
  totalTokens: number;
  totalCalls: number;
}

export interface ModelUsage {
  modelId: string;
  promptTokens: number;
  completionTokens: number;
  totalTokens: number;
  callCount: number;
}

/** `GET /usage` from the audit ring. */
export interface RingUsageReport {
  source: 'audit-ring';
  models: { modelId: string; totalTokens: number; callCount: number }[];
  totalTokens: number;
  totalCalls: number;
  /** Ring entries that carry usage. */
  sampleSize: number;
  /** LLM-shaped answers whose usage could not be read. */
  callsWithoutUsage: number;
  /** Calls reported without a request since the sidecar's start, where there are some; they have no entry and are not in the sums above. */
  withoutRequest?: CallSum;
}

/** Calls and their tokens. */
export interface CallSum {
  totalTokens: number;
  totalCalls: number;
}

/** The usage window of one heartbeat. */
export interface UsageWindow {
  windowStartedAt: string;
  models: ModelUsage[];
  totalTokens: number;
  totalCalls: number;
}

/** Tokens and cost of the current UTC day; cost is absent without `usdPerMillionTokens`. */
export interface UsageTotals {
  tokensToday: number;
  costTodayUsd?: number;
}

/** One call of a model and what it used. */
export interface ModelCall {
  modelId: string;
  promptTokens: number;
  completionTokens: number;
  totalTokens: number;
}

/** A call that was read from an answer. */
export interface ReadCall extends ModelCall {
  /** The vendor's or framework's; null: it has none. */
  id: string | null;
  /** The answer itself was this call's, and not the JSON of a framework that repeats it. */
  isRoot: boolean;
}

/** What was read from one answer. */
export interface ReadUsage {
  calls: readonly ReadCall[];
  /** Ids of the calls that stated no usage; null: one without an id. */
  unknown: readonly (string | null)[];
  /** Why their usage is not known. */
  reason: string;
}

/** What one answer used, summed over its calls. */
export interface AnswerUsage extends ModelCall {
  /** Where there are several. */
  calls?: readonly ModelCall[];
  /** Calls of the answer that stated no usage, where there are some. */
  callsWithoutUsage?: number;
}

/** Usage of one proxied request: read from its answer, or the reason why it is not known. */
export type RequestUsage = AnswerUsage | { unavailable: string };
