import type { behavioralEvent } from '../shapes/events.ts';
import type { TypeOf } from '../shapes/object.ts';
import type { Outcome } from '../shapes/values.ts';
import type { ModelCall, RequestUsage } from '../usage/usage.ts';

export type OutcomeCounts = Record<Outcome, number>;

export type UpstreamFailureKind =
  /** The connection could not be established. */
  | 'unreachable'
  /** A kept-alive connection was already closed. The agent most likely did not receive the request. */
  | 'stale'
  /** Timeout before the connection or before the first byte of the response. */
  | 'timeout'
  /** The agent closed the connection early or sent invalid HTTP. */
  | 'broken';

/** Behavior of the agent as reported for one request. Absent: not reported. An empty list is a fact. */
export interface Behavior {
  guardrailsInvoked?: readonly string[];
  toolsCalled?: readonly string[];
  userConfirmed?: boolean;
}

/** The agent's calls through the egress lanes during one request. */
export interface EntryEgress {
  calls: number;
  /** Requested models, each once. */
  models: string[];
  /** Tools that the models called, and called tools of MCP servers, each once. */
  tools: string[];
}

/** Tokens of the lane calls of an entry. Not part of the API, where `/egress` has the usage of each call. */
export const LANE_USAGE = Symbol('laneUsage');

/** An entry of the audit ring. It is added when the request arrives and completed when the response has closed. */
export interface AuditEntry extends Behavior {
  /** Increases by one with each request of this sidecar. */
  seq: number;
  requestId: string;
  /** Time of arrival, ISO 8601. */
  timestamp: string;
  method: string;
  path: string;
  /** Status sent to the client; absent while the request is in flight, and if the client disconnected before the response. */
  statusCode?: number;
  /** Status of the agent's response; absent if there was none. */
  upstreamStatusCode?: number;
  durationMs?: number;
  bytesIn: number;
  bytesOut: number;
  /** The client or the agent aborted the exchange. */
  aborted?: true;
  /** Reason why the agent's response is missing or incomplete. */
  upstreamFailure?: UpstreamFailureKind;
  /** The request was never written to a connection, so the agent did not receive it. */
  unsent?: true;
  /** The request was sent again after a kept-alive connection had closed. The agent may have received it twice. */
  retried?: true;
  /** Absent while the request is in flight. */
  outcome?: Outcome;
  blocked?: true;
  policyViolations?: string[];
  /** The denial came after the response head, so the request does not count as blocked. */
  lateDenial?: true;
  usage?: RequestUsage;
  events?: BehavioralEvent[];
  /** Absent: no call through a lane belongs to the request. */
  egress?: EntryEgress;
  [LANE_USAGE]?: { calls: readonly ModelCall[]; withoutUsage: number };
  /** Agent name in the event batch, not verified. */
  agentName?: string;
  /** The tools are known only from spans, so it is not known which guardrails ran. */
  behaviorFrom?: 'spans';
}

/** Not in the JSON of an event. */
export const REQUESTED_ID = Symbol('requestedId');

export type BehavioralEvent = TypeOf<typeof behavioralEvent> & {
  /** The model of the request, if the span of a `model` event has it. A vendor can respond with another name of the same model. */
  [REQUESTED_ID]?: string;
};
