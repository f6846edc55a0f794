import type { AgentName } from '../../core/shapes/rule-state.ts';

/** The path of a route of one agent, such as `/api/v1/agents/shop/gap?namespace=default`. */
export function agentPath(
  { namespace, agentName }: AgentName,
  suffix = '',
  query: Readonly<Record<string, string>> = {},
): string {
  const parameters = new URLSearchParams({ namespace, ...query });
  return `/api/v1/agents/${encodeURIComponent(agentName)}${suffix}?${parameters.toString()}`;
}
