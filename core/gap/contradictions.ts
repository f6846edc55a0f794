import type { Finding } from './finding.ts';

/**
 * What contradicts a declaration or a report of the agent, with severity and level of evidence of its issue: the only place where they
 * are decided. `wire`: a call on an egress lane. `report`: a response, event, span or
 * behavioral header of the agent itself.
 */
export const CONTRADICTIONS = {
  'tool on the wire': { severity: 'critical', evidenceLevel: 'behavioral' },
  'tool in a report': { severity: 'high', evidenceLevel: 'behavioral' },
  'model on the wire': { severity: 'high', evidenceLevel: 'behavioral' },
  'model in a report': { severity: 'high', evidenceLevel: 'behavioral' },
  tokens: { severity: 'medium', evidenceLevel: 'behavioral' },
  probe: { severity: 'medium', evidenceLevel: 'probed' },
  'connection in the census': { severity: 'low', evidenceLevel: 'behavioral' },
} as const satisfies Readonly<Record<string, Pick<Finding, 'severity' | 'evidenceLevel'>>>;
