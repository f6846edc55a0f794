import { useEffect, useRef } from 'preact/hooks';

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
export function Tabs({ label, tabs, current }: TabsProps) {
  const element = useRef<HTMLElement>(null);
  // In a narrow window the tabs are wider than it.
  useEffect(() => {
    element.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [current]);
  return (
    <nav ref={element} class="tabs" aria-label={label}>
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
