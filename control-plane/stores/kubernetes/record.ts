import { gradeOf } from '../../../core/shapes/grade.ts';
import { healthStatusOf } from '../../../core/health/summarize.ts';
import type { AgentObservation } from '../../../core/observation/observation.ts';
import type { InstanceStatus } from '../../../core/shapes/instance.ts';
import type { ObservationStatus } from '../../../core/shapes/observation.ts';
import { healthOf } from '../../../core/observation/phase.ts';
import { RUNTIMES } from '../../../core/shapes/values.ts';
import { keepObservation } from '../../../kube/kept-metadata.ts';
import type { AgentRecord, InstanceReport } from '../store.ts';

/** The agent of an observation. `status` includes pending heartbeats, so it can be newer than the object's status. */
export function recordOf(observation: AgentObservation, status: ObservationStatus): AgentRecord {
  const { metadata, spec } = observation;
  return {
    namespace: metadata.namespace,
    name: metadata.name,
    agentId: agentIdOf(observation),
    runtime:
      RUNTIMES.find((runtime) => runtime === status.runtime) ?? (isRemote(observation) ? 'other' : 'k8s'),
    source: spec.source,
    heartbeatSeconds: spec.heartbeatSeconds ?? null,
    status,
  };
}

interface ManagedFields {
  managedFields?: { fieldsV1?: { 'f:spec'?: object } }[];
}

/** The default interval in the CRD of 0.1.0. */
const DEFAULTED_SECONDS = 30;

/**
 * Reduces an observation to what this process reads. The managed fields show whether the interval was set
 * or defaulted by the CRD of 0.1.0: a defaulted field has no manager. A defaulted interval is removed.
 */
export function keptOf(observation: AgentObservation): AgentObservation {
  const { managedFields } = observation.metadata as ManagedFields;
  const { heartbeatSeconds, ...spec } = observation.spec;
  const isDefaulted =
    heartbeatSeconds === DEFAULTED_SECONDS &&
    managedFields !== undefined &&
    !managedFields.some(({ fieldsV1 }) => Object.hasOwn(fieldsV1?.['f:spec'] ?? {}, 'f:heartbeatSeconds'));
  return { ...keepObservation(observation), spec: isDefaulted ? spec : observation.spec };
}

/** Derived from the object's UID, which stays the same for the lifetime of the registration. */
export function agentIdOf(observation: AgentObservation): string {
  return observation.status?.agentId ?? `agt_${(observation.metadata.uid ?? '').replaceAll('-', '')}`;
}

const isRemote = (observation: AgentObservation): boolean => observation.spec.source === 'remote';

/** The last report of an instance, from the status: complete for the `reportedBy` instance, a summary for the others. */
export function reportOf(
  name: string,
  status: ObservationStatus,
  instance: string | null,
): InstanceReport | null {
  const { reportedBy, lastChecked } = status;
  if (reportedBy === undefined || lastChecked === undefined) return null;
  const wanted = instance ?? reportedBy;
  const row = status.instances?.find((each) => each.name === wanted);
  if (wanted !== reportedBy && row === undefined) return null;
  const { issues = [], checks = [], issuesTotal = 0 } = status;
  const shown = wanted === reportedBy ? status : null;
  // A deleted pod has no row, but the status still contains its last report.
  const score = row?.score ?? status.score ?? 0;
  const receivedAt = row?.lastHeartbeat ?? lastChecked;
  return {
    instance: wanted,
    receivedAt,
    gap: {
      score,
      grade: gradeOf(score),
      source: shown?.source ?? null,
      issues: shown && issues,
      ...(shown && issuesTotal > issues.length ? { issuesTotal } : {}),
    },
    health: {
      agentName: name,
      timestamp: receivedAt,
      status: healthOf(row?.phase) ?? (shown && healthStatusOf(checks)),
      summary: shown?.summary ?? null,
      checks: shown && checks,
    },
    usage: shown?.usage ?? null,
    evidence: evidenceOf(row, shown),
    audit: auditOf(row, shown),
    // The lists are not part of a status.
    egress: shown?.egress ?? null,
  };
}

type Details = Pick<ObservationStatus, 'evidence' | 'audit'> | null;

/** The totals from the instance's row, and the items if the status contains the items of this instance. */
function evidenceOf(row: InstanceStatus | undefined, shown: Details): InstanceReport['evidence'] {
  if (row?.evidence === undefined) return null;
  const { notShown: _, ...sums } = row.evidence;
  return { ...sums, items: shown?.evidence?.items ?? null };
}

function auditOf(row: InstanceStatus | undefined, shown: Details): InstanceReport['audit'] {
  if (row?.audit === undefined) return null;
  const { failed = null, suppressions = null } = shown?.audit ?? {};
  return { ...row.audit, failed, suppressions };
}
