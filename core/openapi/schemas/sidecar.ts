import { agentCard } from '../../shapes/agent-card.ts';
import { alignmentReport } from '../../shapes/alignment.ts';
import { analysisState } from '../../shapes/analysis-state.ts';
import { auditEntry, recordedEvents, unmatchedEvents } from '../../shapes/audit-entry.ts';
import { censusReport } from '../../shapes/egress.ts';
import { egressCall, egressUsage } from '../../shapes/egress-call.ts';
import { behavioralEvent } from '../../shapes/events.ts';
import { exploredEndpoint, exploredPart, exploreReport, matrixReport } from '../../shapes/explore.ts';
import { requestUsage } from '../../shapes/request-usage.ts';
import { responseSchemas } from '../../shapes/response.ts';
import {
  completeEvidence,
  completeGap,
  readyReport,
  ringUsageReport,
  shownUsageReport,
} from '../../shapes/sidecar-reports.ts';
import { POLICY_MODES } from '../../shapes/values.ts';
import { closed, COUNT, enumOf, listOf, ref, TEXT } from '../../untrusted/json-schema.ts';
import type { JsonSchema } from '../../untrusted/json-schema.ts';

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

/** Schemas of the sidecar's responses. */
export const SIDECAR_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  ...HEALTH,
  ...responseSchemas([auditEntry, requestUsage, recordedEvents, unmatchedEvents]),
  ...responseSchemas([alignmentReport, exploreReport, exploredPart, exploredEndpoint, matrixReport]),
  ...responseSchemas([egressCall, egressUsage]),
  ...responseSchemas([agentCard, analysisState, behavioralEvent, readyReport, shownUsageReport]),
  ...responseSchemas([ringUsageReport, completeGap, completeEvidence, censusReport]),
};
