import { EGRESS_RULES } from '../policy/egress-rules.ts';
import { POLICY_RULES } from '../policy/rules.ts';
import type { Severity, Outcome } from '../shapes/values.ts';

/** The members of the profile `security_control` of OCSF for a result of the policy. */
export interface OutcomeCodes {
  action: number;
  disposition: number;
  severity: number;
}

type Case = Exclude<Outcome, 'deny'> | 'denyBlocked' | 'denyTracked';

/** Actions of OCSF: 1 allowed, 2 denied, 3 observed. Dispositions: 1 allowed, 2 blocked, 16 no action, 19 alert, 27 error. */
export const OUTCOME_CODES: Readonly<Record<Case, OutcomeCodes>> = {
  allow: { action: 1, disposition: 1, severity: 1 },
  denyBlocked: { action: 2, disposition: 2, severity: 4 },
  denyTracked: { action: 3, disposition: 19, severity: 4 },
  failOpen: { action: 1, disposition: 27, severity: 3 },
  notEvaluated: { action: 3, disposition: 16, severity: 1 },
};

/** Severities of OCSF. */
export const SEVERITY_IDS: Readonly<Record<Severity, number>> = { low: 2, medium: 3, high: 4, critical: 5 };

const CRITICAL: ReadonlySet<string> = new Set(
  [...POLICY_RULES, ...EGRESS_RULES]
    .filter(({ severity }) => severity === 'critical')
    .map(({ reason }) => reason),
);
const BLOCKED_CRITICAL = { ...OUTCOME_CODES.denyBlocked, severity: SEVERITY_IDS.critical };

/** The codes of an outcome. A blocked denial with a critical reason is critical. */
export function codesOf(outcome: Outcome, isBlocked: boolean, reasons: readonly string[]): OutcomeCodes {
  if (outcome !== 'deny') return OUTCOME_CODES[outcome];
  if (!isBlocked) return OUTCOME_CODES.denyTracked;
  return reasons.some((reason) => CRITICAL.has(reason)) ? BLOCKED_CRITICAL : OUTCOME_CODES.denyBlocked;
}
