import { createHash } from 'node:crypto';
import { MIRRORED_AGENT_ANNOTATION } from '../../core/observation/mirrored.ts';
import type { AgentObservation } from '../../core/observation/observation.ts';
import type { RemoteAgent } from '../../core/shapes/agent-row.ts';

/** The maximum length of a DNS label. */
const MAX_LENGTH = 63;

/**
 * The name of each agent's observation, by agent id. A known agent keeps its name. A new agent gets its own name, even if
 * a deleted agent had that name. If the name is in use (by an agent that is registered here, or by an agent of the same
 * name in another namespace), a hash of the agent id is appended.
 * @param others names in the same namespace that are not mirrored
 */
export function mirrorNames(
  agents: readonly RemoteAgent[],
  mirrored: readonly AgentObservation[],
  others: ReadonlySet<string>,
): Map<string, string> {
  const names = new Map<string, string>();
  const wanted = new Set(agents.map((agent) => agent.agentId));
  for (const { metadata } of mirrored) {
    const id = metadata.annotations?.[MIRRORED_AGENT_ANNOTATION] ?? '';
    if (wanted.has(id) && !names.has(id)) names.set(id, metadata.name);
  }
  const used = new Set([...others, ...names.values()]);
  for (const { agentId, agentName } of agents) {
    if (names.has(agentId)) continue;
    const name = used.has(agentName) ? withHash(agentName, agentId) : agentName;
    used.add(name);
    names.set(agentId, name);
  }
  return names;
}

function withHash(name: string, agentId: string): string {
  const suffix = `-${createHash('sha256').update(agentId).digest('hex').slice(0, 8)}`;
  return `${name.slice(0, MAX_LENGTH - suffix.length)}${suffix}`;
}
