import { count } from './common.ts';
import { isoTime, nullable, oneOf, text } from './field.ts';
import { list, namedObject, type TypeOf } from './object.ts';

export const COVERAGE_KINDS = [
  'no-reporter',
  'bypassed-service',
  'not-evaluated',
  'failed-open',
  'no-policy-rules',
  'no-sidecar',
  'no-lanes',
  'unseen-egress',
  'silent',
] as const;
export type CoverageKind = (typeof COVERAGE_KINDS)[number];

const kind = oneOf('The kind of gap.', COVERAGE_KINDS);

export const coverageGap = namedObject('CoverageGap', 'One part of one agent that nothing reports.', {
  kind,
  agentName: text('Name of the agent.'),
  namespace: text('Namespace of the agent.'),
  reason: text('What is not seen, with its numbers and names.'),
  remedy: text('What to do about it.'),
  since: nullable(isoTime('null: not known.')),
});
export interface CoverageGap extends TypeOf<typeof coverageGap> {}

export const coverageKind = namedObject('CoverageKind', 'A kind of gap.', {
  kind,
  title: text('A short title.'),
  explanation: text('What is not seen, and why.'),
  count: count('Number of agents, also of those that `gaps` does not list.'),
});
export interface CoverageSummary extends TypeOf<typeof coverageKind> {}

export const coverageReport = namedObject('CoverageReport', 'The parts of agents that nothing reports.', {
  generatedAt: isoTime('Time of the report.'),
  agents: count('Number of examined agents.'),
  gaps: list('By kind, then by namespace and name; at most `limit` of each kind.', coverageGap),
  kinds: list('Every kind, also without gaps.', coverageKind),
});
/** `GET /api/v1/coverage`. */
export interface CoverageReport extends TypeOf<typeof coverageReport> {}
