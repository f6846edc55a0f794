import { parseWith } from '../shapes/field.ts';
import { type AgentUsageReport, type ModelUsage, MAX_MODELS, usageReport } from '../shapes/usage.ts';

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
