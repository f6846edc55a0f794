import { useRef } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { hrefOf, route, type Route } from '../route.ts';
import { signOut } from '../session.ts';

/** Name of the product, navigation and sign-out. */
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
          <Button onClick={signOut}>Sign out</Button>
        </>
      )}
    </header>
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
