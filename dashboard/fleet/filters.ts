import { GRADES, type Grade, PHASES, type Phase } from '../../core/shapes/values.ts';
import type { AgentRow } from '../../core/shapes/agent-row.ts';
import { isFailing } from './failing.ts';
import { SORT_KEYS, type SortKey } from './sort.ts';

/** What the fleet shows, as the query of its address states it. */
export interface Filters {
  /** Words that must all be part of namespace, name or id. */
  search: string;
  /** Empty: all. */
  grades: readonly Grade[];
  /** Empty: all. */
  phases: readonly Phase[];
  namespace: string | null;
  isFailingOnly: boolean;
  isStoppedOnly: boolean;
  sort: SortKey;
  isDescending: boolean;
  isGrouped: boolean;
}

/** The worst agents first. */
export const DEFAULTS: Filters = {
  search: '',
  grades: [],
  phases: [],
  namespace: null,
  isFailingOnly: false,
  isStoppedOnly: false,
  sort: 'score',
  isDescending: false,
  isGrouped: false,
};

/** Values that do not exist are ignored: an address may be from another version. */
export function parseFilters(query: URLSearchParams): Filters {
  const sort = query.get('sort') ?? '';
  const key = SORT_KEYS.find((each) => each === sort.replace(/^-/, ''));
  return {
    search: query.get('q') ?? '',
    grades: listed(query.get('grade'), GRADES),
    phases: listed(query.get('phase'), PHASES),
    namespace: query.get('namespace') === '' ? null : query.get('namespace'),
    isFailingOnly: query.get('failing') === '1',
    isStoppedOnly: query.get('stopped') === '1',
    sort: key ?? DEFAULTS.sort,
    isDescending: key !== undefined && sort.startsWith('-'),
    isGrouped: query.get('group') === 'namespace',
  };
}

function listed<T extends string>(text: string | null, allowed: readonly T[]): T[] {
  const given = new Set(text?.split(','));
  return allowed.filter((each) => given.has(each));
}

/** The query of the address; defaults are left out. */
export function queryOf(filters: Filters): URLSearchParams {
  const query = new URLSearchParams();
  if (filters.search !== '') query.set('q', filters.search);
  if (filters.grades.length > 0) query.set('grade', filters.grades.join(','));
  if (filters.phases.length > 0) query.set('phase', filters.phases.join(','));
  if (filters.namespace !== null) query.set('namespace', filters.namespace);
  if (filters.isFailingOnly) query.set('failing', '1');
  if (filters.isStoppedOnly) query.set('stopped', '1');
  const sort = `${filters.isDescending ? '-' : ''}${filters.sort}`;
  if (sort !== DEFAULTS.sort) query.set('sort', sort);
  if (filters.isGrouped) query.set('group', 'namespace');
  return query;
}

/** The filters without those that hide agents. */
export const withoutConditions = ({ sort, isDescending, isGrouped }: Filters): Filters => ({
  ...DEFAULTS,
  sort,
  isDescending,
  isGrouped,
});

export const hasConditions = (filters: Filters): boolean =>
  queryOf(filters).toString() !== queryOf(withoutConditions(filters)).toString();

export interface Matches {
  agents: AgentRow[];
  /** Numbers of agents that match all filters except the one that is counted, so that each choice shows what it would add. */
  grades: Record<Grade, number>;
  phases: Record<Phase, number>;
}

export function matchesOf(agents: readonly AgentRow[], filters: Filters): Matches {
  const matches: Matches = { agents: [], grades: zeros(GRADES), phases: zeros(PHASES) };
  const words = filters.search
    .toLowerCase()
    .split(/\s+/)
    .filter((each) => each !== '');
  for (const agent of agents) {
    if (!isFound(agent, words)) continue;
    if (filters.namespace !== null && agent.namespace !== filters.namespace) continue;
    if (filters.isFailingOnly && !isFailing(agent)) continue;
    if (filters.isStoppedOnly && agent.stop === null) continue;
    const hasGrade = filters.grades.length === 0 || filters.grades.some((each) => each === agent.grade);
    const hasPhase = filters.phases.length === 0 || filters.phases.includes(agent.phase);
    if (hasPhase && agent.grade !== null) matches.grades[agent.grade] += 1;
    if (hasGrade) matches.phases[agent.phase] += 1;
    if (hasGrade && hasPhase) matches.agents.push(agent);
  }
  return matches;
}

function isFound({ namespace, agentName, agentId }: AgentRow, words: readonly string[]): boolean {
  if (words.length === 0) return true;
  const text = `${namespace}/${agentName} ${agentId}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

const zeros = <T extends string>(keys: readonly T[]): Record<T, number> =>
  Object.fromEntries(keys.map((key) => [key, 0])) as Record<T, number>;
