import { gradeOf } from '../../../core/gap/grade.ts';
import type { HealthStatus } from '../../../core/health/health.ts';
import { healthStatusOf } from '../../../core/health/summarize.ts';
import type {
  AgentObservation,
  InstanceStatus,
  ObservationStatus,
  Phase,
} from '../../../core/observation/observation.ts';
import { RUNTIMES } from '../../../core/observation/runtimes.ts';
import type { AgentRecord, InstanceReport } from '../store.ts';

/** The agent that an observation speaks of; `status`: as this process knows it, which may be ahead of the object. */
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

/** What the resource definition of 0.1.0 filled in where nobody had set an interval. */
const FILLED_IN_SECONDS = 30;

/**
 * An observation as this process keeps it: without managed fields, a third of its size. They tell an interval that
 * somebody set from one that the definition of 0.1.0 filled in: that one is nobody's field.
 */
export function keptOf(observation: AgentObservation): AgentObservation {
  const { managedFields, ...metadata } = observation.metadata as AgentObservation['metadata'] & ManagedFields;
  const { heartbeatSeconds, ...spec } = observation.spec;
  const isFilledIn =
    heartbeatSeconds === FILLED_IN_SECONDS &&
    managedFields !== undefined &&
    !managedFields.some(({ fieldsV1 }) => Object.hasOwn(fieldsV1?.['f:spec'] ?? {}, 'f:heartbeatSeconds'));
  return { ...observation, metadata, spec: isFilledIn ? spec : observation.spec };
}

/** From the object's uid, which lives exactly as long as the agent's registration. */
export function agentIdOf(observation: AgentObservation): string {
  return observation.status?.agentId ?? `agt_${(observation.metadata.uid ?? '').replaceAll('-', '')}`;
}

const isRemote = (observation: AgentObservation): boolean => observation.spec.source === 'remote';

/** What the status keeps of an instance's last report: all of the one that speaks for the agent, a summary of others. */
export function reportOf(
  name: string,
  status: ObservationStatus,
  instance: string | null,
): InstanceReport | null {
  const speaker = status.reportedBy;
  if (speaker === undefined || status.lastChecked === undefined) return null;
  const wanted = instance ?? speaker;
  const row = status.instances?.find((each) => each.name === wanted);
  if (wanted !== speaker && row === undefined) return null;
  const isSpeaker = wanted === speaker;
  const checks = status.checks ?? [];
  // A pod that is gone has no row any more; the status still shows what it last said.
  const score = row?.score ?? status.score ?? 0;
  const receivedAt = row?.lastHeartbeat ?? status.lastChecked;
  return {
    instance: wanted,
    receivedAt,
    gap: {
      score,
      grade: gradeOf(score),
      source: isSpeaker ? (status.source ?? null) : null,
      issues: isSpeaker ? (status.issues ?? []) : null,
      ...(isSpeaker && isCut(status) ? { issuesTotal: status.issuesTotal } : {}),
    },
    health: {
      agentName: name,
      timestamp: receivedAt,
      status: healthOf(row?.phase) ?? (isSpeaker ? healthStatusOf(checks) : null),
      summary: isSpeaker ? (status.summary ?? null) : null,
      checks: isSpeaker ? checks : null,
    },
    usage: isSpeaker ? (status.usage ?? null) : null,
    evidence: evidenceOf(row, isSpeaker ? status : {}),
    audit: auditOf(row, isSpeaker ? status : {}),
  };
}

type Shown = Pick<ObservationStatus, 'evidence' | 'audit'>;

/** The sums of the instance's own row; the items where the status has those of this instance. */
function evidenceOf(row: InstanceStatus | undefined, { evidence }: Shown): InstanceReport['evidence'] {
  if (row?.evidence === undefined) return null;
  const { notShown: _, ...sums } = row.evidence;
  return { ...sums, items: evidence?.items ?? null };
}

function auditOf(row: InstanceStatus | undefined, { audit }: Shown): InstanceReport['audit'] {
  if (row?.audit === undefined) return null;
  return { ...row.audit, failed: audit?.failed ?? null, suppressions: audit?.suppressions ?? null };
}

function isCut(status: ObservationStatus): status is ObservationStatus & { issuesTotal: number } {
  return status.issuesTotal !== undefined && status.issuesTotal > (status.issues ?? []).length;
}

/** The health status that an instance's phase was made from; null: it is silent, and the row says only that. */
function healthOf(phase: Phase | undefined): HealthStatus | null {
  switch (phase) {
    case 'Healthy':
      return 'healthy';
    case 'Degraded':
      return 'degraded';
    case 'Unhealthy':
      return 'unhealthy';
    case 'Pending':
    case 'Unknown':
    case undefined:
      return null;
  }
}
