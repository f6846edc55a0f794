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
export const WORST_FIRST = ['fail', 'skip', 'pass'] as const;
export type CheckStatus = (typeof WORST_FIRST)[number];
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
