/** How long an SQL store keeps data. */
export interface SqlRetention {
  /** Number of heartbeats of each agent. */
  heartbeats: number;
  /** Days of roll-ups by hour. */
  hourlyDays: number;
  /** Days of roll-ups by day, and of changes. */
  dailyDays: number;
  /** Days after which a workload without a heartbeat is removed; 0: never. */
  removeAfterDays: number;
  /** Days of audit events and of the heads of audit logs. */
  auditDays: number;
}

export const DEFAULT_RETENTION: SqlRetention = {
  heartbeats: 100,
  hourlyDays: 30,
  dailyDays: 400,
  removeAfterDays: 30,
  auditDays: 200,
};
