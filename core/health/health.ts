/** The HealthReport of the contract, and the ReadyReport of `/health/ready`. */
export type CheckCategory =
  | 'env'
  | 'model'
  | 'service'
  | 'tool'
  | 'memory'
  | 'mcp'
  | 'file'
  | 'secret'
  | 'tracing';
export type CheckStatus = 'pass' | 'fail' | 'skip';
export type CheckSeverity = 'error' | 'warning' | 'info';

export interface Check {
  /** `env:<VAR>`, `model:<provider>/<id>`, `service:<name>`, `tool:<name>`, `memory:<role>`, `mcp:<name>`, `file:<path>`, `secret:<name>`, `tracing:<backend>`, `agent:upstream`. */
  id: string;
  category: CheckCategory;
  status: CheckStatus;
  severity: CheckSeverity;
  /** Milliseconds. */
  latencyMs?: number;
  message?: string;
  remediation?: string;
}

export type HealthStatus = 'healthy' | 'degraded' | 'unhealthy';
export type ReadyStatus = 'ready' | 'degraded' | 'not-ready';

export interface HealthSummary {
  passed: number;
  failed: number;
  warnings: number;
  skipped: number;
}

export interface HealthReport {
  agentName: string;
  /** ISO 8601 UTC. */
  timestamp: string;
  status: HealthStatus;
  summary: HealthSummary;
  checks: Check[];
}

/** The response of `/health/ready`: the HealthReport with a readiness status and the data source. */
export interface ReadyReport extends Omit<HealthReport, 'status'> {
  status: ReadyStatus;
  source: ReportSource;
  /** Why the agent's own report is not valid; absent if it is valid or there is none. */
  note?: string;
}

export type ReportSource = 'manifest-static' | 'agent-sdk';
