import type { RequestUsage } from '../usage/usage.ts';

/** Each proxied request ends in exactly one. */
export type Outcome = 'allow' | 'deny' | 'failOpen' | 'notEvaluated';
export const OUTCOMES: readonly Outcome[] = ['allow', 'deny', 'failOpen', 'notEvaluated'];
export type OutcomeCounts = Record<Outcome, number>;

export type UpstreamFailureKind =
  /** No connection could be made. */
  | 'unreachable'
  /** A kept-alive connection was already dead: the agent most likely never saw the request. */
  | 'stale'
  /** No connection, or no first byte, in time. */
  | 'timeout'
  /** The agent broke off, or what it sent is not HTTP. */
  | 'broken';

/** What one request reported about the agent's behavior. Absent: not reported. An empty list is a fact. */
export interface Behavior {
  guardrailsInvoked?: string[];
  toolsCalled?: string[];
  userConfirmed?: boolean;
}

/** One entry of the audit ring; in the ring from the arrival of its request, completed when the response has closed. */
export interface AuditEntry extends Behavior {
  /** Grows by one per request of this sidecar. */
  seq: number;
  requestId: string;
  /** ISO 8601, arrival. */
  timestamp: string;
  method: string;
  path: string;
  /** What the client got; absent while the request is in flight, and where the client left before an answer. */
  statusCode?: number;
  /** Of the agent's answer; absent where it gave none. */
  upstreamStatusCode?: number;
  durationMs?: number;
  bytesIn: number;
  bytesOut: number;
  /** The client or the agent cut the exchange. */
  aborted?: true;
  /** Why the agent's answer is missing, or is not whole. */
  upstreamFailure?: UpstreamFailureKind;
  /** No connection to the agent was ever given the request, so the agent has not seen it. */
  unsent?: true;
  /** It was sent once more after a kept-alive connection had died: the agent may have seen it twice. */
  retried?: true;
  /** Absent while the request is in flight. */
  outcome?: Outcome;
  blocked?: true;
  policyViolations?: string[];
  /** A denial that came after the response head; never presented as blocked. */
  lateDenial?: true;
  usage?: RequestUsage;
  events?: BehavioralEvent[];
  /** Who told the events, by its own word. */
  agentName?: string;
}

export type BehavioralEvent =
  | { type: 'guardrail'; guardrailType: string; invoked: boolean; blocked?: boolean; score?: number }
  | { type: 'tool'; name: string; success?: boolean; latencyMs?: number }
  | { type: 'model'; modelId: string; promptTokens: number; completionTokens: number }
  | { type: 'memory'; backend?: string; ttlSeconds?: number; piiScrubbed?: boolean };

/** `POST /events`. */
export interface EventBatch {
  /** null: of no request; then each event is a `model` event. */
  requestId: string | null;
  agentName?: string;
  events: BehavioralEvent[];
}
