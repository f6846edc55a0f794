import { useState } from 'preact/hooks';
import type { EventFilters } from '../events/event-filters.ts';
import { Events } from '../events/events.tsx';
import type { TabProps } from './types.ts';

/** The events of one agent. */
export function EventsTab({ detail: { namespace, agentName } }: TabProps) {
  const [filters, setFilters] = useState<EventFilters>({});
  return <Events {...{ filters, setFilters }} fixed={{ namespace, agent: agentName }} />;
}
