import type { AgentRow } from '../../core/shapes/agent-row.ts';
import { isFailing } from './failing.ts';

/** The heading of the agents of a namespace. */
export interface Group {
  namespace: string;
  agents: number;
  failing: number;
  isCollapsed: boolean;
  isGroup: true;
}

export type FleetRow = AgentRow | Group;

export const isGroup = (row: FleetRow): row is Group => 'isGroup' in row;

/** Identifies a row while the agents change. No agent has a key that ends with a slash. */
export const rowKey = (row: FleetRow): string =>
  isGroup(row) ? `${row.namespace}/` : `${row.namespace}/${row.agentName}`;

/** The agents under headings in the order of the namespaces. The order in a group is the order of `agents`. */
export function groupByNamespace(agents: readonly AgentRow[], collapsed: ReadonlySet<string>): FleetRow[] {
  const groups = Map.groupBy(agents, ({ namespace }) => namespace);
  return [...groups.keys()].sort().flatMap((namespace) => {
    const members = groups.get(namespace) ?? [];
    const isCollapsed = collapsed.has(namespace);
    const heading: Group = {
      namespace,
      agents: members.length,
      failing: members.filter(isFailing).length,
      isCollapsed,
      isGroup: true,
    };
    return isCollapsed ? [heading] : [heading, ...members];
  });
}
