import { integer, isoTime, list, object, oneOf, parseWith, text } from '../untrusted/fields.ts';
import type { AgentUsageReport, ModelUsage, UsageWindow } from './usage.ts';

const count = integer({ min: 0 });

/** Models that are kept, and that an agent's report may have. */
const MAX_MODELS = 100;
const MAX_REPORTED = 10_000;

const model = object<ModelUsage>({
  modelId: text({ max: 200, cut: true }),
  promptTokens: count,
  completionTokens: count,
  totalTokens: count,
  callCount: count,
});

/** A usage window as a heartbeat ships it. */
export const usageWindow = object<UsageWindow>({
  windowStartedAt: isoTime,
  models: list(model, { max: MAX_MODELS, cut: true }),
  totalTokens: count,
  totalCalls: count,
});

const report = object<AgentUsageReport>({
  source: oneOf(['agent-sdk']),
  windowStartedAt: isoTime,
  models: list(model, { max: MAX_REPORTED }),
  totalTokens: count,
  totalCalls: count,
});

/**
 * Reads the agent's own `GET /platform/usage`; null when it is not a valid report. Totals that are not those of its
 * models make it invalid as a whole.
 */
export function parseUsageReport(value: unknown): AgentUsageReport | null {
  const parsed = parseWith(report, value);
  if (!parsed.ok || !isConsistent(parsed.value)) return null;
  return { ...parsed.value, models: parsed.value.models.slice(0, MAX_MODELS) };
}

/** Some vendors count tokens that are in neither part (reasoning), so a total may be larger than its parts. */
function isConsistent({ models, totalTokens, totalCalls }: AgentUsageReport): boolean {
  const sum = (of: (each: ModelUsage) => number): number =>
    models.reduce((total, each) => total + of(each), 0);
  return (
    totalTokens === sum((each) => each.totalTokens) &&
    totalCalls === sum((each) => each.callCount) &&
    models.every((each) => each.totalTokens >= each.promptTokens + each.completionTokens)
  );
}
