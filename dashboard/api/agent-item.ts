import type { AgentName } from '../../core/shapes/rule-state.ts';

/** Names are unique in a namespace. */
export const keyOf = ({ namespace, agentName }: AgentName): string => `${namespace}/${agentName}`;
