import type { Setting } from './code.ts';
import type { Draft, Item } from './draft.ts';
import { found, oneLine } from './yaml-lines.ts';

/** One discovery for a reader. */
export interface SummaryRow {
  kind: string;
  name: string;
  /** File and line of each place. */
  places: string;
}

/** What was found, by kind. */
export function summaryOf(draft: Draft): SummaryRow[] {
  const rows = <T>(kind: string, items: readonly Item<T>[], nameOf: (item: T) => string): SummaryRow[] =>
    items.map((item) => ({ kind, name: oneLine(nameOf(item)), places: found(item) }));
  return [
    ...rows('framework', draft.frameworks, ({ name }) => name),
    ...rows('model', draft.models, ({ provider, id }) => `${provider ?? 'unknown vendor'} ${shown(id)}`),
    ...rows('prompt', draft.prompts, ({ path }) => path),
    ...rows('tool', draft.tools, ({ name }) => name),
    ...rows('MCP server', draft.servers, ({ name, transport }) => `${name} (${transport})`),
    ...rows('store', draft.stores, ({ backend, role }) => `${backend} (${role})`),
    ...rows('variable', draft.variables, ({ name, isOptional }) =>
      isOptional ? `${name} (optional)` : name,
    ),
    ...rows('guardrail', draft.guardrails, ({ type, where }) => `${type} (${where})`),
    ...rows('evaluation', draft.evaluations, ({ framework }) => framework),
    ...rows('tracing', draft.tracing, ({ backend }) => backend),
    ...rows('metrics', draft.metrics, ({ backend }) => backend),
    ...rows('logging', draft.logging, ({ backend }) => backend),
    ...rows('route', draft.routes, ({ method, path }) => `${method} ${path}`),
    ...rows('port', draft.ports, ({ port }) => String(port)),
  ];
}

function shown({ text, variable }: Setting): string {
  if (variable === null) return text ?? '(not a literal)';
  return text === null ? `$${variable}` : `${text} ($${variable})`;
}
