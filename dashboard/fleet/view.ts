import { computed, signal, type ReadonlySignal } from '@preact/signals';
import type { AgentRow } from '../../core/shapes/agent-row.ts';
import { hrefOf, replace, route } from '../route.ts';
import { DEFAULTS, matchesOf, parseFilters, queryOf, type Filters, type Matches } from './filters.ts';
import { fleet } from './fleet-store.ts';
import { groupByNamespace, type FleetRow } from './rows.ts';
import { sortAgents } from './sort.ts';
import { summaryOf, type Summary } from './summary.ts';

/** The filters of the address. */
export const filters: ReadonlySignal<Filters> = computed(() =>
  route.value.page === 'fleet' ? parseFilters(route.value.query) : DEFAULTS,
);

export const matches: ReadonlySignal<Matches> = computed(() => matchesOf(fleet.agents.value, filters.value));

/** The agents that match, in the order of the table. */
export const sorted: ReadonlySignal<AgentRow[]> = computed(() =>
  sortAgents(matches.value.agents, filters.value.sort, filters.value.isDescending),
);

export const summary: ReadonlySignal<Summary> = computed(() => summaryOf(matches.value.agents));

const collapsed = signal<ReadonlySet<string>>(new Set());

export const rows: ReadonlySignal<readonly FleetRow[]> = computed(() =>
  filters.value.isGrouped ? groupByNamespace(sorted.value, collapsed.value) : sorted.value,
);

export const namespaces: ReadonlySignal<string[]> = computed(() =>
  [...new Set(fleet.agents.value.map(({ namespace }) => namespace))].sort(),
);

/** Rows of a page of the table. A browser needs seconds to sort 10,000 rows that all exist. */
export const PAGE_ROWS = 100;

/** The page of the table, from 0. It stays while another screen is shown. */
export const pageIndex = signal(0);

/** Changes filters, and with them the address. The table begins with its first page again. */
export function setFilters(change: Partial<Filters>): void {
  pageIndex.value = 0;
  replace(hrefOf({ page: 'fleet', query: queryOf({ ...filters.value, ...change }) }));
}

/** Shows or hides the agents of a namespace in the grouped table. */
export function toggleGroup(namespace: string): void {
  const next = new Set(collapsed.value);
  if (!next.delete(namespace)) next.add(namespace);
  collapsed.value = next;
}
