import { suppression } from '../../shapes/audit.ts';
import { matrixRow, notRewritten, unseenEgress } from '../../shapes/egress.ts';
import { evidenceItem } from '../../shapes/evidence.ts';
import type { Field } from '../../shapes/field.ts';
import { issue } from '../../shapes/gap.ts';
import { check, healthSummary } from '../../shapes/health.ts';
import { proofRecord } from '../../shapes/proof.ts';
import { modelUsage } from '../../shapes/usage.ts';

/** Parts of reports. The sidecar and the control plane use them. */
export const REPORT_SHAPES: readonly Field<unknown>[] = [
  ...[check, healthSummary, issue, evidenceItem, suppression, modelUsage, proofRecord],
  ...[matrixRow, unseenEgress, notRewritten],
];
