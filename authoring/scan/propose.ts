import { listedTools, MCP_LANE, mcpToolsIn } from '../../core/egress/declared.ts';
import type { EgressCall } from '../../core/shapes/egress-call.ts';
import { vendorOfLane } from '../../core/egress/lane-variables.ts';
import { times } from '../../core/egress/times.ts';
import { modelVendorOf } from '../../core/vendors/vendors.ts';
import { FORMATS } from '../../core/manifest/schema-node.ts';
import type { Draft, Item } from './draft.ts';
import type { McpFound, ModelFound, ToolFound } from './discovery.ts';

/** Members of a call with names of tools, in the order in which a tool is used. */
const USES = ['toolsOffered', 'toolsCalled', 'toolsExecuted'] as const;

/** A call through a lane, as far as a proposal needs it. */
export type ObservedCall = Pick<
  EgressCall,
  'lane' | 'method' | 'path' | 'model' | 'statusCode' | 'blocked' | (typeof USES)[number]
>;

/** What the lanes of one agent observed. */
export interface Observation {
  /** The lanes with the base URLs of their upstreams. */
  lanes: readonly { lane: string; upstream: string }[];
  calls: readonly ObservedCall[];
}

const EMBEDDINGS = /embed/i;
const HOST = new RegExp(FORMATS.hostPattern.pattern);

/** The calls that were neither denied nor failed: only they show what the agent uses. */
export const passedCalls = <T extends Pick<ObservedCall, 'blocked' | 'statusCode'>>(
  calls: readonly T[],
): T[] => calls.filter(({ blocked, statusCode }) => !blocked && statusCode !== null && statusCode < 400);

/**
 * A draft with what an agent was observed to use, under the names of its calls, in addition to what its code shows. Denied and failed
 * calls propose nothing.
 */
export function propose(observation: Observation, draft: Draft): Draft {
  const calls = passedCalls(observation.calls);
  const ofModels = calls.filter(({ lane, method }) => !lane.startsWith(MCP_LANE) && method !== 'CONNECT');
  const servers = withServers(draft.servers, calls, observation.lanes);
  const [models, others] = withModels(draft.models, ofModels);
  return {
    ...draft,
    models,
    servers,
    tools: withTools(draft.tools, ofModels, {
      mcpServers: new Set(servers.map(({ name }) => name)),
      listed: listedTools(calls),
    }),
    egress: { models: others, hosts: hostsOf(models[0], calls, observation.lanes) },
  };
}

/** The most requested model first, if models were observed; and the further ones. Models of embeddings do not come first. */
function withModels(
  known: Draft['models'],
  calls: readonly ObservedCall[],
): [models: Draft['models'], others: Item<{ name: string }>[]] {
  const named = calls.flatMap(({ model, lane, path }) => (model === null ? [] : [{ model, lane, path }]));
  const groups = [...Map.groupBy(named, ({ model }) => model)].toSorted(
    ([, a], [, b]) => Number(isEmbedding(a[0])) - Number(isEmbedding(b[0])) || b.length - a.length,
  );
  const [first, ...rest] = groups;
  if (first === undefined) return [known, []];
  const [id, requests] = first;
  const lane = requests[0]?.lane ?? '';
  const provider = vendorOfLane(lane.slice(lane.indexOf(':') + 1));
  const inCode = known.find(
    (model) => model.id.text === id || (model.id.text === null && model.provider === provider),
  );
  const model: Item<ModelFound> = {
    ...(inCode ?? { kind: 'model', keyVariable: null, temperature: null, places: [], proposed: [] }),
    ...{ provider, id: { text: id, variable: null } },
    seen: `requested ${times(requests.length)} on lane ${lane}`,
  };
  const others = rest.map(([name, each]) =>
    seenItem({ name }, `requested ${times(each.length)} on lane ${each[0]?.lane}`),
  );
  const isOther = ({ id: { text } }: ModelFound): boolean => others.some(({ name }) => name === text);
  return [[model, ...known.filter((each) => each !== inCode && !isOther(each))], others];
}

const isEmbedding = (call: Pick<ObservedCall, 'path'> | undefined): boolean =>
  EMBEDDINGS.test(call?.path ?? '');

/** The tools of the MCP servers are declared with the server. */
function withTools(
  known: Draft['tools'],
  calls: readonly ObservedCall[],
  { mcpServers, listed }: { mcpServers: ReadonlySet<string>; listed: ReadonlyMap<string, readonly string[]> },
): Draft['tools'] {
  const uses = calls.flatMap((call) => USES.flatMap((use) => call[use].map((name) => ({ use, name }))));
  const byName = Map.groupBy(uses, ({ name }) => name);
  const ofServers = mcpToolsIn({ mcpServers }, [...byName.keys()], listed);
  const texts = new Map(
    [...byName].flatMap(([name, own]) => {
      const parts = USES.flatMap((use) => {
        const { length } = own.filter((each) => each.use === use);
        return length > 0 ? [`${use.slice('tools'.length).toLowerCase()} ${times(length)}`] : [];
      });
      return name === '' || ofServers.has(name) ? [] : [[name, parts.join(', ')] as const];
    }),
  );
  const tool = (name: string): ToolFound => ({
    ...{ kind: 'tool', name, type: 'function', annotations: {} },
    ...{ description: null, module: null, function: null },
  });
  return withSeen(known, texts, tool);
}

function withServers(
  known: Draft['servers'],
  calls: readonly ObservedCall[],
  lanes: Observation['lanes'],
): Draft['servers'] {
  const ofServers = Map.groupBy(
    calls.filter(({ lane }) => lane.startsWith(MCP_LANE)),
    ({ lane }) => lane.slice(MCP_LANE.length),
  );
  const texts = new Map(
    [...ofServers].map(([name, { length }]) => [name, `called ${times(length)} on its lane`]),
  );
  const server = (name: string): McpFound & { name: string } => ({
    ...{ kind: 'mcp', name, transport: 'http', command: null, args: null, env: {} },
    url: { text: lanes.find(({ lane }) => lane === MCP_LANE + name)?.upstream ?? null, variable: null },
  });
  return withSeen(known, texts, server);
}

/** The hosts that the model's provider does not declare already. */
function hostsOf(
  model: ModelFound | undefined,
  calls: readonly ObservedCall[],
  lanes: Observation['lanes'],
): Item<{ name: string }>[] {
  const provider = model?.provider ?? null;
  const baseUrl = provider === null ? null : modelVendorOf(provider).vendor.baseUrl;
  const upstreams = new Map(lanes.map(({ lane, upstream }) => [lane, new URL(upstream).hostname]));
  const hostOf = ({ lane, method, path }: ObservedCall): string =>
    method === 'CONNECT' ? path.replace(/:\d+$/, '') : (upstreams.get(lane) ?? '');
  const groups = Map.groupBy(
    calls.filter(({ lane }) => !lane.startsWith(MCP_LANE)),
    hostOf,
  );
  return [...groups]
    .filter(([name]) => HOST.test(name) && (baseUrl === null || new URL(baseUrl).hostname !== name))
    .map(([name, { length }]) => seenItem({ name }, `connected to ${times(length)}`));
}

/** The items of the code, with what was seen of them, and new items for what only the calls show. */
function withSeen<T extends { name: string }>(
  known: readonly Item<T>[],
  texts: ReadonlyMap<string, string>,
  create: (name: string) => T,
): Item<T>[] {
  const names = new Set(known.map(({ name }) => name));
  const added = [...texts].filter(([name]) => !names.has(name));
  return [
    ...known.map((item) => {
      const seen = texts.get(item.name);
      return seen === undefined ? item : { ...item, seen };
    }),
    ...added.map(([name, seen]) => seenItem(create(name), seen)),
  ];
}

const seenItem = <T>(item: T, seen: string): Item<T> => ({ ...item, seen, places: [], proposed: [] });
