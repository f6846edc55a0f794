/** What cannot follow a dot in Rego: `opa fmt` writes these in quotes, and anything else without. */
const KEYWORDS = new Set([
  'as',
  'contains',
  'default',
  'else',
  'every',
  'false',
  'if',
  'import',
  'in',
  'not',
  'null',
  'package',
  'some',
  'true',
  'with',
]);

const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * The agent's part of its package name: hyphens become underscores. A name of digits alone gets an underscore in
 * front: the engine's data API reads such a path segment as the index of a list and would find nothing. Neither can
 * meet another agent's, as names have no underscores and no hyphen at an end.
 * @param agentName `metadata.name`, a DNS label
 */
export function packageSegmentOf(agentName: string): string {
  const segment = agentName.replaceAll('-', '_');
  return /^[0-9]+$/.test(segment) ? `_${segment}` : segment;
}

/** `platform.agent.<name>`, in quotes where the name is no Rego identifier: `platform.agent["3d_agent"]`. */
export function packageOf(agentName: string): string {
  const segment = packageSegmentOf(agentName);
  return IDENTIFIER.test(segment) && !KEYWORDS.has(segment)
    ? `platform.agent.${segment}`
    : `platform.agent[${JSON.stringify(segment)}]`;
}

/** Path of the agent's denials in the data API of the policy engine, to be asked by POST. */
export function denyPathOf(agentName: string): string {
  return `/v1/data/platform/agent/${encodeURIComponent(packageSegmentOf(agentName))}/deny`;
}
