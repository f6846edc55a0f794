import { AGENT_REF, type AgentRef } from '../shapes/agent-ref.ts';

/** Whether an object of this kind and name can exist. Owner references and older observations may contain any text. */
export function isAgentRef(ref: Readonly<AgentRef>): boolean {
  return (['apiVersion', 'kind', 'name'] as const).every((member) => {
    const [max, pattern] = AGENT_REF[member];
    return ref[member].length <= max && pattern.test(ref[member]);
  });
}
