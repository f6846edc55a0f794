import { useEffect, useErrorBoundary, useRef } from 'preact/hooks';
import { AgentPage } from './agent/agent-page.tsx';
import { CoveragePage } from './coverage/coverage-page.tsx';
import { EventsPage } from './events/events-page.tsx';
import { FleetPage } from './fleet/fleet-page.tsx';
import { announce } from './parts/announce.ts';
import { OrganisationPage } from './organisation/organisation-page.tsx';
import { Button } from './parts/button.tsx';
import { Empty } from './parts/empty.tsx';
import { Loading } from './parts/loading.tsx';
import { route, type Route } from './route.ts';
import { RulesPage } from './rules/rules-page.tsx';
import { session } from './session.ts';
import { Disabled } from './shell/disabled.tsx';
import { Header } from './shell/header.tsx';
import { Announcer, OfflineBanner, OverageBanner } from './shell/live-regions.tsx';
import { SignIn } from './shell/sign-in.tsx';
import { StopsPage } from './stops/stops-page.tsx';

/** The dashboard: one page of the route, or the form for the key. */
export function App() {
  const state = session.value;
  const isSignedIn = state.kind === 'signed-in';
  const page = isSignedIn ? keyOf(route.value) : state.kind;
  usePageChange(page, isSignedIn || page === 'checking' ? titleOf(route.value) : 'Sign in');
  return (
    <>
      <a class="skip-link" href="#main" onClick={skipToMain}>
        Skip to content
      </a>
      <Header isSignedIn={isSignedIn} />
      <OfflineBanner />
      <OverageBanner />
      <main id="main" tabIndex={-1}>
        {isSignedIn && <Guarded key={page} />}
        {state.kind === 'checking' && <Loading what="your session" />}
        {state.kind === 'signed-out' && <SignIn reason={state.reason} />}
        {state.kind === 'disabled' && <Disabled />}
      </main>
      <Announcer />
    </>
  );
}

/** A page whose rendering failed does not take the navigation with it. */
function Guarded() {
  const [error] = useErrorBoundary() as [unknown, () => void];
  if (error === undefined) return <Page route={route.value} />;
  return (
    <Empty title="This page could not be shown">
      <p>The dashboard has a defect: {error instanceof Error ? error.message : 'unknown error'}</p>
      <Button onClick={() => location.reload()}>Reload</Button>
    </Empty>
  );
}

function Page({ route: current }: { route: Route }) {
  if (current.page === 'agent') return <AgentPage route={current} />;
  if (current.page === 'rules') return <RulesPage route={current} />;
  if (current.page === 'events') return <EventsPage route={current} />;
  const Other = PAGES[current.page];
  return <Other />;
}

const PAGES = {
  ...{ fleet: FleetPage, coverage: CoveragePage, unknown: NoPage },
  ...{ organisation: OrganisationPage, stops: StopsPage },
};

function NoPage() {
  return (
    <Empty title="There is no page at this address">
      <p>
        <a href="#/">Show the fleet</a>
      </p>
    </Empty>
  );
}

/** Pages with the same key are one page: filters, tabs and a selected rule do not move the focus. */
function keyOf(current: Route): string {
  return current.page === 'agent' ? `agent ${current.namespace}/${current.name}` : current.page;
}

function titleOf(current: Route): string {
  const titles = {
    ...{ fleet: 'Fleet', coverage: 'Coverage', rules: 'Rules', unknown: 'Not found' },
    ...{ organisation: 'Organisation rules', stops: 'Stops', events: 'Events' },
  };
  return current.page === 'agent' ? `${current.name} in ${current.namespace}` : titles[current.page];
}

/** Like the load of a document: another title, from the top, with the focus at the start of the page. */
function usePageChange(page: string, title: string): void {
  const isFirst = useRef(true);
  useEffect(() => {
    document.title = `${title} · Agent Compliance`;
    // The page that follows is the first one.
    if (page === 'checking') return;
    if (isFirst.current) {
      isFirst.current = false;
      return;
    }
    if (page !== 'fleet') scrollTo(0, 0);
    if (page !== 'signed-out') document.getElementById('main')?.focus({ preventScroll: true });
    announce(title);
  }, [page, title]);
}

function skipToMain(event: Event): void {
  // The hash is the address of the page.
  event.preventDefault();
  document.getElementById('main')?.focus();
}
