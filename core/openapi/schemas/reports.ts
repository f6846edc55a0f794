import { suppression } from '../../shapes/audit.ts';
import { matrixRow, notRewritten, unseenEgress } from '../../shapes/egress.ts';
import { evidenceItem } from '../../shapes/evidence.ts';
import type { Field } from '../../shapes/field.ts';
import { issue } from '../../shapes/gap.ts';
import { check, healthSummary } from '../../shapes/health.ts';
import { proofRecord } from '../../shapes/proof.ts';
import { modelUsage } from '../../shapes/usage.ts';
import { GRADES } from '../../shapes/values.ts';
import { AMOUNT, COUNT, enumOf, listOf, ref, TIME } from '../../untrusted/json-schema.ts';
import type { JsonSchema } from '../../untrusted/json-schema.ts';

export const SCORE: JsonSchema = { type: 'integer', minimum: 0, maximum: 100 };
export const GRADE: JsonSchema = enumOf(GRADES);
export const SEVERITY: JsonSchema = enumOf(['critical', 'high', 'medium', 'low']);
export const SOURCE: JsonSchema = {
  ...enumOf(['manifest-static', 'agent-sdk']),
  description: '`agent-sdk`: the agent reports its own checks.',
};

/** The members of an EvidenceReport without the items. */
export const EVIDENCE_SUMS = {
  shown: { ...AMOUNT, description: 'Items with evidence; reported items count half.' },
  declared: { ...COUNT, description: 'All items.' },
  reported: { ...COUNT, description: 'Items that only the agent reports.' },
} as const;

/** The members of a UsageWindow. */
export const USAGE_WINDOW = {
  windowStartedAt: TIME,
  models: listOf(ref('ModelUsage')),
  totalTokens: COUNT,
  totalCalls: COUNT,
} as const;

/** Parts of reports. The sidecar and the control plane use them. */
export const REPORT_SHAPES: readonly Field<unknown>[] = [
  ...[check, healthSummary, issue, evidenceItem, suppression, modelUsage, proofRecord],
  ...[matrixRow, unseenEgress, notRewritten],
];
