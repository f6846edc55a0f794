import type { Outcome } from '../behavior/audit-entry.ts';
import type { ModelUsage } from './model-wire.ts';

/** Tokens of one call as the vendor states them. */
export interface EgressUsage extends ModelUsage {
  /** Absent: the price of the model is not known. */
  costUsd?: number;
  /** Day of the price, YYYY-MM-DD, if it is a default price; absent: the manifest declares the price, or it is not known. */
  priceDate?: string;
}

/** One call of the agent through a lane, as `GET /egress` returns it. It has no bodies, no query and no keys. */
export interface EgressCall {
  /** Increases by one with each call of this sidecar. */
  id: number;
  /** Time of arrival, ISO 8601. */
  at: string;
  /** Id of the lane. */
  lane: string;
  method: string;
  /** Path at the upstream. */
  path: string;
  /** The requested model; null: not known. */
  model: string | null;
  /** Further models that the request names, such as fallbacks of a gateway; absent: none. */
  otherModels?: readonly string[];
  stream: boolean;
  /** Tools that the request offers to the model; for an MCP server, the tools that it lists. */
  toolsOffered: readonly string[];
  /** Tools that the answer calls, including removed calls; for an MCP server, the called tools. */
  toolsCalled: readonly string[];
  /** Tools whose results are in the request. */
  toolsExecuted: readonly string[];
  /** null: the vendor stated no tokens. */
  usage: EgressUsage | null;
  /** Status that the agent received; null: it disconnected before the response. */
  statusCode: number | null;
  durationMs: number;
  /** Denial reasons. */
  violations: readonly string[];
  /** The request was denied, or a call was removed from its answer. */
  blocked: boolean;
  /** `failOpen`: the policy engine could not evaluate the call, and it passed. */
  outcome: Outcome;
  /** Id of the request during which the agent made the call; null: not known. */
  requestId: string | null;
}
