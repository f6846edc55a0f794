import { useState } from 'preact/hooks';
import { EVENT_KINDS, OUTCOMES } from '../../core/shapes/values.ts';
import { Loaded } from '../agent/loaded.tsx';
import { REFRESH_MS } from '../agent/types.ts';
import { getPage, type Page } from '../api/client.ts';
import { useResource } from '../api/resource.ts';
import { NoRight } from '../fleet/empty-fleet.tsx';
import { countText, formatTime } from '../format.ts';
import { Button } from '../parts/button.tsx';
import { Empty } from '../parts/empty.tsx';
import { Facts } from '../parts/facts.tsx';
import { mayReadSome } from '../permissions.ts';
import { me } from '../session.ts';
import {
  eventsPath,
  fromInput,
  queryOf,
  toInput,
  type EventFilter,
  type EventFilters,
} from './event-filters.ts';
import { membersOf, outcomeOf, textOf, type SentEvent } from './event-texts.ts';

export interface EventsProps {
  filters: EventFilters;
  setFilters(filters: EventFilters): void;
  /** Filters that the reader cannot change. */
  fixed?: EventFilters;
}

/** The events that match, the newest first, with all their members. The first page is live. */
export function Events({ filters, setFilters, fixed = {} }: EventsProps) {
  const path = eventsPath({ ...filters, ...fixed });
  const hasFilters = queryOf(filters).size > 0;
  return (
    <>
      <div class="toolbar wrap" role="search" aria-label="Events">
        {FIELDS.filter(({ name }) => fixed[name] === undefined).map((field) => (
          <Field
            key={field.name}
            {...field}
            value={filters[field.name]}
            change={(value) => setFilters({ ...filters, [field.name]: value })}
          />
        ))}
        {hasFilters && <Button onClick={() => setFilters({})}>Clear filters</Button>}
      </div>
      <Pages path={path} hasFilters={hasFilters} />
    </>
  );
}

interface FieldKind {
  name: EventFilter;
  title: string;
  /** The values of a select. */
  values?: readonly string[];
  isTime?: true;
}

const FIELDS: readonly FieldKind[] = [
  { name: 'namespace', title: 'Namespace' },
  { name: 'agent', title: 'Agent' },
  { name: 'user', title: 'Person' },
  { name: 'tool', title: 'Tool' },
  { name: 'outcome', title: 'Outcome', values: OUTCOMES },
  { name: 'kind', title: 'Kind', values: EVENT_KINDS },
  { name: 'since', title: 'From', isTime: true },
  { name: 'until', title: 'Until', isTime: true },
];

type FieldProps = FieldKind & { value: string | undefined; change(value: string): void };

function Field({ title, ...field }: FieldProps) {
  return (
    <label class="toolbar-field">
      <span class="muted">{title}</span>
      <Control {...field} />
    </label>
  );
}

/** A text is applied when it is complete and not while it is typed: the control plane records each query of a person. */
function Control({ values, isTime, value = '', change }: Omit<FieldProps, 'title'>) {
  if (isTime)
    return (
      <input
        type="datetime-local"
        value={toInput(value)}
        onChange={({ currentTarget }) => change(fromInput(currentTarget.value))}
      />
    );
  if (values === undefined)
    return (
      <input
        type="text"
        value={value}
        spellcheck={false}
        autocomplete="off"
        onChange={({ currentTarget }) => change(currentTarget.value.trim())}
      />
    );
  return (
    <select value={value} onChange={({ currentTarget }) => change(currentTarget.value)}>
      <option value="">All</option>
      {values.map((each) => (
        <option key={each}>{each}</option>
      ))}
    </select>
  );
}

function Pages({ path, hasFilters }: { path: string; hasFilters: boolean }) {
  const [chosen, setChosen] = useState({ path, older: [] as readonly string[] });
  // Other filters begin with their newest events.
  const older = chosen.path === path ? chosen.older : [];
  const isNewest = older.length === 0;
  const show = (pages: readonly string[]): void => {
    setChosen({ path, older: pages });
    scrollTo(0, 0);
  };
  const events = useResource<Page<SentEvent>>(older.at(-1) ?? path, {
    ...(isNewest && { refreshMs: REFRESH_MS }),
    read: getPage,
  });
  if (events.error?.kind === 'not-supported')
    return (
      <Empty title="This control plane keeps no events">
        <p class="sentence">{events.error.detail}.</p>
      </Empty>
    );
  return (
    <Loaded resource={events} what="events">
      {({ items, next }) =>
        items.length === 0 ? (
          <NoEvents hasFilters={hasFilters} />
        ) : (
          <>
            <div class="card">
              <ul class="events">
                {items.map((event) => (
                  <EventRow key={event.metadata.uid} event={event} />
                ))}
              </ul>
            </div>
            <div class="toolbar wrap">
              <span class="muted" role="status">
                {countText(items.length, 'event')}, newest first{isNewest && ', live'}
              </span>
              {!isNewest && <Button onClick={() => show(older.slice(0, -1))}>Newer events</Button>}
              {next !== null && <Button onClick={() => show([...older, next])}>Older events</Button>}
            </div>
          </>
        )
      }
    </Loaded>
  );
}

function NoEvents({ hasFilters }: { hasFilters: boolean }) {
  if (!mayReadSome(me.value)) return <NoRight />;
  if (hasFilters) return <Empty title="No event matches the filters" />;
  return (
    <Empty title="No events yet">
      <p>
        Sidecars with an audit log send denials, findings and stops. Turn the log on with the annotation{' '}
        <code>platform.io/audit-log: stdout</code> of the pod, or with <code>AUDIT_LOG=stdout</code>.{' '}
        <code>AUDIT_LOG_FORWARD</code> selects what is sent: <code>decisions</code>, <code>calls</code> or{' '}
        <code>off</code>.
      </p>
    </Empty>
  );
}

function EventRow({ event }: { event: SentEvent }) {
  const [isOpen, setOpen] = useState(false);
  const { actor, status_detail: reason, time, unmapped } = event;
  const { kind, outcome } = unmapped.platform;
  return (
    <li>
      <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>
          <time>{formatTime(new Date(time).toISOString())}</time>
          <span>{kind}</span>
          <span>
            {outcome !== undefined && <span class={`note-tag outcome-${outcome}`}>{outcomeOf(event)}</span>}
          </span>
          <span>{actor.app_uid}</span>
          <span>{actor.user?.uid ?? (outcome !== undefined && 'no person')}</span>
          <span>
            {textOf(event)}
            {reason !== undefined && <span class="muted"> {reason}</span>}
          </span>
        </summary>
        {isOpen && <Facts items={membersOf(event)} />}
      </details>
    </li>
  );
}
