import { auditMembers } from './audit.ts';
import { count, score } from './common.ts';
import { egressReport } from './egress.ts';
import { evidenceItems, evidenceSums, shownWithoutLocalProofs } from './evidence.ts';
import { isoTime, named, nullable, text } from './field.ts';
import { grade, issues, source } from './gap.ts';
import { checks, healthStatus, healthSummary, reportMembers } from './health.ts';
import { namedObject, object, type ObjectOf, type TypeOf } from './object.ts';
import { usageMembers } from './usage.ts';

const receipt = {
  receivedAt: isoTime('Time of the heartbeat with this report.'),
  instance: text('The pod or process that sent the report.'),
};

/** Where a stored report comes from. */
export interface Receipt extends ObjectOf<typeof receipt> {}

const gap = object('The last gap report of an instance. null: not reported, or not kept by the store.', {
  score: score('0 to 100.'),
  grade,
  source: nullable(source),
  issues: nullable(issues),
  'issuesTotal?': count('Only if `issues` was truncated.'),
  evidence: nullable(
    object('The evidence of the last 24 hours for the declared items.', {
      ...evidenceSums,
      items: nullable(evidenceItems),
      shownWithoutLocalProofs,
    }),
  ),
  audit: nullable(
    object('The summary of an audit.', {
      ...auditMembers,
      failed: nullable(auditMembers.failed),
      suppressions: nullable(auditMembers.suppressions),
    }),
  ),
  ...receipt,
});

/** `GET /api/v1/agents/{name}/gap`. The store kubernetes keeps the lists of one instance only. */
export interface StoredGap extends TypeOf<typeof gap> {}
export const storedGap = named('StoredGapReport', gap);

const health = object('The last health report of an instance. null: not kept by the store.', {
  ...reportMembers,
  status: nullable(healthStatus),
  summary: nullable(healthSummary),
  checks: nullable(checks),
  ...receipt,
});

/** `GET /api/v1/agents/{name}/health`. */
export interface StoredHealth extends TypeOf<typeof health> {}
export const storedHealth = named('StoredHealthReport', health);

/** `GET /api/v1/agents/{name}/usage`. */
export const storedUsage = namedObject('StoredUsage', 'The usage window of the last heartbeat.', {
  ...usageMembers,
  ...receipt,
});

const egress = object('What lanes and census of an instance observed, as its last heartbeat has it.', {
  egress: nullable(egressReport),
  ...receipt,
});

/** `GET /api/v1/agents/{name}/egress`. */
export interface StoredEgress extends TypeOf<typeof egress> {}
export const storedEgress = named('StoredEgress', egress);
