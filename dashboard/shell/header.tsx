import { useRef } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { useSending } from '../parts/use-sending.ts';
import { hrefOf, route, type Route } from '../route.ts';
import { nameOf } from '../permissions.ts';
import { me, signOut } from '../session.ts';

/** Name of the product, navigation, and who is signed in. */
export function Header({ isSignedIn }: { isSignedIn: boolean }) {
  return (
    <header class="shell-header">
      <a class="brand" href="#/" aria-label="Agent Compliance">
        <svg class="brand-mark" viewBox="0 0 32 32" aria-hidden="true">
          <rect width="32" height="32" rx="7" />
          <path d="M8 17l5.5 5.5L24 11" />
        </svg>
        <span>Agent Compliance</span>
      </a>
      {isSignedIn && (
        <>
          <Navigation />
          <Caller />
        </>
      )}
    </header>
  );
}

/** Who is signed in, and the way out. */
function Caller() {
  const caller = me.value;
  const { error, isSending, send } = useSending(signOut);
  return (
    <div class="caller">
      {caller !== null && (
        <span class={caller.sub === undefined ? 'note-tag' : 'caller-name'} title={caller.sub}>
          {nameOf(caller)}
        </span>
      )}
      {error !== null && (
        <span class="field-error" role="alert">
          Not signed out: {error.detail}
        </span>
      )}
      <Button isDisabled={isSending} onClick={send}>
        Sign out
      </Button>
    </div>
  );
}

function Navigation() {
  const current = route.value;
  // The way back to the fleet keeps its filters.
  const fleet = useRef<Route>({ page: 'fleet', query: new URLSearchParams() });
  if (current.page === 'fleet') fleet.current = current;
  const links: { page: Route['page']; href: string; title: string }[] = [
    { page: 'fleet', href: hrefOf(fleet.current), title: 'Fleet' },
    { page: 'coverage', href: '#/coverage', title: 'Coverage' },
    { page: 'rules', href: '#/rules', title: 'Rules' },
    { page: 'organisation', href: '#/organisation', title: 'Organisation' },
    { page: 'stops', href: '#/stops', title: 'Stops' },
    { page: 'events', href: '#/events', title: 'Events' },
  ];
  return (
    <nav class="shell-nav" aria-label="Main">
      <ul>
        {links.map(({ page, href, title }) => (
          <li key={page}>
            <a href={href} aria-current={page === current.page ? 'page' : isPartOf(current, page)}>
              {title}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** An agent belongs to the fleet. */
function isPartOf(current: Route, page: Route['page']): 'true' | undefined {
  return page === 'fleet' && current.page === 'agent' ? 'true' : undefined;
}
