import type { Code } from './code.ts';
import type { Variable } from './environment.ts';
import type { Discovery, DiscoveryOf, Found, FoundOf, McpFound, ModelFound, ToolFound } from './discovery.ts';
import type { Place } from './source.ts';

/** One thing that was found, in one place or in several. */
export type Item<T> = T & {
  places: readonly Place[];
  /** What the model proposed: names of members, or `item` for the whole. Everything else is from the code. */
  proposed: readonly string[];
  /** What calls of the agent show; absent: only the code shows the item. */
  seen?: string;
};

/** What a manifest is written from. Lists are in the order of the code. */
export interface Draft {
  /** Purpose of the agent, proposed by the model. */
  description: string | null;
  frameworks: Item<{ name: string }>[];
  /** The first one is the model of the agent. */
  models: Item<ModelFound>[];
  tools: Item<ToolFound>[];
  servers: Item<McpFound & { name: string }>[];
  guardrails: Item<FoundOf<'guardrail'>>[];
  stores: Item<FoundOf<'store'>>[];
  routes: Item<FoundOf<'route'>>[];
  ports: Item<FoundOf<'port'>>[];
  apiTypes: Item<FoundOf<'apiType'>>[];
  tracing: Item<FoundOf<'tracing'>>[];
  metrics: Item<FoundOf<'metrics'>>[];
  logging: Item<FoundOf<'logging'>>[];
  evaluations: Item<FoundOf<'evaluation'>>[];
  variables: Item<Pick<Variable, 'name' | 'isOptional'>>[];
  prompts: Item<{ path: string }>[];
  /** What calls of the agent show in addition; absent: no calls were observed. */
  egress?: { models: Item<{ name: string }>[]; hosts: Item<{ name: string }>[] };
}

/** Generated code can contain thousands of similar calls. A manifest with them would be of no use. */
export const MAX_ITEMS = 200;

/** @param prompts files of prompts that the code names, with the places */
export function draftOf(
  discoveries: readonly Discovery[],
  { environment }: Pick<Code, 'environment'>,
  prompts: readonly { path: string; place: Place }[],
): Draft {
  const of = <K extends Found['kind']>(
    kind: K,
    keyOf: (discovery: DiscoveryOf<K>) => string,
  ): Item<DiscoveryOf<K>>[] =>
    merged(
      discoveries.filter((discovery): discovery is DiscoveryOf<K> => discovery.kind === kind),
      keyOf,
    );
  return {
    description: null,
    frameworks: of('framework', ({ name }) => name),
    models: inOrder(of('model', ({ provider, id }) => `${provider} ${id.text} ${id.variable}`)),
    tools: withoutAliases(of('tool', ({ name }) => name)),
    servers: named(of('mcp', ({ name, url, command, args }) => JSON.stringify([name, url, command, args]))),
    guardrails: of('guardrail', (each) => `${each.where} ${each.type} ${each.function ?? ''}`),
    stores: of('store', ({ role, backend, address }) => JSON.stringify([role, backend, address])),
    routes: of('route', ({ method, path }) => `${method} ${path}`),
    ports: of('port', ({ port }) => String(port)),
    apiTypes: of('apiType', ({ type }) => type),
    tracing: of('tracing', ({ backend }) => backend),
    metrics: of('metrics', ({ backend }) => backend),
    logging: of('logging', ({ backend }) => backend),
    evaluations: of('evaluation', ({ framework }) => framework),
    variables: [...environment.variables.values()]
      .map((each) => ({ ...each, proposed: [] }))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    prompts: merged(prompts, ({ path }) => path),
  };
}

/** One item per key. The first discovery decides; later ones add their places and what the first one does not have. */
function merged<T extends { place: Place }>(found: readonly T[], keyOf: (each: T) => string): Item<T>[] {
  const items = new Map<string, Item<T>>();
  for (const each of found) {
    const key = keyOf(each);
    const known = items.get(key);
    items.set(
      key,
      known === undefined
        ? { ...each, places: [each.place], proposed: [] }
        : { ...filled(known, each), places: withPlace(known.places, each.place) },
    );
  }
  return [...items.values()].slice(0, MAX_ITEMS);
}

/** Members that are null get the value of the other one. */
export function filled<T extends object>(item: T, other: object): T {
  const added = Object.entries(other).filter(([key]) => (item as Record<string, unknown>)[key] === null);
  return { ...item, ...(Object.fromEntries(added) as Partial<T>) };
}

const withPlace = (places: readonly Place[], place: Place): readonly Place[] =>
  places.some(({ file, line }) => file === place.file && line === place.line) ? places : [...places, place];

/** The model that is named most often comes first. A model without a known id adds nothing to one with an id. */
function inOrder(models: Item<DiscoveryOf<'model'>>[]): Item<ModelFound>[] {
  const isKnown = ({ id }: ModelFound) => id.text !== null || id.variable !== null;
  return models
    .filter(
      (each) => isKnown(each) || !models.some((other) => isKnown(other) && other.provider === each.provider),
    )
    .toSorted(
      (a, b) =>
        Number(isKnown(b)) - Number(isKnown(a)) ||
        Number(b.provider !== null) - Number(a.provider !== null) ||
        b.places.length - a.places.length,
    );
}

/** A function in a list of tools is the tool that its decorator names. */
function withoutAliases(tools: Item<DiscoveryOf<'tool'>>[]): Item<ToolFound>[] {
  const isAlias = (tool: ToolFound): boolean =>
    tool.function === tool.name &&
    tools.some(
      (other) => other.name !== tool.name && other.function === tool.function && other.module === tool.module,
    );
  return tools.filter((tool) => !isAlias(tool));
}

/** Names of servers must be unique. A server without a name gets one from its address. */
function named(servers: Item<DiscoveryOf<'mcp'>>[]): Item<McpFound & { name: string }>[] {
  const taken = new Set<string>();
  const found = servers.filter(
    (server) =>
      server.name !== null || !servers.some((other) => other.name !== null && isSameAddress(server, other)),
  );
  return found.map((server) => {
    const own = server.name?.trim() ?? '';
    const base = own === '' ? nameFromAddress(server) : own;
    let name = base;
    for (let number = 2; taken.has(name); number += 1) name = `${base}-${number}`;
    taken.add(name);
    return { ...server, name };
  });
}

const isSameAddress = (a: McpFound, b: McpFound): boolean =>
  JSON.stringify([a.url, a.command, a.args]) === JSON.stringify([b.url, b.command, b.args]);

/** `filesystem` for the package `@modelcontextprotocol/server-filesystem` and for `https://filesystem.example.com`. */
function nameFromAddress({ url, command, args }: McpFound): string {
  const host = /^https?:\/\/([^/:?#]+)/.exec(url?.text ?? '')?.[1];
  const target = args?.find((each) => !each.startsWith('-')) ?? command ?? '';
  const last = target.split(/[\\/]/).at(-1) ?? '';
  const words = host ?? url?.variable?.replace(/_URL$/, '') ?? last;
  const name = words
    .toLowerCase()
    .replace(/^(?:mcp-server-|server-|mcp\.)|\.(?:py|js|mjs|cjs|ts)$|@[\w.]+$/g, '')
    .replace(/\.(?:com|org|net|io|dev|ai|example|internal)$/, '')
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '');
  return name === '' ? 'mcp' : name;
}
