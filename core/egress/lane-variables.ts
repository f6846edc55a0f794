import type { Vendor, VendorLane } from '../vendors/vendor.ts';
import { VENDORS } from '../vendors/vendors.ts';

type LaneOf<Row> = Row extends { lane: { id: infer Id } } ? Id : never;

/** For example `openai` or `gemini`. */
export type VendorLaneName = LaneOf<(typeof VENDORS)[keyof typeof VENDORS]>;

/**
 * The lanes of vendors, and the variables that clients follow (docs/decisions/0093): as runs recorded, except those in
 * `NOT_IN_THE_TABLE` of testing/egress/clients.integration.test.ts. A variable is added only where
 * every client that reads it accepts the value.
 */
export const VENDOR_LANES = Object.fromEntries(
  Object.values<Vendor>(VENDORS).flatMap(({ lane }) => (lane === undefined ? [] : [[lane.id, lane]])),
) as Readonly<Record<VendorLaneName, VendorLane>>;

/** The row of a lane by its id or kind; null: it is not the lane of one vendor. */
export const vendorLaneOf = (id: string): VendorLane | null =>
  Object.hasOwn(VENDOR_LANES, id) ? VENDOR_LANES[id as VendorLaneName] : null;

/** The vendor of a lane; the id itself if it is not the lane of one vendor. */
export const vendorOfLane = (id: string): string =>
  Object.entries<Vendor>(VENDORS).find(([, { lane }]) => lane?.id === id)?.[0] ?? id;

/** The kinds of lanes that an annotation names together with a variable: any vendor with OpenAI's API, and MCP servers. */
export const NAMED_LANE_KINDS = ['compatible', 'mcp'] as const;

/** For example `openai`, `compatible:corp` or `mcp:files`. */
export type LaneId = VendorLaneName | `${(typeof NAMED_LANE_KINDS)[number]}:${string}`;

/** The most lanes of one sidecar. The limit bounds the labels of its metrics. */
export const MAX_LANES = 32;

/** The path of a lane, for example `/openai` or `/mcp/files`. */
export const lanePath = (id: LaneId): string => `/${id.replace(':', '/')}`;
