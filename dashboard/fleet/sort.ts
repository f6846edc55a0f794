import { GRADES } from '../../core/shapes/values.ts';
import { keyOf } from '../api/agent-item.ts';
import type { AgentRow } from '../../core/shapes/agent-row.ts';

export const SORT_KEYS = [
  'name',
  'compliant',
  'grade',
  'namespace',
  'score',
  'phase',
  'tokens',
  'cost',
  'violations',
  'failOpen',
  'evidence',
  'lastSeen',
] as const;
export type SortKey = (typeof SORT_KEYS)[number];

type SortValue = string | number | null;

/** From the worst to the best. */
const PHASE_ORDER = ['Unhealthy', 'Unknown', 'Degraded', 'Pending', 'Healthy'];
const CONDITION_ORDER = ['False', 'Unknown', 'True'];

const VALUES: Readonly<Record<SortKey, (agent: AgentRow) => SortValue>> = {
  grade: ({ grade }) => (grade === null ? null : GRADES.indexOf(grade)),
  name: ({ agentName }) => agentName,
  namespace: ({ namespace }) => namespace,
  score: ({ score }) => score,
  phase: ({ phase }) => PHASE_ORDER.indexOf(phase),
  tokens: ({ tokens }) => tokens,
  cost: ({ costUsd }) => costUsd,
  violations: ({ violations }) => violations,
  failOpen: ({ failOpen }) => failOpen,
  evidence: ({ evidence }) => evidence?.percent ?? null,
  compliant: ({ compliant }) => CONDITION_ORDER.indexOf(compliant.status),
  lastSeen: ({ lastSeen }) => lastSeen,
};

/**
 * A sorted copy. Agents without a value come last in both directions. Equal agents are ordered by namespace and name, so that
 * live updates do not shuffle them. Names are ASCII, so texts need no collation, which would take ten times as long.
 */
export function sortAgents(agents: readonly AgentRow[], key: SortKey, isDescending: boolean): AgentRow[] {
  const valueOf = VALUES[key];
  const sign = isDescending ? -1 : 1;
  return agents
    .map((agent) => ({ agent, value: valueOf(agent), tie: keyOf(agent) }))
    .sort((a, b) => {
      if (a.value === b.value) return compare(a.tie, b.tie);
      if (a.value === null) return 1;
      if (b.value === null) return -1;
      return sign * compare(a.value, b.value);
    })
    .map(({ agent }) => agent);
}

const compare = (a: string | number, b: string | number): number => (a < b ? -1 : a > b ? 1 : 0);
