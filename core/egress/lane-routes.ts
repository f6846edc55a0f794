import { detached } from '../untrusted/fields.ts';
import { plainPath } from '../untrusted/plain-path.ts';
import { setNewest } from '../untrusted/set-newest.ts';
import { OPENAI_PREFIX, OPENAI_ROUTES } from '../vendors/openai-like.ts';
import type { PathPrefix, WireName } from '../vendors/vendor.ts';
import { absolutePathIn, mcpUpstreamPath } from './lane-addresses.ts';
import { VENDOR_LANES, vendorLaneOf } from './lane-variables.ts';
import { isVendorItself, lanePathOf, type Lane, type LaneKind } from './lanes.ts';

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

/** A prefix of paths with its patterns: at the begin of a client's path, and at the end of the upstream's own path. */
interface PathRule extends PathPrefix {
  atBegin: RegExp;
  atEnd: RegExp;
}

function ruleOf(prefix: PathPrefix): PathRule {
  const { pattern } = prefix;
  return { ...prefix, atBegin: new RegExp(`^${pattern}(?=/|$)`), atEnd: new RegExp(`(?:${pattern})$`) };
}

const OPENAI = ruleOf(OPENAI_PREFIX);
const RULES = new Map(Object.entries(VENDOR_LANES).map(([id, { prefix }]) => [id, ruleOf(prefix)]));

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
  const upstreamPath = absolutePathIn(path) ?? upstreamPathOf(lane, RULES.get(lane.kind) ?? OPENAI, path);
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
  const vendorPath =
    part === null ? (resources.test(path) ? canonical : '') : isExact === true ? canonical : part;
  const target = own + (isVendorItself(lane) ? vendorPath + resource : path);
  return target === '' ? '/' : target;
}

function wireOf(kind: LaneKind, upstreamPath: string): Pick<LaneRoute, 'wire' | 'model' | 'isStream'> | null {
  const path = plainPath(upstreamPath);
  for (const { path: pattern, wire } of vendorLaneOf(kind)?.routes ?? OPENAI_ROUTES) {
    const match = pattern.exec(path);
    if (match === null) continue;
    const { model, stream } = match.groups ?? {};
    return { wire, model: model ?? null, isStream: stream !== undefined };
  }
  return null;
}
