import {
  AMOUNT,
  closed,
  COUNT,
  enumOf,
  listOf,
  orNull,
  ref,
  TEXT,
  TIME,
} from '../../untrusted/json-schema.ts';
import type { JsonSchema } from '../../untrusted/json-schema.ts';
import { EVIDENCE_SUMS, GRADE, SCORE, SOURCE, USAGE_WINDOW } from './reports.ts';

/** Where a stored report comes from. */
const RECEIPT = { receivedAt: TIME, instance: TEXT } as const;

/** Schemas of the control plane's responses about agents. */
export const FLEET_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  AgentKey: {
    description: 'The key of a registered agent. It is not stored and cannot be read again.',
    ...closed({ agentId: TEXT, apiKey: TEXT, expiresAt: TIME }),
  },
  HeartbeatReply: {
    description: 'What the sender of a heartbeat does not know yet.',
    ...closed(
      {},
      {
        proof: {
          ...listOf(ref('ProofRecord')),
          description: 'All proofs, which replace those of the sender.',
        },
        proofRevision: COUNT,
        othersToday: {
          ...closed({ tokens: COUNT, costUsd: AMOUNT }),
          description: 'Usage of the other instances on the current UTC day.',
        },
        intervalSeconds: { type: 'integer', minimum: 1, description: 'The interval to use from now on.' },
      },
    ),
  },
  StoredGapReport: {
    description: 'The last gap report of an instance. null: not reported, or not kept by the store.',
    ...closed(
      {
        score: SCORE,
        grade: GRADE,
        source: orNull(SOURCE),
        issues: orNull(listOf(ref('Issue'))),
        evidence: orNull(
          closed(
            { ...EVIDENCE_SUMS, items: orNull(listOf(ref('EvidenceItem'))) },
            { shownWithoutLocalProofs: AMOUNT },
          ),
        ),
        audit: orNull(
          closed({
            declared: SCORE,
            proved: SCORE,
            failed: orNull(listOf(TEXT)),
            suppressions: orNull(listOf(ref('Suppression'))),
          }),
        ),
        ...RECEIPT,
      },
      { issuesTotal: { ...COUNT, description: 'Only if `issues` was truncated.' } },
    ),
  },
  StoredHealthReport: {
    description: 'The last health report of an instance. null: not kept by the store.',
    ...closed({
      agentName: TEXT,
      timestamp: TIME,
      status: orNull(enumOf(['healthy', 'degraded', 'unhealthy'])),
      summary: orNull(ref('HealthSummary')),
      checks: orNull(listOf(ref('Check'))),
      ...RECEIPT,
    }),
  },
  StoredUsage: {
    description: 'The usage window of the last heartbeat.',
    ...closed({ ...USAGE_WINDOW, ...RECEIPT }),
  },
};
