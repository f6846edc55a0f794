import { integer, isoTime, list, object, oneOf, parseWith, text } from '../untrusted/fields.ts';
import type { AgentUsageReport, ModelUsage, UsageWindow } from './usage.ts';

const count = integer({ min: 0 });

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
  models: list(model, { max: 100, cut: true }),
  totalTokens: count,
  totalCalls: count,
});

const report = object<AgentUsageReport>({
  source: oneOf(['agent-sdk']),
  windowStartedAt: isoTime,
  models: list(model, { max: 100, cut: true }),
  totalTokens: count,
  totalCalls: count,
});

/** Reads what the agent's own `GET /platform/usage` answered; null when it is no valid report. */
export function parseUsageReport(value: unknown): AgentUsageReport | null {
  const parsed = parseWith(report, value);
  return parsed.ok ? parsed.value : null;
}
