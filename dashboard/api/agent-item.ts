import type { Grade } from '../../core/gap/gap.ts';
import type { Phase } from '../../core/observation/observation.ts';

/** A row of `GET /api/v1/agents`. Values that were never reported are null. */
export interface AgentItem {
  agentId: string | null;
  agentName: string;
  namespace: string;
  phase: Phase;
  grade: Grade | null;
  score: number | null;
  /** Of the current UTC day, like `costUsd`. */
  tokens: number | null;
  costUsd: number | null;
  evidence: { percent: number; shown: number; declared: number } | null;
  compliant: { status: string; reason: string; message: string };
  violations: number | null;
  /** Share of the evaluated requests that failed open, 0..1. */
  failOpen: number | null;
  lastSeen: string | null;
  /** No instance reports: the values are those of `lastSeen`. */
  stale: boolean;
  /** Scores of the last 24 hours, oldest first. */
  trend?: number[];
}

/** Data of the event `agents` of `GET /api/v1/stream`. */
export interface AgentChanges {
  changed: AgentItem[];
  removed: { namespace: string; agentName: string }[];
}

/** Names are unique in a namespace. */
export const keyOf = ({ namespace, agentName }: { namespace: string; agentName: string }): string =>
  `${namespace}/${agentName}`;
