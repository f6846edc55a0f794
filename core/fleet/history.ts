import type { OutcomeCounts } from '../behavior/audit-entry.ts';
import type { Grade, Phase } from '../shapes/values.ts';

/** `heartbeat`: one point for each stored heartbeat. `hour`, `day`: one point for each UTC hour or day with a heartbeat. */
export const HISTORY_STEPS = ['heartbeat', 'hour', 'day'] as const;
export type HistoryStep = (typeof HISTORY_STEPS)[number];

/** What all instances of an agent did in one step. */
export interface HistoryPoint {
  /** ISO 8601: start of the UTC hour or day; with step `heartbeat` the time at which the heartbeat was received. */
  at: string;
  /** Number of accepted heartbeats. */
  heartbeats: number;
  /** Score of the agent after the last heartbeat of the step. */
  score: number;
  scoreMin: number;
  scoreMax: number;
  /** Computed from `score`. */
  grade: Grade;
  /** Phase after the last heartbeat of the step. */
  phase: Phase;
  /** Tokens used in the step. */
  tokens: number;
  /** Cost in the step; 0 without prices in the manifest. */
  costUsd: number;
  /** Requests in the step by the result of the policy. */
  outcomes: OutcomeCounts;
}

export const CHANGE_KINDS = ['phase', 'grade', 'manifest', 'version', 'policy-mode'] as const;
export type ChangeKind = (typeof CHANGE_KINDS)[number];

/** A moment at which a value of an agent changed. */
export interface HistoryChange {
  /** ISO 8601 */
  at: string;
  kind: ChangeKind;
  /** null: there was no value before. `manifest`: the hash; `version`: the sidecar version. */
  from: string | null;
  to: string | null;
}

/** `GET /api/v1/agents/{name}/history`. */
export interface AgentHistory {
  agentName: string;
  namespace: string;
  step: HistoryStep;
  /** ISO 8601; `from` inclusive, `to` exclusive. */
  from: string;
  to: string;
  /** Oldest first. A step without a heartbeat has no point. */
  points: HistoryPoint[];
  /** Oldest first. */
  changes: HistoryChange[];
}

/** All agents in one hour or day. */
export interface FleetPoint {
  /** ISO 8601: start of the UTC hour or day. */
  at: string;
  /** Number of agents with a heartbeat in the step. */
  agents: number;
  heartbeats: number;
  /** Mean of the agents' last scores in the step, rounded to one decimal place. */
  score: number;
  /** Number of agents by their last grade in the step. */
  grades: Record<Grade, number>;
  tokens: number;
  costUsd: number;
  outcomes: OutcomeCounts;
}

/** `GET /api/v1/history`. */
export interface FleetHistory {
  /** null: all namespaces. */
  namespace: string | null;
  step: Exclude<HistoryStep, 'heartbeat'>;
  from: string;
  to: string;
  points: FleetPoint[];
}
