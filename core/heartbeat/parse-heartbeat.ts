import { POLICY_MODES } from '../shapes/values.ts';
import type { OutcomeCounts } from '../behavior/audit-entry.ts';
import { isRuleId } from '../audit/rules.ts';
import type { GapReport, Issue } from '../gap/gap.ts';
import { gradeOf } from '../gap/grade.ts';
import type { HealthReport, HealthStatus, HealthSummary, ReadyStatus } from '../health/health.ts';
import { checkList } from '../health/parse-health-report.ts';
import { summaryOf } from '../health/summarize.ts';
import { proofRecord } from '../proof/parse-proof.ts';
import {
  integer,
  isoTime,
  list,
  nullable,
  number,
  object,
  oneOf,
  parseWith,
  text,
  withDefault,
  type Field,
  type FieldError,
} from '../untrusted/fields.ts';
import { usageWindow } from '../usage/parse-usage-report.ts';
import type { UsageTotals } from '../usage/usage.ts';
import type { Heartbeat } from './heartbeat.ts';
import { auditField, egressField, evidenceField } from './shown-fields.ts';

export type ParsedHeartbeat = { ok: true; heartbeat: Heartbeat } | { ok: false; errors: FieldError[] };

/** Further entries are dropped and longer strings are cut, so that a heartbeat with too much data is still accepted. */
const MAX_ISSUES = 1000;
const MAX_PROOFS = 100;
const MAX_DENIALS = 50;
const MAX_TEXT = 500;

const cutText = text({ max: MAX_TEXT, cut: true });
const count = integer({ min: 0 });

/** The status values of the HealthReport, and the equivalent readiness values. */
const STATUS: Readonly<Record<HealthStatus | ReadyStatus, HealthStatus>> = {
  healthy: 'healthy',
  ready: 'healthy',
  degraded: 'degraded',
  unhealthy: 'unhealthy',
  'not-ready': 'unhealthy',
};

const health = object(
  {
    status: oneOf(['healthy', 'degraded', 'unhealthy', 'ready', 'not-ready']),
    checks: checkList,
  },
  {
    agentName: cutText,
    timestamp: isoTime,
    summary: object<HealthSummary>({ passed: count, failed: count, warnings: count, skipped: count }),
  },
);

const issue: Field<Issue> = object(
  {
    severity: oneOf(['critical', 'high', 'medium', 'low']),
    property: text({ max: MAX_TEXT }),
    description: cutText,
    recommendation: withDefault(cutText, ''),
  },
  { message: cutText, source: oneOf(['policy', 'llm']) },
);

const source = oneOf(['manifest-static', 'agent-sdk']);

const gap = object(
  { score: number({ min: 0, max: 100 }), issues: list(issue, { max: MAX_ISSUES, cut: true }) },
  { source },
);

const totals: Field<UsageTotals> = object(
  { tokensToday: count },
  { costTodayUsd: number({ min: 0, max: 1e12 }) },
);

const outcomes = object<OutcomeCounts>({ allow: count, deny: count, failOpen: count, notEvaluated: count });

const DEFAULT_INTERVAL_SECONDS = 30;

/** The body of a heartbeat. */
export const heartbeatBody = object({
  version: withDefault(oneOf([1]), 1),
  instance: withDefault(text({ max: 253 }), 'default'),
  seq: nullable(count),
  intervalSeconds: withDefault(integer({ min: 1, max: 3600 }), DEFAULT_INTERVAL_SECONDS),
  sentAt: nullable(isoTime),
  source: nullable(source),
  health,
  gap,
  scoreWithoutLocalProofs: nullable(integer({ min: 0, max: 100 })),
  evidence: nullable(evidenceField),
  audit: nullable(auditField),
  egress: nullable(egressField),
  proof: withDefault(list(proofRecord, { max: MAX_PROOFS, cut: true }), []),
  proofRevision: withDefault(count, 0),
  usage: nullable(usageWindow),
  totals: nullable(totals),
  outcomes: nullable(outcomes),
  denials: nullable(list(cutText, { max: MAX_DENIALS, cut: true })),
  policyMode: nullable(oneOf(POLICY_MODES)),
  policyState: nullable(oneOf(['none', 'unreachable', 'not-loaded', 'answered'])),
  manifestHash: nullable(text({ max: 128 })),
  model: nullable(object({ provider: text({ max: 200 }), id: text({ max: 200 }) })),
  sidecarVersion: nullable(text({ max: 64 })),
  startedAt: nullable(isoTime),
});

/** Facts about a heartbeat that do not come from its body. */
export interface Received {
  /** Agent name from the credential. */
  agentName: string;
  at: Date;
}

/**
 * Parses the body of a heartbeat. `health` and `gap` are required; the other members have defaults, so that a plain reporter
 * can push. All errors are returned at once. The grade is derived from the score; a sent grade is ignored.
 */
export function parseHeartbeat(value: unknown, received: Received): ParsedHeartbeat {
  const parsed = parseWith(heartbeatBody, value);
  if (!parsed.ok) return parsed;
  const sent = parsed.value;
  const source: GapReport['source'] = sent.source ?? sent.gap.source ?? 'manifest-static';
  return {
    ok: true,
    heartbeat: {
      ...sent,
      source,
      health: healthOf(sent.health, sent.sentAt, received),
      gap: gapOf(sent.gap, source),
      // A newer sender may send rules that this version does not know.
      proof: sent.proof.filter((record) => isRuleId(record.ruleId)),
    },
  };
}

type Sent<F> = F extends Field<infer T> ? T : never;

function healthOf(sent: Sent<typeof health>, sentAt: string | null, received: Received): HealthReport {
  return {
    // The credential decides the agent name. A stored report must not contain another name.
    agentName: received.agentName,
    timestamp: sent.timestamp ?? sentAt ?? received.at.toISOString(),
    status: STATUS[sent.status],
    summary: sent.summary ?? summaryOf(sent.checks),
    checks: sent.checks,
  };
}

function gapOf(sent: Sent<typeof gap>, source: GapReport['source']): GapReport {
  const score = Math.round(sent.score);
  return { score, grade: gradeOf(score), source, issues: sent.issues };
}
