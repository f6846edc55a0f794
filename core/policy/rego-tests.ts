import type { DenialReason } from './policy-rule.ts';

/**
 * Rego tests of each rule. The tests define their own data; the last test of each rule uses the generated data.
 * `policy` is the package under test. The text is the same for every manifest.
 */
export const REGO_TESTS: Readonly<Record<DenialReason, string>> = {
  daily_token_limit_exceeded: `test_daily_token_limit_exceeded_at_the_limit if {
	"daily_token_limit_exceeded" in policy.deny with input as {"tokens_today": 1000}
		with policy.config as {"maxTokensPerDay": 1000}
}

test_daily_token_limit_exceeded_not_below if {
	not "daily_token_limit_exceeded" in policy.deny with input as {"tokens_today": 999}
		with policy.config as {"maxTokensPerDay": 1000}
}

test_daily_token_limit_exceeded_not_when_unknown if {
	not "daily_token_limit_exceeded" in policy.deny with input as {}
		with policy.config as {"maxTokensPerDay": 1000}
}

test_daily_token_limit_exceeded_as_declared if {
	"daily_token_limit_exceeded" in policy.deny with input as {"tokens_today": policy.config.maxTokensPerDay}
}`,

  destructive_tool_without_confirmation: `test_destructive_tool_without_confirmation_when_absent if {
	"destructive_tool_without_confirmation" in policy.deny with input as {"tools_called": ["look", "drop"]}
		with policy.config as {"destructiveTools": ["wipe", "drop"]}
}

test_destructive_tool_without_confirmation_when_refused if {
	"destructive_tool_without_confirmation" in policy.deny with input as {"tools_called": ["drop"], "user_confirmed": false}
		with policy.config as {"destructiveTools": ["drop"]}
}

test_destructive_tool_without_confirmation_not_when_confirmed if {
	not "destructive_tool_without_confirmation" in policy.deny with input as {"tools_called": ["drop"], "user_confirmed": true}
		with policy.config as {"destructiveTools": ["drop"]}
}

test_destructive_tool_without_confirmation_not_for_others if {
	not "destructive_tool_without_confirmation" in policy.deny with input as {"tools_called": ["look"]}
		with policy.config as {"destructiveTools": ["drop"]}
}

test_destructive_tool_without_confirmation_not_when_unknown if {
	not "destructive_tool_without_confirmation" in policy.deny with input as {}
		with policy.config as {"destructiveTools": ["drop"]}
}

test_destructive_tool_without_confirmation_as_declared if {
	every tool in policy.config.destructiveTools {
		"destructive_tool_without_confirmation" in policy.deny with input as {"tools_called": [tool]}
	}
}`,

  memory_ttl_mismatch: `test_memory_ttl_mismatch_shorter_or_longer if {
	every ttl in [0, 3599, 3601] {
		"memory_ttl_mismatch" in policy.deny with input as {"memory_write": {"ttl_seconds": ttl}}
			with policy.config as {"ttlSeconds": 3600}
	}
}

test_memory_ttl_mismatch_not_when_equal if {
	not "memory_ttl_mismatch" in policy.deny with input as {"memory_write": {"ttl_seconds": 3600}}
		with policy.config as {"ttlSeconds": 3600}
}

test_memory_ttl_mismatch_not_when_unknown if {
	not "memory_ttl_mismatch" in policy.deny with input as {}
		with policy.config as {"ttlSeconds": 3600}
}

test_memory_ttl_mismatch_as_declared if {
	"memory_ttl_mismatch" in policy.deny with input as {"memory_write": {"ttl_seconds": -1}}
}`,

  monthly_cost_limit_exceeded: `test_monthly_cost_limit_exceeded_at_the_limit if {
	"monthly_cost_limit_exceeded" in policy.deny with input as {"cost_today_usd": 2.5}
		with policy.config as {"maxDailyUSD": 2.5}
}

test_monthly_cost_limit_exceeded_not_below if {
	not "monthly_cost_limit_exceeded" in policy.deny with input as {"cost_today_usd": 2.49}
		with policy.config as {"maxDailyUSD": 2.5}
}

test_monthly_cost_limit_exceeded_not_when_unknown if {
	not "monthly_cost_limit_exceeded" in policy.deny with input as {}
		with policy.config as {"maxDailyUSD": 2.5}
}

test_monthly_cost_limit_exceeded_as_declared if {
	"monthly_cost_limit_exceeded" in policy.deny with input as {"cost_today_usd": policy.config.maxDailyUSD}
}`,

  pii_detector_not_invoked: `test_pii_detector_not_invoked_when_unknown if {
	"pii_detector_not_invoked" in policy.deny with input as {"request_type": "llm_call"}
}

test_pii_detector_not_invoked_among_others if {
	"pii_detector_not_invoked" in policy.deny with input as {"request_type": "llm_call", "guardrails_invoked": ["custom"]}
}

test_pii_detector_not_invoked_not_when_invoked if {
	not "pii_detector_not_invoked" in policy.deny with input as {"request_type": "llm_call", "guardrails_invoked": ["custom", "pii-detector"]}
}

test_pii_detector_not_invoked_not_in_a_report if {
	not "pii_detector_not_invoked" in policy.deny with input as {"request_type": "report"}
}`,

  toxicity_threshold_exceeded: `test_toxicity_threshold_exceeded_at_the_threshold if {
	"toxicity_threshold_exceeded" in policy.deny with input as {"toxicity_score": 0.7}
		with policy.config as {"toxicityThreshold": 0.7}
}

test_toxicity_threshold_exceeded_not_below if {
	not "toxicity_threshold_exceeded" in policy.deny with input as {"toxicity_score": 0.69}
		with policy.config as {"toxicityThreshold": 0.7}
}

test_toxicity_threshold_exceeded_not_when_unknown if {
	not "toxicity_threshold_exceeded" in policy.deny with input as {}
		with policy.config as {"toxicityThreshold": 0.7}
}

test_toxicity_threshold_exceeded_as_declared if {
	"toxicity_threshold_exceeded" in policy.deny with input as {"toxicity_score": policy.config.toxicityThreshold}
}`,
};
