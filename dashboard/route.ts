import { signal, type ReadonlySignal } from '@preact/signals';
import { parseRoute, type Route } from './parse-route.ts';

export { hrefOf, type Route } from './parse-route.ts';

const current = signal<Route>(parseRoute(location.hash));
addEventListener('hashchange', () => {
  current.value = parseRoute(location.hash);
});

/** The page that is shown. */
export const route: ReadonlySignal<Route> = current;

/** Opens a page as a new entry of the history. */
export function navigate(href: string): void {
  location.hash = href;
}

/** Changes the address of the current entry: a filter that is typed is one step back, not one for each letter. */
export function replace(href: string): void {
  history.replaceState(history.state, '', href);
  current.value = parseRoute(href);
}
