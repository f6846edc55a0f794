/** The filters of events, with the names that the API has. `since` and `until`: ISO 8601. */
const NAMES = ['namespace', 'agent', 'user', 'tool', 'outcome', 'kind', 'since', 'until'] as const;
export type EventFilter = (typeof NAMES)[number];
export type EventFilters = Readonly<Partial<Record<EventFilter, string>>>;

/** Events of a page. */
const LIMIT = 100;

type Pair = [name: EventFilter, value: string];
const pairsOf = (valueOf: (name: EventFilter) => string | null | undefined): Pair[] =>
  NAMES.map((name): Pair => [name, valueOf(name) ?? '']).filter(([, value]) => value !== '');

export const filtersIn = (query: URLSearchParams): EventFilters =>
  Object.fromEntries(pairsOf((name) => query.get(name)));

/** In a fixed order, without the filters that are not set. */
export const queryOf = (filters: EventFilters): URLSearchParams =>
  new URLSearchParams(pairsOf((name) => filters[name]));

/** The path of the newest events. */
export function eventsPath(filters: EventFilters): string {
  const query = queryOf(filters);
  query.set('limit', String(LIMIT));
  return `/api/v1/audit-events?${query.toString()}`;
}

/** The value of a `datetime-local` input: the local time. */
export function toInput(iso: string | undefined): string {
  const date = new Date(iso ?? '');
  if (Number.isNaN(date.getTime())) return '';
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** Empty: the input is empty or incomplete. */
export function fromInput(local: string): string {
  const date = new Date(local);
  return Number.isNaN(date.getTime()) ? '' : date.toISOString();
}
