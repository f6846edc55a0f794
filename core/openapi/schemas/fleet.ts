import { PHASES } from '../../observation/observation.ts';
import { RUNTIMES } from '../../observation/runtimes.ts';
import { POLICY_MODES } from '../../policy/engine.ts';
import {
  AMOUNT,
  closed,
  COUNT,
  enumOf,
  FLAG,
  listOf,
  orNull,
  ref,
  TEXT,
  TIME,
} from '../../untrusted/json-schema.ts';
import type { JsonSchema } from '../../untrusted/json-schema.ts';
import { COMPLIANT, EVIDENCE_SUMS, GRADE, SCORE, SOURCE, USAGE_WINDOW } from './reports.ts';

/** Where a stored report comes from. */
const RECEIPT = { receivedAt: TIME, instance: TEXT } as const;

const ROW: Readonly<Record<string, JsonSchema>> = {
  agentId: TEXT,
  agentName: TEXT,
  compliant: COMPLIANT,
  namespace: TEXT,
  runtime: enumOf(RUNTIMES),
  source: {
    ...enumOf(['sidecar', 'remote']),
    description: '`sidecar`: a workload of the cluster. `remote`: registered with the admin key.',
  },
  phase: enumOf(PHASES),
  grade: orNull(GRADE),
  score: orNull(SCORE),
  tokens: { ...orNull(COUNT), description: 'Of the current UTC day.' },
  costUsd: { ...orNull(AMOUNT), description: 'Of the current UTC day. null: no prices in the manifest.' },
  evidence: orNull(closed({ percent: SCORE, shown: EVIDENCE_SUMS.shown, declared: EVIDENCE_SUMS.declared })),
  proved: { ...orNull(SCORE), description: 'Proved score of the compliance rules.' },
  violations: { ...orNull(COUNT), description: 'Distinct policy denials of the worst instance.' },
  failOpen: {
    ...orNull({ type: 'number', minimum: 0, maximum: 1 }),
    description: 'Share of the requests with a policy engine that passed because it was unreachable.',
  },
  policyMode: orNull(enumOf(POLICY_MODES)),
  instances: COUNT,
  lastSeen: orNull(TIME),
  stale: { ...FLAG, description: 'No instance reports: grade, score and evidence are those of `lastSeen`.' },
};
const TREND: Readonly<Record<string, JsonSchema>> = {
  trend: { ...listOf(SCORE), description: 'Last score of each hour of the last 24 hours, oldest first.' },
};

/** Members of an agent in the list that `?fields=` can select. */
export const AGENT_FIELDS: readonly string[] = Object.keys(ROW);

/** Schemas of the control plane's responses about agents. */
export const FLEET_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  AgentListItem: {
    description: 'One agent. null: never reported.',
    ...closed(ROW, TREND),
  },
  AgentSelection: {
    description: 'The members of an agent that `fields` selects.',
    ...closed({}, { ...ROW, ...TREND }),
  },
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
