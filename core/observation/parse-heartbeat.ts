import { isRuleId } from '../audit/rules.ts';
import { summaryOf } from '../health/summarize.ts';
import { parseWith } from '../shapes/field.ts';
import type { GapReport } from '../shapes/gap.ts';
import type { HealthReport, sentHealth } from '../shapes/health.ts';
import { heartbeatBody, type Heartbeat } from '../shapes/heartbeat.ts';
import type { TypeOf } from '../shapes/object.ts';
import type { FieldError } from '../untrusted/fields.ts';

export type ParsedHeartbeat = { ok: true; heartbeat: Heartbeat } | { ok: false; errors: FieldError[] };

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
      gap: { ...sent.gap, source },
      // A newer sender may send rules that this version does not know.
      proof: sent.proof.filter((record) => isRuleId(record.ruleId)),
    },
  };
}

function healthOf(sent: TypeOf<typeof sentHealth>, sentAt: string | null, received: Received): HealthReport {
  return {
    // The credential decides the agent name. A stored report must not contain another name.
    agentName: received.agentName,
    timestamp: sent.timestamp ?? sentAt ?? received.at.toISOString(),
    status: sent.status,
    summary: sent.summary ?? summaryOf(sent.checks),
    checks: sent.checks,
  };
}
