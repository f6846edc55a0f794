import type { JSX } from 'preact';

export interface Tab {
  id: string;
  title: string;
  href: string;
}

export interface TabsProps {
  /** Names the navigation for screen readers. */
  label: string;
  tabs: readonly Tab[];
  /** Id of the tab that is shown. */
  current: string;
}

/** Links between the parts of a page. Each part has an address, so these are links and not ARIA tabs. */
export function Tabs({ label, tabs, current }: TabsProps): JSX.Element {
  return (
    <nav class="tabs" aria-label={label}>
      <ul>
        {tabs.map(({ id, title, href }) => (
          <li key={id}>
            <a href={href} aria-current={id === current ? 'page' : undefined}>
              {title}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}
