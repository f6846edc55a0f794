import { detached } from '../untrusted/fields.ts';
import { plainPath } from '../untrusted/plain-path.ts';
import { setNewest } from '../untrusted/set-newest.ts';
import { absolutePathIn, mcpUpstreamPath } from './lane-addresses.ts';
import { isVendorItself, lanePathOf, type Lane, type LaneKind } from './lanes.ts';
import type { WireName } from './model-wire.ts';

/** What a lane does with one request. */
export interface LaneRoute {
  lane: Lane;
  /** Path and query at the upstream. */
  upstreamPath: string;
  /** The protocol of the route; null: unknown, so the call passes unread. */
  wire: WireName | 'mcp' | null;
  /** The model or deployment in the path; null: the model is in the body. */
  model: string | null;
  /** true: the path requests a stream; false: the body may still request one. */
  isStream: boolean;
}

/**
 * How the clients of a kind write paths. Clients disagree about which part of the path belongs to the base URL, so a lane
 * accepts the part with and without it.
 */
interface PathRule {
  /** The part of the path before the resource, at the begin of a client's path. */
  atBegin: RegExp;
  /** The same part at the end of the upstream's own path. */
  atEnd: RegExp;
  /** The part that the vendor requires. */
  canonical: string;
  /** Resources for which the part is added if a client omits it. */
  resources: RegExp;
  /** true: the part is always written as the vendor requires it. */
  isExact: boolean;
}

function rule(part: string, canonical: string, resources: RegExp, isExact = false): PathRule {
  const [atBegin, atEnd] = [new RegExp(`^${part}(?=/|$)`), new RegExp(`(?:${part})$`)];
  return { atBegin, atEnd, canonical, resources, isExact };
}

const VERSION = String.raw`/v\d+(?:alpha|beta)?\d*`;
const OPENAI = rule(VERSION, '/v1', /^\/./);

const RULES: Readonly<Record<Exclude<LaneKind, 'mcp'>, PathRule>> = {
  openai: OPENAI,
  mistral: OPENAI,
  compatible: OPENAI,
  anthropic: rule(VERSION, '/v1', /^\/(?:messages|complete|models|files|skills)(?:\/|$)/),
  gemini: rule(VERSION, '/v1beta', /^\/(?:models|tunedModels|cachedContents|files|operations)(?:\/|$)/),
  vertex: rule(VERSION, '/v1', /^\/projects\//),
  azure: rule('/openai', '/openai', /^\/deployments\//),
  groq: rule('(?:/openai)?/v1', '/openai/v1', /^\/(?:chat|responses|embeddings|models|audio)(?:\/|$)/, true),
  cohere: rule(VERSION, '/v2', /^\/(?:chat|embed|rerank)$/),
  ollama: rule('/(?:api|v1)', '/api', /^\/(?:chat|generate|embed|tags|show)$/),
};

/** The protocol of a path at the upstream, without query and without the upstream's own path. */
interface WireRule {
  kinds: readonly LaneKind[];
  /** The groups `model` and `stream` are optional. */
  path: RegExp;
  wire: WireName;
}

const OPENAI_LIKE: readonly LaneKind[] = ['openai', 'azure', 'groq', 'mistral', 'compatible', 'ollama'];
/** Google and Cohere also serve OpenAI's chat completions under paths of their own. */
const WITH_CHAT: readonly LaneKind[] = [...OPENAI_LIKE, 'gemini', 'vertex', 'cohere'];
/** Vertex has tuned models as endpoints. */
const GOOGLE = String.raw`/(?:models|tunedModels|endpoints)/(?<model>[^/:]+):(?:(?<stream>streamGenerateContent)|generateContent)$`;

/** Azure, and gateways in its form. */
const DEPLOYMENT = String.raw`(?:/(?:deployments|engines)/(?<model>[^/]+)(?:/.*)?)?`;

const WIRE_RULES: readonly WireRule[] = [
  {
    kinds: WITH_CHAT,
    path: new RegExp(`${DEPLOYMENT}/chat/completions$`),
    wire: 'chat',
  },
  { kinds: OPENAI_LIKE, path: /\/responses$/, wire: 'responses' },
  { kinds: OPENAI_LIKE, path: new RegExp(`${DEPLOYMENT}/embeddings$`), wire: 'embeddings' },
  { kinds: ['anthropic'], path: /\/messages$/, wire: 'anthropic' },
  { kinds: ['gemini', 'vertex'], path: new RegExp(GOOGLE), wire: 'gemini' },
  {
    kinds: ['vertex'],
    path: /\/publishers\/anthropic\/models\/(?<model>[^/:]+):(?:(?<stream>streamRawPredict)|rawPredict)$/,
    wire: 'anthropic',
  },
  { kinds: ['cohere'], path: /\/v2\/chat$/, wire: 'cohere' },
  { kinds: ['ollama'], path: /\/api\/(?:chat|generate)$/, wire: 'ollama' },
];

/** Remembered routes, and characters of a target that is remembered. */
const [MAX_ROUTES, MAX_TARGET] = [500, 500] as const;

/** The routes of one set of lanes. Agents use few paths, so routes are remembered, without queries: some vendors accept keys there. */
export class LaneRoutes {
  readonly #lanes: readonly Lane[];
  readonly #known = new Map<string, LaneRoute | null>();

  constructor(lanes: readonly Lane[]) {
    this.#lanes = lanes;
  }

  /** As `routeOf`. */
  of(method: string, target: string): LaneRoute | null {
    const [path, query] = splitQuery(target);
    const route = this.#without(method, path);
    if (route === null || query === '') return route;
    if (route.wire === 'mcp') return routeOf(this.#lanes, method, target);
    return { ...route, upstreamPath: route.upstreamPath + query };
  }

  #without(method: string, path: string): LaneRoute | null {
    const key = `${method} ${path}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const route = routeOf(this.#lanes, method, path);
    if (key.length <= MAX_TARGET) setNewest(this.#known, [detached(key), route], MAX_ROUTES);
    return route;
  }
}

/** The route of a request; null: no lane has this path. `target`: path and query as the client sent them. */
export function routeOf(lanes: readonly Lane[], method: string, target: string): LaneRoute | null {
  for (const lane of lanes) {
    const rest = restBelow(lanePathOf(lane), target);
    if (rest !== null) return laneRoute(lane, method, rest);
  }
  return null;
}

/** The part of the target after the path of the lane; null: the target is not below it. */
function restBelow(lanePath: string, target: string): string | null {
  if (!target.startsWith(lanePath)) return null;
  const rest = target.slice(lanePath.length);
  return rest === '' || rest.startsWith('/') || rest.startsWith('?') ? rest : null;
}

function laneRoute(lane: Lane, method: string, rest: string): LaneRoute {
  if (lane.kind === 'mcp')
    return {
      ...{ lane, wire: 'mcp', model: null, isStream: false },
      upstreamPath: mcpUpstreamPath(lane.upstream, rest),
    };
  const [path, query] = splitQuery(rest);
  const upstreamPath = absolutePathIn(path) ?? upstreamPathOf(lane, RULES[lane.kind], path);
  const found = method === 'POST' ? wireOf(lane.kind, upstreamPath) : null;
  return {
    ...(found ?? { wire: null, model: null, isStream: false }),
    lane,
    upstreamPath: upstreamPath + query,
  };
}

function splitQuery(target: string): [path: string, query: string] {
  const at = target.indexOf('?');
  return at < 0 ? [target, ''] : [target.slice(0, at), target.slice(at)];
}

/**
 * The path at the upstream: its own path with the client's. The vendor's part of the path is not repeated. It is added, or
 * written as the vendor requires it, only for the vendor itself: a gateway gets the path that its client chose.
 */
function upstreamPathOf(lane: Lane, rules: PathRule, path: string): string {
  const { atBegin, atEnd, canonical, resources, isExact } = rules;
  const own = lane.upstream.pathname.replace(/\/+$/, '');
  const part = atBegin.exec(path)?.[0] ?? null;
  const resource = part === null ? path : path.slice(part.length);
  if (atEnd.test(own)) return own + resource;
  const vendorPath = part === null ? (resources.test(path) ? canonical : '') : isExact ? canonical : part;
  const target = own + (isVendorItself(lane) ? vendorPath + resource : path);
  return target === '' ? '/' : target;
}

function wireOf(kind: LaneKind, upstreamPath: string): Pick<LaneRoute, 'wire' | 'model' | 'isStream'> | null {
  const path = plainPath(upstreamPath);
  for (const rule of WIRE_RULES) {
    const match = rule.kinds.includes(kind) ? rule.path.exec(path) : null;
    if (match === null) continue;
    const { model, stream } = match.groups ?? {};
    return { wire: rule.wire, model: model ?? null, isStream: stream !== undefined };
  }
  return null;
}
