import type { Retention } from './history-tables.ts';

/** How long an SQL store keeps data. */
export interface SqlRetention extends Retention {
  /** Days after which a workload without a heartbeat is removed; 0: never. */
  removeAfterDays: number;
}

export const DEFAULT_RETENTION: SqlRetention = {
  heartbeats: 100,
  hourlyDays: 30,
  dailyDays: 400,
  removeAfterDays: 30,
};
