/** The key of an agent. */
export interface AgentName {
  namespace: string;
  name: string;
}

/** The path of a route of one agent, such as `/api/v1/agents/shop/gap?namespace=default`. */
export function agentPath(
  { namespace, name }: AgentName,
  suffix = '',
  query: Readonly<Record<string, string>> = {},
): string {
  const parameters = new URLSearchParams({ namespace, ...query });
  return `/api/v1/agents/${encodeURIComponent(name)}${suffix}?${parameters.toString()}`;
}
