import { agentCard } from '../../shapes/agent-card.ts';
import { alignmentReport } from '../../shapes/alignment.ts';
import { analysisState } from '../../shapes/analysis-state.ts';
import { auditEntry, recordedEvents, unmatchedEvents } from '../../shapes/audit-entry.ts';
import { censusReport } from '../../shapes/egress.ts';
import { egressCall, egressUsage } from '../../shapes/egress-call.ts';
import { behavioralEvent } from '../../shapes/events.ts';
import { exploredEndpoint, exploredPart, exploreReport, matrixReport } from '../../shapes/explore.ts';
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
import type { JsonSchema } from '../../untrusted/json-schema.ts';

/** Schemas of the sidecar's responses. */
export const SIDECAR_SCHEMAS: Readonly<Record<string, JsonSchema>> = responseSchemas([
  ...[sidecarReadiness, drain, readyReport, agentCard],
  ...[auditEntry, requestUsage, behavioralEvent, recordedEvents, unmatchedEvents],
  ...[completeGap, completeEvidence, alignmentReport, analysisState],
  ...[exploreReport, exploredPart, exploredEndpoint, matrixReport, censusReport],
  ...[egressCall, egressUsage, shownUsageReport, ringUsageReport],
]);
