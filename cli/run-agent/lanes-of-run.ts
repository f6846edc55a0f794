import { LANES_ANNOTATION, namedLanes, type NamedLane } from '../../core/egress/lane-annotation.ts';
import { lanesOfProvider } from '../../core/egress/lane-use.ts';
import {
  lanePath,
  VENDOR_LANES,
  type LaneId,
  type VendorLaneName,
} from '../../core/egress/lane-variables.ts';
import { routeLanes } from '../../core/injection/egress-lanes.ts';
import type { Manifest } from '../../core/manifest/manifest.ts';
import { referenceOf } from '../../core/manifest/references.ts';
import type { Vendor } from '../../core/vendors/vendor.ts';
import { VENDORS } from '../../core/vendors/vendors.ts';
import type { Environment } from '../../runtime/env.ts';

export interface RunLane {
  lane: string;
  /** Base URL. */
  upstream: string;
  /** The variables of the agent that lead to the lane. */
  variables: readonly string[];
}

export interface RunLanes {
  lanes: readonly RunLane[];
  /** Of the agent. */
  variables: Readonly<Record<string, string>>;
  /** Why a variable cannot be led through a lane; each the begin of a sentence. */
  problems: readonly string[];
}

/**
 * The lanes of an agent that runs with this environment: for each vendor whose key or base URL is set or whose models the manifest
 * declares, and for each MCP server whose URL the manifest takes from a variable.
 */
export function lanesOfRun(manifest: Manifest, env: Environment, port: number): RunLanes {
  const container = {
    name: 'agent',
    env: Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [{ name, value }])),
  };
  const { written, upstreams, problems } = routeLanes(container, lanesFor(manifest, env), port);
  return {
    lanes: upstreams.map(({ lane, upstream }) => ({
      ...{ lane, upstream },
      variables: written.filter(({ value }) => leadsTo(lane, value)).map(({ name }) => name),
    })),
    variables: Object.fromEntries(written.map(({ name, value }) => [name, value])),
    problems,
  };
}

const leadsTo = (lane: LaneId, url: string): boolean =>
  `${new URL(url).pathname}/`.startsWith(`${lanePath(lane)}/`);

function lanesFor(manifest: Manifest, env: Environment): NamedLane[] {
  const { model, mcp } = manifest.spec;
  const names = Object.keys(VENDOR_LANES);
  const declared = [model.provider, model.fallback?.provider ?? ''].flatMap((provider) =>
    lanesOfProvider(provider, names),
  );
  const isSet = (name: string): boolean => (env[name] ?? '') !== '';
  const vendors = Object.values<Vendor>(VENDORS).flatMap(({ keys, lane }): NamedLane[] => {
    if (lane === undefined) return [];
    const own = [...keys, ...lane.variables.map(({ name }) => name)];
    const isUsed = declared.includes(lane.id) || own.some(isSet);
    return isUsed ? [{ id: lane.id as VendorLaneName, variable: null }] : [];
  });
  const servers = (mcp?.servers ?? []).flatMap(({ name, url = '' }): NamedLane[] => {
    const reference = referenceOf(url);
    const entry = `mcp:${name}=${reference?.name ?? ''}`;
    // A name that no lane can have, such as one with spaces, gets none.
    return reference?.kind === 'env' && isSet(reference.name) && LANES_ANNOTATION.test(entry)
      ? namedLanes(entry)
      : [];
  });
  return [...vendors, ...servers];
}
