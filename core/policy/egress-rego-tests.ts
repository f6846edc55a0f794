import type { EgressReason } from './policy-rule.ts';
import type { RegoTests } from './rego-tests.ts';

/** The limit is the same for requests and for calls. `data`: where the rule finds its limit. */
export const costLimitTests = (data: string): RegoTests => ({
  at_the_limit: { input: '{"cost_today_usd": 2.5}', config: '{"maxDailyUSD": 2.5}' },
  not_below: { input: '{"cost_today_usd": 2.49}', config: '{"maxDailyUSD": 2.5}' },
  not_when_unknown: { input: '{}', config: '{"maxDailyUSD": 2.5}' },
  as_declared: { input: `{"cost_today_usd": ${data}.maxDailyUSD}` },
});

/** By rule and name, like the tests of the other rules. `config` replaces the data of the egress rules. */
export const EGRESS_TESTS: Readonly<Record<EgressReason, RegoTests>> = {
  daily_token_limit_exceeded: {
    above_the_limit: {
      input: '{"tokens_today": 900, "reserved_tokens": 101}',
      config: '{"maxTokensPerDay": 1000}',
    },
    not_at_the_limit: {
      input: '{"tokens_today": 900, "reserved_tokens": 100}',
      config: '{"maxTokensPerDay": 1000}',
    },
    not_when_unknown: { input: '{"reserved_tokens": 2000}', config: '{"maxTokensPerDay": 1000}' },
    as_declared: { input: '{"tokens_today": policy.egress.maxTokensPerDay, "reserved_tokens": 1}' },
  },
  destructive_tool_without_confirmation: {
    when_called: {
      every: 'type in ["egress_tool_call", "egress_mcp_call"]',
      input: '{"request_type": type, "tools": ["drop"]}',
      config: '{"destructiveTools": ["wipe", "drop"]}',
    },
    not_when_offered: {
      input: '{"request_type": "egress_model_request", "tools": ["drop"]}',
      config: '{"destructiveTools": ["drop"]}',
    },
    not_when_confirmed: {
      input: '{"request_type": "egress_tool_call", "tools": ["drop"], "user_confirmed": true}',
      config: '{"destructiveTools": ["drop"]}',
    },
    as_declared: {
      every: 'tool in policy.egress.destructiveTools',
      input: '{"request_type": "egress_tool_call", "tools": [tool]}',
    },
  },
  host_not_declared: {
    when_unknown: {
      every: 'host in ["example.com", "evil.example.org", "api.example.com.evil", ""]',
      input: '{"host": host}',
      config: '{"hosts": ["api.example.com"], "domains": [".example.com"]}',
    },
    not_when_declared: {
      every: 'host in ["api.example.org", "a.b.example.com"]',
      input: '{"host": host}',
      config: '{"hosts": ["api.example.org"], "domains": [".example.com"]}',
    },
    not_without_a_host: { input: '{}', config: '{"hosts": [], "domains": []}' },
    as_declared: { input: '{"host": ""}' },
  },
  model_not_declared: {
    when_unknown: { input: '{"model_names": ["o3", "o1"]}', config: '{"models": ["gpt-5"]}' },
    not_when_a_name_is_declared: {
      input: '{"model_names": ["gpt-5-2025-08-07", "gpt-5"]}',
      config: '{"models": ["gpt-5"]}',
    },
    not_without_a_model: { input: '{}', config: '{"models": []}' },
    as_declared: { input: '{"model_names": []}' },
  },
  monthly_cost_limit_exceeded: costLimitTests('policy.egress'),
  tool_arguments_invalid: {
    when_invalid: {
      input: '{"invalid_arguments": ["look", "pay"]}',
      config: '{"constrainedTools": ["pay"]}',
    },
    not_for_others: { input: '{"invalid_arguments": ["look"]}', config: '{"constrainedTools": ["pay"]}' },
    not_when_unknown: { input: '{}', config: '{"constrainedTools": ["pay"]}' },
    as_declared: {
      every: 'tool in policy.egress.constrainedTools',
      input: '{"invalid_arguments": [tool]}',
    },
  },
  tool_not_declared: {
    when_unknown: {
      every: 'tool in ["drop", "Look", "file", ""]',
      input: '{"tools": ["look", tool], "mcp_tools": ["read"]}',
      config: '{"tools": ["look"], "toolPrefixes": ["files_"]}',
    },
    not_when_declared: {
      input: '{"tools": ["look", "files_read", "read"], "mcp_tools": ["read"]}',
      config: '{"tools": ["look"], "toolPrefixes": ["files_"]}',
    },
    not_without_tools: { input: '{}', config: '{"tools": [], "toolPrefixes": []}' },
    as_declared: { input: '{"tools": [""]}' },
  },
};
