import { useEffect, useLayoutEffect } from 'preact/hooks';
import type { LiveState } from '../api/live.ts';
import { reachable } from '../api/reachable.ts';
import { formatNumber } from '../format.ts';
import { announce } from '../parts/announce.ts';
import { Button } from '../parts/button.tsx';
import { Empty } from '../parts/empty.tsx';
import { Failure } from '../parts/failure.tsx';
import { Loading } from '../parts/loading.tsx';
import { saveFile } from '../parts/save-file.ts';
import { route } from '../route.ts';
import { csvOf } from './csv.ts';
import { EmptyFleet } from './empty-fleet.tsx';
import { queryOf, withoutConditions } from './filters.ts';
import { FleetHistory } from './fleet-history.tsx';
import { fleet, holdUpdates, openFleet, reloadFleet } from './fleet-store.ts';
import { Grid } from './grid.tsx';
import { SummaryStrip } from './summary-strip.tsx';
import { Toolbar } from './toolbar.tsx';
import { filters, rows, setFilters, sorted } from './view.ts';

/** Where the reader was, for the way back from an agent. */
let place = { query: '', top: 0 };

/** All agents. The filters are in the address. */
export function FleetPage() {
  useEffect(openFleet, []);
  useEffect(() => {
    addEventListener('scroll', whenScrolled, { passive: true });
    return () => removeEventListener('scroll', whenScrolled);
  }, []);
  useLayoutEffect(() => scrollTo(0, place.query === currentQuery() ? place.top : 0), []);
  return (
    <>
      <div class="page-header wrap">
        <h1>Fleet</h1>
        <Live state={reachable.value ? fleet.live.value : 'offline'} />
        <Button isDisabled={sorted.value.length === 0} onClick={exportCsv}>
          Export CSV
        </Button>
      </div>
      <Content />
    </>
  );
}

function Content() {
  const error = fleet.error.value;
  const isLoading = fleet.progress.value !== null;
  if (fleet.agents.value.length === 0) {
    if (error !== null && !isLoading) return <Failure error={error} retry={() => void reloadFleet()} />;
    return fleet.isComplete.value ? <EmptyFleet /> : <Loading what="agents" />;
  }
  return (
    <>
      <SummaryStrip />
      <FleetHistory />
      <Toolbar />
      <Requests />
      {rows.value.length === 0 ? <NoMatch /> : <Grid rows={rows.value} />}
    </>
  );
}

/** The progress of the first request, and the failure of a later one. */
function Requests() {
  const progress = fleet.progress.value;
  const error = fleet.error.value;
  if (progress !== null && !fleet.isComplete.value) {
    const total = progress.total ?? progress.loaded;
    return (
      <label class="fleet-progress">
        Loading agents: {formatNumber(progress.loaded)} of {formatNumber(total)}
        <progress value={progress.loaded} max={total} />
      </label>
    );
  }
  if (error === null) return null;
  return (
    <p class="fleet-stale" role="status">
      The agents below are not current: {error.detail}.{' '}
      <Button onClick={() => void reloadFleet()}>Try again</Button>
    </p>
  );
}

function NoMatch() {
  return (
    <Empty title="No agent matches the filters">
      <Button onClick={() => setFilters(withoutConditions(filters.value))}>Clear filters</Button>
    </Empty>
  );
}

const LIVE_TEXTS: Readonly<Record<LiveState, string>> = {
  connecting: 'Connecting',
  live: 'Live',
  reconnecting: 'Reconnecting',
  offline: 'Offline',
};

/** Whether changes of agents arrive by themselves. */
function Live({ state }: { state: LiveState }) {
  return (
    <p class={`live live-${state}`} role="status">
      {LIVE_TEXTS[state]}
    </p>
  );
}

const currentQuery = (): string => queryOf(filters.peek()).toString();

function whenScrolled(): void {
  holdUpdates();
  // The page may be on its way out.
  if (route.peek().page === 'fleet') place = { query: currentQuery(), top: scrollY };
}

function exportCsv(): void {
  const day = new Date().toISOString().slice(0, 10);
  saveFile(`agents-${day}.csv`, 'text/csv;charset=utf-8', csvOf(sorted.value));
  announce(`Exported ${formatNumber(sorted.value.length)} agents`);
}
