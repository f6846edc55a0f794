/** A page of the dashboard, as the hash of its address names it. */
export type Route =
  | { page: 'fleet'; query: URLSearchParams }
  | { page: 'agent'; namespace: string; name: string; tab: string | null }
  | { page: 'coverage' }
  | { page: 'rules'; id: string | null }
  | { page: 'organisation' }
  | { page: 'stops' }
  | { page: 'events'; query: URLSearchParams }
  | { page: 'unknown' };

/** The route of `location.hash`. */
export function parseRoute(hash: string): Route {
  const [path = '', ...rawQuery] = hash.replace(/^#/, '').split('?');
  const query = new URLSearchParams(rawQuery.join('?'));
  const segments = decoded(path.split('/').filter((each) => each !== ''));
  if (segments === null) return { page: 'unknown' };
  const [page, first, second, third, ...rest] = segments;
  if (rest.length > 0) return { page: 'unknown' };
  if (page === undefined) return { page: 'fleet', query };
  if (page === 'agents' && first !== undefined && second !== undefined)
    return { page: 'agent', namespace: first, name: second, tab: third ?? null };
  if ((page === 'coverage' || page === 'organisation' || page === 'stops') && first === undefined)
    return { page };
  if (page === 'events' && first === undefined) return { page, query };
  if (page === 'rules' && second === undefined) return { page: 'rules', id: first ?? null };
  return { page: 'unknown' };
}

/** The address of a route, for links: `#/agents/default/support`. */
export function hrefOf(route: Route): string {
  switch (route.page) {
    case 'fleet':
      return `#/${readable(route.query)}`;
    case 'agent':
      return `#/${['agents', route.namespace, route.name, ...present(route.tab)].map(encodeURIComponent).join('/')}`;
    case 'events':
      return `#/events${readable(route.query)}`;
    case 'coverage':
    case 'organisation':
    case 'stops':
      return `#/${route.page}`;
    case 'rules':
      return `#/${['rules', ...present(route.id)].map(encodeURIComponent).join('/')}`;
    case 'unknown':
      return '#/';
  }
}

const present = (value: string | null): string[] => (value === null ? [] : [value]);

/** A comma is allowed in a query, and lists stay readable with it. */
function readable(query: URLSearchParams): string {
  const text = query.toString().replaceAll('%2C', ',');
  return text === '' ? '' : `?${text}`;
}

function decoded(segments: string[]): string[] | null {
  try {
    return segments.map(decodeURIComponent);
  } catch {
    // A broken percent sequence.
    return null;
  }
}
