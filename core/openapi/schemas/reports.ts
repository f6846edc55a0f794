import { SUPPRESSION_STATES } from '../../audit/suppressions.ts';
import { EVIDENCE_TIERS, ITEM_KINDS } from '../../evidence/evidence.ts';
import { CATEGORY_SEVERITIES, WORST_FIRST } from '../../facts/check.ts';
import { GRADES } from '../../shapes/values.ts';
import { PROOF_ORIGINS } from '../../proof/proof.ts';
import { AMOUNT, closed, COUNT, enumOf, listOf, ref, TEXT, TIME } from '../../untrusted/json-schema.ts';
import type { JsonSchema } from '../../untrusted/json-schema.ts';
import { EGRESS_SCHEMAS } from './egress.ts';

export const SCORE: JsonSchema = { type: 'integer', minimum: 0, maximum: 100 };
export const GRADE: JsonSchema = enumOf(GRADES);
export const SEVERITY: JsonSchema = enumOf(['critical', 'high', 'medium', 'low']);
export const SOURCE: JsonSchema = {
  ...enumOf(['manifest-static', 'agent-sdk']),
  description: '`agent-sdk`: the agent reports its own checks.',
};

/** The verdict about an agent. */
export const COMPLIANT: JsonSchema = {
  description: 'The verdict: the condition `Compliant` with its reason and one short phrase.',
  ...closed({ status: enumOf(['True', 'False', 'Unknown']), reason: TEXT, message: TEXT }),
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

/** Schemas of the parts of reports. The sidecar and the control plane use them. */
export const REPORT_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  ...EGRESS_SCHEMAS,
  Check: {
    description: 'One health check.',
    ...closed(
      {
        id: { type: 'string', description: 'For example `env:OPENAI_API_KEY` or `service:orders-db`.' },
        category: enumOf(Object.keys(CATEGORY_SEVERITIES)),
        status: enumOf(WORST_FIRST),
        severity: enumOf(['error', 'warning', 'info']),
      },
      { latencyMs: AMOUNT, message: TEXT, remediation: TEXT },
    ),
  },
  HealthSummary: {
    description: 'Number of checks by result.',
    ...closed({ passed: COUNT, failed: COUNT, warnings: COUNT, skipped: COUNT }),
  },
  Issue: {
    description: 'A difference between the declaration and the observations.',
    ...closed(
      { severity: SEVERITY, property: TEXT, description: TEXT, recommendation: TEXT },
      {
        message: TEXT,
        source: {
          ...enumOf(['policy', 'llm']),
          description: '`policy`: from the policy engine. `llm`: from the LLM analysis, without points.',
        },
      },
    ),
  },
  EvidenceItem: {
    description: 'A declared item and the best evidence of it in the last 24 hours.',
    ...closed(
      { kind: enumOf(ITEM_KINDS), name: TEXT, tier: enumOf(EVIDENCE_TIERS) },
      { shownBy: TEXT, lastSeen: TIME, contradictedBy: TEXT },
    ),
  },
  Suppression: {
    description: 'A suppression of the manifest.',
    ...closed(
      { rule: TEXT, reason: TEXT, state: enumOf(SUPPRESSION_STATES) },
      { approvedBy: TEXT, expires: TEXT },
    ),
  },
  ModelUsage: closed({
    modelId: TEXT,
    promptTokens: COUNT,
    completionTokens: COUNT,
    totalTokens: COUNT,
    callCount: COUNT,
  }),
  ProofRecord: {
    description: 'The result of an external compliance test.',
    ...closed(
      { ruleId: TEXT, verifiedBy: TEXT, method: TEXT, verifiedAt: TIME },
      {
        origin: { ...enumOf(PROOF_ORIGINS), description: 'Absent: written by version 0.1.0.' },
        expiresAt: TIME,
        expired: { type: 'boolean', const: true, description: 'Only if `expiresAt` has passed.' },
      },
    ),
  },
};
