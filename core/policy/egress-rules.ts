import { reportedName } from '../untrusted/reported-name.ts';
import { declaredEgressOf } from '../egress/declared.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { ifDeclared, policyRules, type EgressReason } from './policy-rule.ts';

const namesOf = (tools: Manifest['spec']['tools'] = []): string[] => [
  ...new Set(tools.map(({ name }) => reportedName(name))),
];

/**
 * The rules for calls on the egress lanes, each in Rego and in TypeScript, sorted by reason. The rules about names apply to every
 * manifest: a name that is not declared is not allowed. An empty name is never declared, so it is the canary.
 */
export const EGRESS_RULES = policyRules<EgressReason>({
  daily_token_limit_exceeded: {
    field: 'spec.model.costControls.maxTokensPerDay',
    declaredBy: 'set',
    deniesWhen: "today's tokens and the tokens that are reserved for calls in flight exceed maxTokensPerDay",
    severity: 'high',
    recommendation: 'Reduce the token usage per day, or raise costControls.maxTokensPerDay.',
    rego: 'deny_egress contains "daily_token_limit_exceeded" if input.tokens_today + input.reserved_tokens > egress.maxTokensPerDay',
    bind: ({ spec }) =>
      ifDeclared(spec.model.costControls?.maxTokensPerDay, (maxTokensPerDay) => ({
        config: { maxTokensPerDay },
        denies: ({ tokens_today: used, reserved_tokens: reserved }) =>
          used !== undefined && reserved !== undefined && used + reserved > maxTokensPerDay,
        canaries: [
          {
            request_type: 'egress_model_request',
            tokens_today: maxTokensPerDay,
            reserved_tokens: maxTokensPerDay,
          },
        ],
      })),
  },
  destructive_tool_without_confirmation: {
    field: 'spec.tools',
    declaredBy: 'a tool sets annotations.destructiveHint to true',
    deniesWhen:
      'a model or the agent calls a destructive tool without user confirmation; offering it is allowed',
    severity: 'critical',
    recommendation:
      'Get user confirmation before a destructive tool runs, and report it before the model is called.',
    rego: `deny_egress contains "destructive_tool_without_confirmation" if {
	input.request_type != "egress_model_request"
	some tool in input.tools
	tool in egress.destructiveTools
	object.get(input, "user_confirmed", false) != true
}`,
    bind: ({ spec }) => {
      const declared = (spec.tools ?? []).filter(({ annotations }) => annotations?.destructiveHint === true);
      const destructiveTools = namesOf(declared);
      if (destructiveTools.length === 0) return null;
      const destructive: ReadonlySet<string> = new Set(destructiveTools);
      return {
        config: { destructiveTools },
        denies: ({ request_type, tools = [], user_confirmed }) =>
          request_type !== 'egress_model_request' &&
          user_confirmed !== true &&
          tools.some((tool) => destructive.has(tool)),
        canaries: destructiveTools.map((tool) => ({ request_type: 'egress_tool_call', tools: [tool] })),
      };
    },
  },
  host_not_declared: {
    field: 'spec.egress.hosts',
    declaredBy: 'always',
    deniesWhen:
      'the agent connects to a host that is neither in `spec.egress.hosts` nor in an address of the manifest, nor a known host of the vendor of its model',
    severity: 'high',
    recommendation: 'Add the host to spec.egress.hosts, or remove the connection.',
    rego: `deny_egress contains "host_not_declared" if {
	host := input.host
	not host in egress.hosts
	every domain in egress.domains {
		not endswith(host, domain)
	}
}`,
    bind: (manifest) => {
      const { exact, domains } = declaredEgressOf(manifest).hosts;
      return {
        config: { hosts: [...exact], domains },
        denies: ({ host }) =>
          host !== undefined && !exact.has(host) && !domains.some((domain) => host.endsWith(domain)),
        canaries: [{ request_type: 'egress_connect', host: '' }],
      };
    },
  },
  model_not_declared: {
    field: 'spec.model',
    declaredBy: 'always',
    deniesWhen:
      'the requested model is neither the declared model, a dated version of it, the fallback, nor in `spec.egress.models`',
    severity: 'high',
    recommendation: 'Declare the model in spec.model or spec.egress.models, or request the declared model.',
    rego: `deny_egress contains "model_not_declared" if {
	every name in input.model_names {
		not name in egress.models
	}
}`,
    bind: (manifest) => {
      const { modelNames } = declaredEgressOf(manifest);
      return {
        config: { models: [...modelNames] },
        denies: ({ model_names: names }) =>
          names !== undefined && !names.some((name) => modelNames.has(name)),
        canaries: [{ request_type: 'egress_model_request', model: '', model_names: [] }],
      };
    },
  },
  monthly_cost_limit_exceeded: {
    field: 'spec.model.costControls.maxMonthlyUSD',
    declaredBy: 'set; without a price of the models the cost is unknown and the rule denies nothing',
    deniesWhen:
      "today's cost and the cost that is reserved for calls in flight have reached maxMonthlyUSD / 30",
    severity: 'critical',
    recommendation: 'Reduce the model cost per day, or raise costControls.maxMonthlyUSD.',
    rego: 'deny_egress contains "monthly_cost_limit_exceeded" if input.cost_today_usd >= egress.maxDailyUSD',
    bind: ({ spec }) => {
      const maxMonthlyUSD = spec.model.costControls?.maxMonthlyUSD;
      if (maxMonthlyUSD === undefined) return null;
      const maxDailyUSD = maxMonthlyUSD / 30;
      return {
        config: { maxDailyUSD },
        denies: ({ cost_today_usd: cost }) => cost !== undefined && cost >= maxDailyUSD,
        canaries: [{ request_type: 'egress_model_request', cost_today_usd: maxDailyUSD }],
      };
    },
  },
  tool_arguments_invalid: {
    field: 'spec.tools[].constraints',
    declaredBy: 'a tool has constraints',
    deniesWhen: 'a tool is called with arguments that do not match its constraints',
    severity: 'high',
    recommendation: 'Correct the arguments, or the constraints of the tool in the manifest.',
    rego: `deny_egress contains "tool_arguments_invalid" if {
	some tool in input.invalid_arguments
	tool in egress.constrainedTools
}`,
    bind: ({ spec }) => {
      const constrainedTools = namesOf(
        (spec.tools ?? []).filter(({ constraints }) => constraints !== undefined),
      );
      if (constrainedTools.length === 0) return null;
      const constrained: ReadonlySet<string> = new Set(constrainedTools);
      return {
        config: { constrainedTools },
        denies: ({ invalid_arguments: invalid = [] }) => invalid.some((tool) => constrained.has(tool)),
        canaries: constrainedTools.map((tool) => ({
          ...{ request_type: 'egress_tool_call' as const, tools: [tool], invalid_arguments: [tool] },
        })),
      };
    },
  },
  tool_not_declared: {
    field: 'spec.tools',
    declaredBy: 'always',
    deniesWhen:
      'a tool is offered or called that is neither in `spec.tools` nor in `spec.egress.tools`, and that no declared MCP server lists (on the lane of a server: that this server does not list)',
    severity: 'critical',
    recommendation: 'Declare the tool in spec.tools or spec.egress.tools, or remove it from the agent.',
    rego: `deny_egress contains "tool_not_declared" if {
	some tool in input.tools
	not tool in egress.tools
	not tool in object.get(input, "mcp_tools", [])
	every prefix in egress.toolPrefixes {
		not startswith(tool, prefix)
	}
}`,
    bind: (manifest) => {
      const { exact, prefixes } = declaredEgressOf(manifest).tools;
      return {
        config: { tools: [...exact], toolPrefixes: prefixes },
        denies: ({ tools = [], mcp_tools: mcpTools = [] }) =>
          tools.some(
            (tool) =>
              !exact.has(tool) &&
              !mcpTools.includes(tool) &&
              !prefixes.some((prefix) => tool.startsWith(prefix)),
          ),
        canaries: [{ request_type: 'egress_model_request', tools: [''] }],
      };
    },
  },
});
