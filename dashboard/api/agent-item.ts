/** Names are unique in a namespace. */
export const keyOf = ({ namespace, agentName }: { namespace: string; agentName: string }): string =>
  `${namespace}/${agentName}`;
