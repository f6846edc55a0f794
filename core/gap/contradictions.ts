import type { Finding } from './finding.ts';

/**
 * What contradicts a declaration or a report of the agent. `wire`: a call on an egress lane. `report`: a response, event, span or
 * behavioral header of the agent itself.
 */
const CONTRADICTIONS = {
  'tool on the wire': { severity: 'critical', evidenceLevel: 'behavioral' },
  'tool in a report': { severity: 'high', evidenceLevel: 'behavioral' },
  'model on the wire': { severity: 'high', evidenceLevel: 'behavioral' },
  'model in a report': { severity: 'high', evidenceLevel: 'behavioral' },
  tokens: { severity: 'medium', evidenceLevel: 'behavioral' },
  probe: { severity: 'medium', evidenceLevel: 'probed' },
  'connection in the census': { severity: 'low', evidenceLevel: 'behavioral' },
} as const satisfies Readonly<Record<string, Pick<Finding, 'severity' | 'evidenceLevel'>>>;

/** Severity and level of evidence of the issue for a contradiction: the only place where they are decided. */
export function contradiction<K extends keyof typeof CONTRADICTIONS>(kind: K): (typeof CONTRADICTIONS)[K] {
  return CONTRADICTIONS[kind];
}
