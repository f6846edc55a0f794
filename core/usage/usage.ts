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

/** Usage of one proxied request: counted from the wire, or the reason why it is not known. */
export type RequestUsage = ModelCall | { unavailable: string };
