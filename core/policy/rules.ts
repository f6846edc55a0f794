import { reportedName } from '../untrusted/reported-name.ts';
import { ifDeclared, policyRules, type DenialReason } from './policy-rule.ts';

/** The policy rules, each in Rego and in TypeScript, sorted by reason like the results of engines. */
export const POLICY_RULES = policyRules<DenialReason>({
  daily_token_limit_exceeded: {
    field: 'spec.model.costControls.maxTokensPerDay',
    declaredBy: 'set',
    deniesWhen: "today's tokens have reached maxTokensPerDay",
    severity: 'high',
    recommendation: 'Reduce the token usage per day, or raise costControls.maxTokensPerDay.',
    rego: 'deny contains "daily_token_limit_exceeded" if input.tokens_today >= config.maxTokensPerDay',
    bind: ({ spec }) =>
      ifDeclared(spec.model.costControls?.maxTokensPerDay, (maxTokensPerDay) => ({
        config: { maxTokensPerDay },
        denies: (input) => input.tokens_today !== undefined && input.tokens_today >= maxTokensPerDay,
        canaries: [{ tokens_today: maxTokensPerDay }],
      })),
  },
  destructive_tool_without_confirmation: {
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
    bind: ({ spec }) => {
      const tools = (spec.tools ?? []).filter(({ annotations }) => annotations?.destructiveHint === true);
      const destructive: ReadonlySet<string> = new Set(tools.map(({ name }) => reportedName(name)));
      if (destructive.size === 0) return null;
      const destructiveTools = [...destructive];
      return {
        config: { destructiveTools },
        denies: (input) =>
          input.user_confirmed !== true && (input.tools_called ?? []).some((tool) => destructive.has(tool)),
        // One canary per tool detects an engine with the data of an older manifest.
        canaries: destructiveTools.map((tool) => ({ tools_called: [tool] })),
      };
    },
  },
  memory_ttl_mismatch: {
    field: 'spec.memory.shortTerm.ttlSeconds',
    declaredBy: 'set',
    deniesWhen: 'the TTL of a write to short-term memory differs from ttlSeconds',
    severity: 'high',
    recommendation: 'Write to memory with the TTL that the manifest declares.',
    rego: 'deny contains "memory_ttl_mismatch" if input.memory_write.ttl_seconds != config.ttlSeconds',
    bind: ({ spec }) =>
      ifDeclared(spec.memory?.shortTerm?.ttlSeconds, (ttlSeconds) => ({
        config: { ttlSeconds },
        denies: (input) => input.memory_write !== undefined && input.memory_write.ttl_seconds !== ttlSeconds,
        // No manifest can declare a negative TTL.
        canaries: [{ memory_write: { ttl_seconds: -1 } }],
      })),
  },
  monthly_cost_limit_exceeded: {
    field: 'spec.model.costControls.maxMonthlyUSD',
    declaredBy: 'set; without `usdPerMillionTokens` the cost is unknown and the rule denies nothing',
    deniesWhen: "today's cost has reached maxMonthlyUSD / 30",
    severity: 'critical',
    recommendation: 'Reduce the model cost per day, or raise costControls.maxMonthlyUSD.',
    rego: 'deny contains "monthly_cost_limit_exceeded" if input.cost_today_usd >= config.maxDailyUSD',
    bind: ({ spec }) => {
      const maxMonthlyUSD = spec.model.costControls?.maxMonthlyUSD;
      if (maxMonthlyUSD === undefined) return null;
      // Computed here, so that engines cannot differ in rounding.
      const maxDailyUSD = maxMonthlyUSD / 30;
      return {
        config: { maxMonthlyUSD, maxDailyUSD },
        denies: (input) => input.cost_today_usd !== undefined && input.cost_today_usd >= maxDailyUSD,
        canaries: [{ cost_today_usd: maxDailyUSD }],
      };
    },
  },
  pii_detector_not_invoked: {
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
    bind: ({ spec }) => {
      if (!spec.guardrails?.input?.some(({ type }) => type === 'pii-detector')) return null;
      return {
        config: {},
        denies: (input) =>
          input.request_type === 'llm_call' && !(input.guardrails_invoked ?? []).includes('pii-detector'),
        canaries: [{ guardrails_invoked: [] }],
      };
    },
  },
  toxicity_threshold_exceeded: {
    field: 'spec.guardrails.output',
    declaredBy: 'an entry has type toxicity-filter and a threshold; the lowest of several thresholds applies',
    deniesWhen: 'the reported toxicity score has reached the threshold',
    severity: 'medium',
    recommendation: 'Make the toxicity-filter act on responses that reach its threshold.',
    rego: 'deny contains "toxicity_threshold_exceeded" if input.toxicity_score >= config.toxicityThreshold',
    bind: ({ spec }) => {
      const thresholds = (spec.guardrails?.output ?? []).flatMap(({ type, threshold }) =>
        type === 'toxicity-filter' && threshold !== undefined ? [threshold] : [],
      );
      if (thresholds.length === 0) return null;
      const toxicityThreshold = Math.min(...thresholds);
      return {
        config: { toxicityThreshold },
        denies: (input) => input.toxicity_score !== undefined && input.toxicity_score >= toxicityThreshold,
        canaries: [{ toxicity_score: toxicityThreshold }],
      };
    },
  },
});
