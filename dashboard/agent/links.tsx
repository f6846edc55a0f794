import type { Severity } from '../../core/shapes/values.ts';
import { hrefOf } from '../route.ts';
import type { AgentName } from '../../core/shapes/rule-state.ts';

/**
 * A link to the page of a rule. `id`: a rule id, or the property of a gap issue, which the page finds by its pattern. A sender may
 * have put half a surrogate pair into a property, which an address cannot contain.
 */
export function RuleLink({ id }: { id: string }) {
  return (
    <a class="rule-link" href={hrefOf({ page: 'rules', id: id.toWellFormed() })}>
      {id}
    </a>
  );
}

/** A link to an agent. The namespace is part of its name. */
export function AgentLink({ agentName, namespace }: AgentName) {
  return (
    <a class="agent-link" href={hrefOf({ page: 'agent', namespace, name: agentName, tab: null })}>
      <span class="agent-namespace">{namespace}/</span>
      {agentName}
    </a>
  );
}

/** A severity by word and color. */
export function SeverityTag({ severity }: { severity: Severity }) {
  return <span class={`note-tag severity-${severity}`}>{severity}</span>;
}
