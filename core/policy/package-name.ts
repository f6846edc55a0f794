/** Keywords that cannot follow a dot in Rego. `opa fmt` quotes these and no other identifiers. */
const KEYWORD = /^(?:as|contains|default|else|every|false|if|import|in|not|null|package|some|true|with)$/;

const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * The agent's segment of its package name: hyphens become underscores. A name of only digits gets a leading underscore,
 * because the engine's data API would read such a path segment as a list index. Two agents never get the same segment:
 * agent names have no underscores and no hyphen at either end.
 * @param agentName `metadata.name`, a DNS label
 */
export function packageSegmentOf(agentName: string): string {
  const segment = agentName.replaceAll('-', '_');
  return /^[0-9]+$/.test(segment) ? `_${segment}` : segment;
}

/** `platform.agent.<name>`, quoted if the name is not a valid Rego identifier: `platform.agent["3d_agent"]`. */
export function packageOf(agentName: string): string {
  const segment = packageSegmentOf(agentName);
  return IDENTIFIER.test(segment) && !KEYWORD.test(segment)
    ? `platform.agent.${segment}`
    : `platform.agent[${JSON.stringify(segment)}]`;
}

const rulePathOf = (agentName: string, rule: string): string =>
  `/v1/data/platform/agent/${encodeURIComponent(packageSegmentOf(agentName))}/${rule}`;

/** Path of the agent's denials in the data API of the policy engine, for POST requests. */
export const denyPathOf = (agentName: string): string => rulePathOf(agentName, 'deny');

/** The same for calls on the egress lanes. */
export const egressPathOf = (agentName: string): string => rulePathOf(agentName, 'deny_egress');
