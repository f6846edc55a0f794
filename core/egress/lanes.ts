import type { ErrorFamily } from '../vendors/vendor.ts';
import {
  MAX_LANES,
  NAMED_LANE_KINDS,
  VENDOR_LANES,
  vendorLaneOf,
  type VendorLaneName,
} from './lane-variables.ts';

/**
 * The lanes: paths of the sidecar on loopback, each in front of one vendor of models or one MCP server. An agent reaches its
 * vendor through a lane because the vendor's base URL in its environment is the address of the lane (lane-variables.ts).
 */
export type LaneKind = VendorLaneName | (typeof NAMED_LANE_KINDS)[number];

/** The form of errors that the clients of a lane understand. */
export type LaneFamily = ErrorFamily | 'mcp';

const KINDS = [...Object.keys(VENDOR_LANES), ...NAMED_LANE_KINDS] as LaneKind[];

/** The form of the errors of a lane. A lane with a name has OpenAI's API, or is an MCP server. */
export const familyOf = (kind: LaneKind): LaneFamily =>
  kind === 'mcp' ? 'mcp' : (vendorLaneOf(kind)?.errors ?? 'openai');

export interface Lane {
  /** `openai`, `compatible:corp`, `mcp:files`. */
  id: string;
  kind: LaneKind;
  /** The part after the colon; null: this kind has one lane. */
  name: string | null;
  /** Where the lane forwards to. Its path goes in front of the path of a request. */
  upstream: URL;
}

/** Also a segment of the lane's path. */
const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;

/** The path of a lane on the sidecar, such as `/openai` or `/mcp/files`. */
export function lanePathOf({ kind, name }: Pick<Lane, 'kind' | 'name'>): string {
  return name === null ? `/${kind}` : `/${kind}/${name}`;
}

/** Reads EGRESS_LANES: comma-separated `lane=upstream`. */
export function parseLanes(text: string): { lanes: Lane[] } | { problem: string } {
  const lanes: Lane[] = [];
  for (const entry of entriesOf(text)) {
    const [id, address] = split(entry);
    const named = namedLane(id);
    if (typeof named === 'string') return { problem: named };
    if (address === null) return { problem: `${id} has no upstream: lane=upstream is required` };
    const upstream = upstreamOf(named.kind, address);
    if (typeof upstream === 'string') return { problem: `${id}: ${upstream}` };
    lanes.push({ id, ...named, upstream });
  }
  return problemOf(lanes) ?? { lanes };
}

const entriesOf = (text: string): string[] => text.split(',').map((entry) => entry.trim());

function split(entry: string): [id: string, value: string | null] {
  const at = entry.indexOf('=');
  return at < 0 ? [entry, null] : [entry.slice(0, at).trim(), entry.slice(at + 1).trim()];
}

/** The kind and the name of a lane, or why its id is not valid. */
function namedLane(id: string): Pick<Lane, 'kind' | 'name'> | string {
  const [prefix = '', ...rest] = id.split(':');
  const kind = KINDS.find((each) => each === prefix);
  const name = rest.length === 0 ? null : rest.join(':');
  // The text may be a URL with a key, so it is not repeated.
  if (kind === undefined) return `a lane must be one of ${KINDS.map(idForm).join(', ')}`;
  if (!isNamed(kind)) return name === null ? { kind, name } : `${kind} must not have a name`;
  if (name === null || !NAME.test(name))
    return `${kind} requires a name of 1 to 63 letters, digits, ".", "_" and "-": ${idForm(kind)}`;
  return { kind, name };
}

const isNamed = (kind: LaneKind): boolean => NAMED_LANE_KINDS.some((each) => each === kind);
const idForm = (kind: LaneKind): string => (isNamed(kind) ? `${kind}:<name>` : kind);

/** The upstream, or why it is not valid. */
function upstreamOf(kind: LaneKind, address: string): URL | string {
  const url = URL.parse(address);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:') || url.hostname === '')
    return 'the upstream must be a URL with the https: or http: protocol';
  if (url.username + url.password !== '' || url.hash !== '')
    return 'the upstream must not have credentials or a fragment';
  // An MCP server may need a query, and a request has none of its own.
  if (url.search !== '' && kind !== 'mcp') return 'the upstream must not have a query';
  return url;
}

function problemOf(lanes: readonly Pick<Lane, 'id'>[]): { problem: string } | null {
  const ids = lanes.map(({ id }) => id);
  const repeated = ids.find((id, index) => ids.indexOf(id) !== index);
  if (repeated !== undefined) return { problem: `${repeated} is set twice` };
  return lanes.length > MAX_LANES ? { problem: `there are more than ${MAX_LANES} lanes` } : null;
}

/** Whether the lane leads to the vendor itself, not to a gateway. */
export function isVendorItself({ kind, upstream }: Lane): boolean {
  const address = vendorLaneOf(kind)?.upstream ?? null;
  return address !== null && new URL(address).origin === upstream.origin;
}
