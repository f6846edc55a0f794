export type CheckSeverity = 'error' | 'warning' | 'info';
/** The categories of checks, which are the prefixes of their ids, with their severities. */
export const CATEGORY_SEVERITIES = {
  env: 'error',
  model: 'error',
  service: 'warning',
  memory: 'warning',
  mcp: 'warning',
  file: 'warning',
  secret: 'warning',
  tool: 'info',
  tracing: 'info',
} as const satisfies Record<string, CheckSeverity>;
export type CheckCategory = keyof typeof CATEGORY_SEVERITIES;
export const WORST_FIRST = ['fail', 'skip', 'pass'] as const;
export type CheckStatus = (typeof WORST_FIRST)[number];

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
