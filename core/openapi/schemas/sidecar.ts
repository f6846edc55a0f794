import { OUTCOMES } from '../../shapes/values.ts';
import { agentCard } from '../../shapes/agent-card.ts';
import { alignmentReport } from '../../shapes/alignment.ts';
import { analysisState } from '../../shapes/analysis-state.ts';
import { censusReport } from '../../shapes/egress.ts';
import { egressCall, egressUsage } from '../../shapes/egress-call.ts';
import { behavioralEvent } from '../../shapes/events.ts';
import { exploredEndpoint, exploredPart, exploreReport, matrixReport } from '../../shapes/explore.ts';
import { responseSchemas } from '../../shapes/response.ts';
import {
  completeEvidence,
  completeGap,
  readyReport,
  ringUsageReport,
  shownUsageReport,
} from '../../shapes/sidecar-reports.ts';
import { POLICY_MODES } from '../../shapes/values.ts';
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

const CALL = { modelId: TEXT, promptTokens: COUNT, completionTokens: COUNT, totalTokens: COUNT } as const;
const STATUS_CODE: JsonSchema = { type: 'integer' };
const ONLY_TRUE: JsonSchema = { type: 'boolean', const: true };

const HEALTH: Readonly<Record<string, JsonSchema>> = {
  SidecarReadiness: closed(
    {
      status: enumOf(['ok', 'draining', 'judging', 'not-allowed']),
      policy: closed({ mode: enumOf(POLICY_MODES), engine: enumOf(['none', 'opa', 'builtin']) }),
    },
    { nonce: TEXT, findings: listOf(ref('OrganisationFinding')) },
  ),
  Drain: closed({ forSeconds: COUNT }),
};

const AUDIT: Readonly<Record<string, JsonSchema>> = {
  AuditEntry: {
    description: 'One proxied request.',
    ...closed(
      {
        seq: { type: 'integer', minimum: 1 },
        requestId: TEXT,
        timestamp: TIME,
        method: TEXT,
        path: TEXT,
        bytesIn: COUNT,
        bytesOut: COUNT,
      },
      {
        statusCode: STATUS_CODE,
        upstreamStatusCode: STATUS_CODE,
        durationMs: AMOUNT,
        aborted: ONLY_TRUE,
        upstreamFailure: enumOf(['unreachable', 'stale', 'timeout', 'broken']),
        unsent: ONLY_TRUE,
        retried: ONLY_TRUE,
        outcome: enumOf(OUTCOMES),
        blocked: ONLY_TRUE,
        policyViolations: listOf(TEXT),
        lateDenial: ONLY_TRUE,
        usage: ref('RequestUsage'),
        events: listOf(ref('BehavioralEvent')),
        agentName: TEXT,
        behaviorFrom: {
          ...enumOf(['spans']),
          description: 'The tools are known only from spans, so it is not known which guardrails ran.',
        },
        guardrailsInvoked: listOf(TEXT),
        toolsCalled: listOf(TEXT),
        userConfirmed: FLAG,
        egress: {
          description: 'The calls through egress lanes during the request.',
          ...closed({ calls: COUNT, models: listOf(TEXT), tools: listOf(TEXT) }),
        },
      },
    ),
  },
  RequestUsage: {
    description: 'Usage of one request, or why it is unknown.',
    anyOf: [
      closed(CALL, { calls: listOf(closed(CALL)), callsWithoutUsage: COUNT }),
      closed({ unavailable: TEXT }),
    ],
  },
  RecordedEvents: closed({
    requestId: TEXT,
    found: ONLY_TRUE,
    opaViolations: { ...listOf(TEXT), description: 'Reasons of the policy engine; empty: no denial.' },
  }),
  UnmatchedEvents: closed({ requestId: orNull(TEXT), found: { type: 'boolean', const: false } }),
};

/** Schemas of the sidecar's responses. */
export const SIDECAR_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  ...HEALTH,
  ...AUDIT,
  ...responseSchemas([alignmentReport, exploreReport, exploredPart, exploredEndpoint, matrixReport]),
  ...responseSchemas([egressCall, egressUsage]),
  ...responseSchemas([agentCard, analysisState, behavioralEvent, readyReport, shownUsageReport]),
  ...responseSchemas([ringUsageReport, completeGap, completeEvidence, censusReport]),
};
