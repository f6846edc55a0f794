import { agentCard } from '../../shapes/agent-card.ts';
import { alignmentReport } from '../../shapes/alignment.ts';
import { analysisState } from '../../shapes/analysis-state.ts';
import { auditEntry, recordedEvents, unmatchedEvents } from '../../shapes/audit-entry.ts';
import { suppression } from '../../shapes/audit.ts';
import { censusReport, matrixRow, notRewritten, unseenEgress } from '../../shapes/egress.ts';
import { egressCall, egressUsage } from '../../shapes/egress-call.ts';
import { behavioralEvent } from '../../shapes/events.ts';
import { evidenceItem } from '../../shapes/evidence.ts';
import { exploredEndpoint, exploredPart, exploreReport, matrixReport } from '../../shapes/explore.ts';
import { issue } from '../../shapes/gap.ts';
import { identity } from '../../shapes/identity.ts';
import { actor } from '../../shapes/actor.ts';
import { check, healthSummary } from '../../shapes/health.ts';
import { organisationFinding } from '../../shapes/organisation.ts';
import { proofRecord } from '../../shapes/proof.ts';
import { drain, sidecarReadiness } from '../../shapes/readiness.ts';
import { requestUsage } from '../../shapes/request-usage.ts';
import { responseSchemas } from '../../shapes/response.ts';
import {
  completeEvidence,
  completeGap,
  readyReport,
  ringUsageReport,
  shownUsageReport,
} from '../../shapes/sidecar-reports.ts';
import { modelUsage } from '../../shapes/usage.ts';
import type { JsonSchema } from '../../untrusted/json-schema.ts';

/** Schemas of the sidecar's responses. The control plane returns some of them too. */
export const SIDECAR_SCHEMAS: Readonly<Record<string, JsonSchema>> = responseSchemas([
  ...[sidecarReadiness, drain, organisationFinding, readyReport, check, healthSummary, agentCard],
  ...[auditEntry, identity, requestUsage, behavioralEvent, recordedEvents, unmatchedEvents],
  ...[completeGap, issue, completeEvidence, evidenceItem, proofRecord, actor, suppression],
  ...[alignmentReport, analysisState],
  ...[exploreReport, exploredPart, exploredEndpoint, matrixReport, matrixRow],
  ...[censusReport, unseenEgress, notRewritten],
  ...[egressCall, egressUsage, shownUsageReport, ringUsageReport, modelUsage],
]);
