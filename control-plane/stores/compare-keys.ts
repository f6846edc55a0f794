import type { AgentKey } from './store.ts';

/** The order of all lists: by namespace, then name. */
export function compareKeys(a: AgentKey, b: AgentKey): number {
  if (a.namespace !== b.namespace) return a.namespace < b.namespace ? -1 : 1;
  return a.name === b.name ? 0 : a.name < b.name ? -1 : 1;
}
