import type { AuditEntry } from '../../core/shapes/audit-entry.ts';
import type { LaneRoute } from '../../core/egress/lane-routes.ts';
import type { EgressUsage } from '../../core/shapes/egress-call.ts';
import type { ModelUsage, ModelWire, WireName } from '../../core/egress/model-wire.ts';
import type { CallNames } from './call-names.ts';
import type { OnForbiddenTool } from './egress-fields.ts';
import type { EgressPolicy } from './egress-policy.ts';
import type { LaneCall, UnreadReason } from './lane-call.ts';
import { McpCall } from './mcp-call.ts';
import type { McpMemory } from './mcp-memory.ts';
import { ModelCall } from './model-call.ts';
import type { RefusedOptions } from './refused-options.ts';
import type { Reservations } from './reservations.ts';

/** What all calls share. */
export interface CallContext {
  wires: Readonly<Record<WireName, ModelWire>>;
  policy: EgressPolicy;
  onForbiddenTool: OnForbiddenTool;
  reservations: Reservations;
  refused: RefusedOptions;
  names: CallNames;
  memory: McpMemory;
  /** The usage with its cost, if the price of the model is known. */
  withCost: (model: string | null, usage: ModelUsage) => EgressUsage;
}

export interface LaneCallOptions extends CallContext {
  route: LaneRoute;
  /** Path and query as the client sent them. */
  target: string;
  /** The request during which the agent made the call; null: not known. */
  entry: AuditEntry | null;
  /** Reserves memory (negative: gives it back); false: there is none. */
  keep: (bytes: number) => boolean;
  /** Called when a body passes unread. */
  onUnread(reason: UnreadReason): void;
}

/** The protocol of a call; null: the route is unknown, so the call passes unread. */
export function createCall(options: LaneCallOptions): LaneCall | null {
  const { route, entry, target, policy, memory } = options;
  if (route.wire === null) return null;
  if (route.wire !== 'mcp') return new ModelCall(options, options.wires[route.wire]);
  const userConfirmed = (): boolean | undefined => entry?.userConfirmed;
  const onUnread = (reason: UnreadReason): void => options.onUnread(reason);
  return new McpCall({ lane: route.lane, target, policy, memory, onUnread, userConfirmed });
}
