import { hrefOf, replace, type Route } from '../route.ts';
import { filtersIn, queryOf } from './event-filters.ts';
import { Events } from './events.tsx';

/** The events of all agents. The address has the filters. */
export function EventsPage({ route }: { route: Extract<Route, { page: 'events' }> }) {
  return (
    <div class="detail-page">
      <h1>Events</h1>
      <Events
        filters={filtersIn(route.query)}
        setFilters={(filters) => replace(hrefOf({ page: 'events', query: queryOf(filters) }))}
      />
    </div>
  );
}
