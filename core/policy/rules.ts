import { reportedName } from '../behavior/reported-name.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { policyRule, type PolicyRule } from './policy-rule.ts';

/** The policy rules, each in Rego and in TypeScript, sorted by reason like the results of engines. */
export const POLICY_RULES: readonly PolicyRule[] = [
  policyRule({
    reason: 'daily_token_limit_exceeded',
    field: 'spec.model.costControls.maxTokensPerDay',
    declaredBy: 'set',
    deniesWhen: "today's tokens have reached maxTokensPerDay",
    severity: 'high',
    recommendation: 'Reduce the token usage per day, or raise costControls.maxTokensPerDay.',
    rego: 'deny contains "daily_token_limit_exceeded" if input.tokens_today >= config.maxTokensPerDay',
    configOf: ({ spec }) => {
      const maxTokensPerDay = spec.model.costControls?.maxTokensPerDay;
      return maxTokensPerDay === undefined ? null : { maxTokensPerDay };
    },
    denierOf:
      ({ maxTokensPerDay }) =>
      (input) =>
        input.tokens_today !== undefined && input.tokens_today >= maxTokensPerDay,
    canariesOf: ({ maxTokensPerDay }) => [{ tokens_today: maxTokensPerDay }],
  }),
  policyRule({
    reason: 'destructive_tool_without_confirmation',
    field: 'spec.tools',
    declaredBy: 'a tool sets annotations.destructiveHint to true',
    deniesWhen: 'a destructive tool was called without user confirmation',
    severity: 'critical',
    recommendation:
      'Get user confirmation before a destructive tool runs, and report it in X-Platform-User-Confirmed.',
    rego: `deny contains "destructive_tool_without_confirmation" if {
	some tool in input.tools_called
	tool in config.destructiveTools
	object.get(input, "user_confirmed", false) != true
}`,
    configOf: (manifest) => {
      const destructiveTools = destructiveToolsOf(manifest);
      return destructiveTools.length === 0 ? null : { destructiveTools };
    },
    denierOf: ({ destructiveTools }) => {
      const destructive: ReadonlySet<string> = new Set(destructiveTools);
      return (input) =>
        input.user_confirmed !== true && (input.tools_called ?? []).some((tool) => destructive.has(tool));
    },
    // One canary per tool detects an engine with the data of an older manifest.
    canariesOf: ({ destructiveTools }) => destructiveTools.map((tool) => ({ tools_called: [tool] })),
  }),
  policyRule({
    reason: 'memory_ttl_mismatch',
    field: 'spec.memory.shortTerm.ttlSeconds',
    declaredBy: 'set',
    deniesWhen: 'the TTL of a write to short-term memory differs from ttlSeconds',
    severity: 'high',
    recommendation: 'Write to memory with the TTL that the manifest declares.',
    rego: 'deny contains "memory_ttl_mismatch" if input.memory_write.ttl_seconds != config.ttlSeconds',
    configOf: ({ spec }) => {
      const ttlSeconds = spec.memory?.shortTerm?.ttlSeconds;
      return ttlSeconds === undefined ? null : { ttlSeconds };
    },
    denierOf:
      ({ ttlSeconds }) =>
      (input) =>
        input.memory_write !== undefined && input.memory_write.ttl_seconds !== ttlSeconds,
    // No manifest can declare a negative TTL.
    canariesOf: () => [{ memory_write: { ttl_seconds: -1 } }],
  }),
  policyRule({
    reason: 'monthly_cost_limit_exceeded',
    field: 'spec.model.costControls.maxMonthlyUSD',
    declaredBy: 'set; without `usdPerMillionTokens` the cost is unknown and the rule denies nothing',
    deniesWhen: "today's cost has reached maxMonthlyUSD / 30",
    severity: 'critical',
    recommendation: 'Reduce the model cost per day, or raise costControls.maxMonthlyUSD.',
    rego: 'deny contains "monthly_cost_limit_exceeded" if input.cost_today_usd >= config.maxDailyUSD',
    configOf: ({ spec }) => {
      const maxMonthlyUSD = spec.model.costControls?.maxMonthlyUSD;
      return maxMonthlyUSD === undefined ? null : { maxMonthlyUSD, maxDailyUSD: maxMonthlyUSD / 30 };
    },
    denierOf:
      ({ maxDailyUSD }) =>
      (input) =>
        input.cost_today_usd !== undefined && input.cost_today_usd >= maxDailyUSD,
    canariesOf: ({ maxDailyUSD }) => [{ cost_today_usd: maxDailyUSD }],
  }),
  policyRule({
    reason: 'pii_detector_not_invoked',
    field: 'spec.guardrails.input',
    declaredBy: 'an entry has type pii-detector',
    deniesWhen: 'a model call does not report that the pii-detector was invoked',
    severity: 'high',
    recommendation:
      'Run the pii-detector on every model call, and report it in X-Platform-Guardrails-Invoked.',
    rego: `deny contains "pii_detector_not_invoked" if {
	input.request_type == "llm_call"
	not "pii-detector" in object.get(input, "guardrails_invoked", [])
}`,
    configOf: ({ spec }) =>
      (spec.guardrails?.input ?? []).some(({ type }) => type === 'pii-detector') ? {} : null,
    denierOf: () => (input) =>
      input.request_type === 'llm_call' && !(input.guardrails_invoked ?? []).includes('pii-detector'),
    canariesOf: () => [{ guardrails_invoked: [] }],
  }),
  policyRule({
    reason: 'toxicity_threshold_exceeded',
    field: 'spec.guardrails.output',
    declaredBy: 'an entry has type toxicity-filter and a threshold; the lowest of several thresholds applies',
    deniesWhen: 'the reported toxicity score has reached the threshold',
    severity: 'medium',
    recommendation: 'Make the toxicity-filter act on responses that reach its threshold.',
    rego: 'deny contains "toxicity_threshold_exceeded" if input.toxicity_score >= config.toxicityThreshold',
    configOf: ({ spec }) => {
      const thresholds = (spec.guardrails?.output ?? []).flatMap(({ type, threshold }) =>
        type === 'toxicity-filter' && threshold !== undefined ? [threshold] : [],
      );
      return thresholds.length === 0 ? null : { toxicityThreshold: Math.min(...thresholds) };
    },
    denierOf:
      ({ toxicityThreshold }) =>
      (input) =>
        input.toxicity_score !== undefined && input.toxicity_score >= toxicityThreshold,
    canariesOf: ({ toxicityThreshold }) => [{ toxicity_score: toxicityThreshold }],
  }),
];

function destructiveToolsOf({ spec }: Manifest): string[] {
  const names = (spec.tools ?? []).flatMap(({ name, annotations }) =>
    annotations?.destructiveHint === true ? [reportedName(name)] : [],
  );
  return [...new Set(names)];
}
