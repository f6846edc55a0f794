import type { AdminAction } from '../../core/shapes/admin-action.ts';
import type {
  AgentHistory,
  FleetHistory,
  FleetPoint,
  HistoryChange,
  HistoryPoint,
} from '../../core/shapes/history.ts';
import type { AgentKey } from './store.ts';

export interface Times {
  /** Inclusive. */
  from: Date;
  /** Exclusive. */
  to: Date;
}

export interface AgentHistoryQuery extends AgentKey, Times {
  step: AgentHistory['step'];
}

export interface FleetHistoryQuery extends Times {
  /** null: every namespace. */
  namespaces: readonly string[] | null;
  step: FleetHistory['step'];
}

/** The part of a store that keeps the past. Only the SQL stores have it. */
export interface HistoryStore {
  agent(query: AgentHistoryQuery): Promise<{ points: HistoryPoint[]; changes: HistoryChange[] }>;
  fleet(query: FleetHistoryQuery): Promise<FleetPoint[]>;
  /** The last scores by hour of the last 24 hours, oldest first, by `namespace/name`. Agents without a point are absent. */
  trends(keys: readonly AgentKey[], at: Date): Promise<Map<string, number[]>>;
  addAction(action: Omit<AdminAction, 'id'>): Promise<void>;
  /** The newest first; `before`: only actions with a smaller id. */
  actions(query: { limit: number; before: number | null }): Promise<AdminAction[]>;
}
