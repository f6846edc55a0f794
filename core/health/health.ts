import type { HealthReport } from '../shapes/health.ts';
import type { ReportSource } from '../shapes/values.ts';

export type ReadyStatus = 'ready' | 'degraded' | 'not-ready';

/** The response of `/health/ready`: the HealthReport with a readiness status and the data source. */
export interface ReadyReport extends Omit<HealthReport, 'status'> {
  status: ReadyStatus;
  source: ReportSource;
  /** Why the agent's own report is not valid; absent if it is valid or there is none. */
  note?: string;
}
