import { modelNamesOf, declaredModelName } from '../facts/sightings.ts';
import type { EgressFacts, ReportedCalls } from '../facts/egress-facts.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { modelVendorOf, vendorNameOf } from '../vendors/vendors.ts';
import { hostPortOf, parseAddress } from '../facts/address.ts';
import { addressesOf, hostName, isDeclaredHost, listedHostsOf } from './declared.ts';
import { vendorLaneOf, vendorOfLane } from './lane-variables.ts';
import type { Lane } from './lanes.ts';

/** Reported calls from which on an unused lane is not a coincidence, such as a call in flight. */
const MIN_REPORTED = 3;

/** Lanes through which models of other vendors can be called, too. */
const isGateway = (lane: string): boolean =>
  vendorLaneOf(lane)?.isGateway === true || lane.startsWith('compatible:');

/** The lanes of the vendor, and those that also serve its models. */
function lanesOfVendor(provider: string, lanes: readonly string[]): readonly string[] {
  const vendor = vendorNameOf(provider);
  return lanes.filter((lane) => vendorOfLane(lane) === vendor || vendorLaneOf(lane)?.alsoOf === vendor);
}

/** The lanes that would see the calls of a provider's models. A lane `compatible:<name>` can belong to any vendor. */
export function lanesOfProvider(provider: string, lanes: readonly string[]): readonly string[] {
  const own = lanesOfVendor(provider, lanes);
  return own.length > 0 ? own : lanes.filter((lane) => lane.startsWith('compatible:'));
}

/** The lane that the provider's calls should have used, if none of the lanes that can lead to the provider had a call; else null. */
export function unusedLaneOf(
  provider: string,
  { lanes, usedLanes }: Pick<EgressFacts, 'lanes' | 'usedLanes'>,
): string | null {
  const own = lanesOfProvider(provider, lanes);
  const isUsed = lanes.some((lane) => usedLanes.has(lane) && (own.includes(lane) || isGateway(lane)));
  return isUsed ? null : (own[0] ?? null);
}

/** A declared model that the agent reports to call, although its lane had no call. */
export interface UnusedLane {
  lane: string;
  modelId: string;
  /** Number of reported calls. */
  reported: number;
}

/** The model and its fallback, if the agent reports calls that no lane of their provider saw. */
export function unusedLanesOf(
  { spec: { model } }: Manifest,
  egress: Pick<EgressFacts, 'lanes' | 'usedLanes'>,
  { calls = new Map<string, number>() }: Pick<ReportedCalls, 'calls'>,
): UnusedLane[] {
  return [model, ...(model.fallback === undefined ? [] : [model.fallback])].flatMap(({ provider, id }) => {
    const lane = unusedLaneOf(provider, egress);
    const reported = [...calls].reduce(
      (sum, [name, count]) => (modelNamesOf(name).includes(declaredModelName(id)) ? sum + count : sum),
      0,
    );
    return lane === null || reported < MIN_REPORTED ? [] : [{ lane, modelId: id, reported }];
  });
}

/** The upstream of a lane, or its vendor behind a gateway, as connections show it. */
export interface LaneTarget {
  lane: string;
  /** Lower case, an IPv6 address without brackets. */
  host: string;
  port: number;
}

/**
 * The upstreams to which only their lanes may connect. The vendor of the model does not explain a direct connection, because its lane
 * leads there. `spec.egress.hosts`, or another address of the manifest with the same host and port, does.
 */
export function laneTargetsOf(
  manifest: Manifest,
  lanes: readonly Pick<Lane, 'id' | 'upstream'>[],
): LaneTarget[] {
  const hosts = { ...listedHostsOf(manifest), unresolved: [] };
  const others = addressesOf(manifest).flatMap(({ id: ofAddress, value, type, port }) => {
    if (lanes.some(({ id }) => id === ofAddress)) return [];
    // Without a known port, the address explains every port of its host.
    const found = parseAddress(value, type);
    const host = (found ?? parseAddress(value, 'https'))?.host;
    return host === undefined ? [] : { host: hostName(host), port: port ?? found?.port ?? null };
  });
  const upstreams = lanes.map(({ id, upstream }) => ({ lane: id, ...hostPortOf(upstream) }));
  return [...upstreams, ...vendorsBehind(manifest, lanes)]
    .map((target) => ({ ...target, host: hostName(target.host) }))
    .filter(
      ({ host, port }) =>
        isDeclaredHost({ hosts }, host) !== true &&
        !others.some((each) => each.host === host && (each.port === null || each.port === port)),
    );
}

/** The vendors themselves. Their lanes may lead to gateways. */
function vendorsBehind({ spec: { model } }: Manifest, lanes: readonly Pick<Lane, 'id'>[]): LaneTarget[] {
  const ids = lanes.map(({ id }) => id);
  return [model, ...(model.fallback === undefined ? [] : [model.fallback])].flatMap(({ provider }) => {
    const { baseUrl } = modelVendorOf(provider).vendor;
    if (baseUrl === null) return [];
    return lanesOfVendor(provider, ids).map((lane) => ({ lane, ...hostPortOf(new URL(baseUrl)) }));
  });
}
