import { DNS_SUBDOMAIN } from '../injection/names.ts';

/** Maximum length and pattern of each member of `spec.agentRef`, as in the CRD. */
export const AGENT_REF = {
  apiVersion: [317, /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?[/])?[a-z]([-a-z0-9]*[a-z0-9])?$/],
  kind: [63, /^[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?$/],
  name: [253, DNS_SUBDOMAIN],
} as const;

/** Whether an object of this kind and name can exist. Owner references and older observations may contain any text. */
export function isAgentRef(ref: Readonly<Record<keyof typeof AGENT_REF, string>>): boolean {
  return (['apiVersion', 'kind', 'name'] as const).every((member) => {
    const [max, pattern] = AGENT_REF[member];
    return ref[member].length <= max && pattern.test(ref[member]);
  });
}
