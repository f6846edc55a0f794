import { integer, isoTime, list, object, oneOf, parseWith, text } from '../untrusted/fields.ts';
import type { AgentUsageReport, ModelUsage, UsageWindow } from './usage.ts';

const count = integer({ min: 0 });

/** Maximum number of models that are kept, and that an agent's report may contain. */
const MAX_MODELS = 100;
const MAX_REPORTED = 10_000;

const model = object<ModelUsage>({
  modelId: text({ max: 200, cut: true }),
  promptTokens: count,
  completionTokens: count,
  totalTokens: count,
  callCount: count,
});

/** The usage window of a heartbeat. */
export const usageWindow = object<UsageWindow>({
  windowStartedAt: isoTime,
  models: list(model, { max: MAX_MODELS, cut: true }),
  totalTokens: count,
  totalCalls: count,
});

/** The agent's own `GET /platform/usage`, before its totals are compared. */
export const usageReport = object<AgentUsageReport>({
  source: oneOf(['agent-sdk']),
  windowStartedAt: isoTime,
  models: list(model, { max: MAX_REPORTED }),
  totalTokens: count,
  totalCalls: count,
});

/**
 * Parses the agent's own `GET /platform/usage`; null: not a valid report. The report is invalid as a whole if its totals do
 * not match its models.
 */
export function parseUsageReport(value: unknown): AgentUsageReport | null {
  const parsed = parseWith(usageReport, value);
  if (!parsed.ok || !isConsistent(parsed.value)) return null;
  return { ...parsed.value, models: parsed.value.models.slice(0, MAX_MODELS) };
}

/** A total may be larger than the sum of its parts, because some vendors count reasoning tokens only in the total. */
function isConsistent({ models, totalTokens, totalCalls }: AgentUsageReport): boolean {
  const sum = (of: (each: ModelUsage) => number): number =>
    models.reduce((total, each) => total + of(each), 0);
  return (
    totalTokens === sum((each) => each.totalTokens) &&
    totalCalls === sum((each) => each.callCount) &&
    models.every((each) => each.totalTokens >= each.promptTokens + each.completionTokens)
  );
}
