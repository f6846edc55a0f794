import { DEFAULT_COMPLIANT_EVIDENCE } from '../../core/evidence/evidence.ts';
import type { Grade } from '../../core/shapes/values.ts';
import { DEFAULT_COMPLIANT_GRADE } from '../../core/shapes/grade.ts';
import { ANNOTATIONS, type AnnotationRow } from '../../core/injection/annotations.ts';
import {
  COMPLIANT_EVIDENCE_ANNOTATION,
  COMPLIANT_GRADE_ANNOTATION,
} from '../../core/observation/context-of.ts';
import type { AgentObservation } from '../../core/observation/observation.ts';
import type { ObservationSpec } from '../../core/shapes/observation.ts';
import { sameJson } from '../../kube/merge-patch.ts';
import type { ObjectKey } from '../../kube/resources.ts';
import type { OwnerReference, Pod } from '../../kube/types.ts';
import type { WorkloadRef } from './owner-chain.ts';

/** The part of an AgentObservation's metadata and spec that this process applies; other writers own the rest. */
export interface DesiredObservation extends Record<string, unknown> {
  metadata: Required<ObjectKey> & { ownerReferences: OwnerReference[]; annotations?: Record<string, string> };
  spec: ObservationSpec;
}

/** The minimum bars that the installation requires of every agent. */
export interface MinimumBars {
  grade: Grade;
  /** Percent. */
  evidence: number;
}

const BARS = [COMPLIANT_GRADE_ANNOTATION, COMPLIANT_EVIDENCE_ANNOTATION];

/** The lowest bars: no restriction. */
const NO_MINIMUM: MinimumBars = { grade: 'F', evidence: 0 };

export function desiredObservation(
  key: Required<ObjectKey>,
  workload: WorkloadRef,
  { pods, minimum }: { pods: readonly Pod[]; minimum: MinimumBars },
): DesiredObservation {
  const { apiVersion, kind, name, uid } = workload;
  const annotations = barsOf(pods, minimum);
  return {
    metadata: {
      ...key,
      // Neither controller nor blocking: the observation is deleted with its workload and does not block the deletion.
      ownerReferences: [{ apiVersion, kind, name, uid }],
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    },
    spec: { source: 'sidecar', agentRef: { apiVersion, kind, name } },
  };
}

/**
 * The bars of compliance: the strictest valid annotation of all pods, since the pods of a rollout may differ. Annotations
 * of a running pod can be changed, so invalid values are ignored and the minimum applies here too. With a minimum there is
 * always a bar, so editing the observation cannot lower the bar.
 */
function barsOf(pods: readonly Pod[], minimum: MinimumBars): Record<string, string> {
  const grade = gradeOf(valuesIn(pods, ANNOTATIONS.compliantGrade), minimum.grade);
  const evidence = evidenceOf(valuesIn(pods, ANNOTATIONS.compliantEvidence), minimum.evidence);
  return {
    ...(grade === undefined ? {} : { [COMPLIANT_GRADE_ANNOTATION]: grade }),
    ...(evidence === undefined ? {} : { [COMPLIANT_EVIDENCE_ANNOTATION]: String(evidence) }),
  };
}

function valuesIn<T>(pods: readonly Pod[], row: AnnotationRow<T>): T[] {
  return pods.flatMap(({ metadata }) => {
    const found = row.read(metadata.annotations?.[row.name] ?? '');
    return found.ok ? [found.value] : [];
  });
}

function gradeOf(grades: Grade[], minimum: Grade): Grade | undefined {
  const [strictest] = grades.sort();
  return minimum === NO_MINIMUM.grade ? strictest : [strictest ?? DEFAULT_COMPLIANT_GRADE, minimum].sort()[0];
}

function evidenceOf(percents: readonly number[], minimum: number): number | undefined {
  const strictest = percents.length === 0 ? undefined : Math.max(...percents);
  return minimum === NO_MINIMUM.evidence
    ? strictest
    : Math.max(strictest ?? DEFAULT_COMPLIANT_EVIDENCE, minimum);
}

/**
 * Whether an apply would change nothing. A bar that the pods no longer have needs an apply, which removes the value that
 * this process has set and keeps the value of another field manager.
 */
export function isAsDesired(observation: AgentObservation, desired: DesiredObservation): boolean {
  const { ownerReferences = [], annotations = {} } = observation.metadata;
  const plain = ownerReferences.map(({ apiVersion, kind, name, uid }) => ({ apiVersion, kind, name, uid }));
  return (
    sameJson(plain, desired.metadata.ownerReferences) &&
    sameJson(observation.spec.agentRef, desired.spec.agentRef) &&
    BARS.every((name) => annotations[name] === desired.metadata.annotations?.[name])
  );
}

/** The workload in the observation comes first while it has pods; else the workloads are sorted by kind and name. */
export function agentWorkloadFirst(
  workloads: readonly WorkloadRef[],
  observation: AgentObservation | undefined,
): WorkloadRef[] {
  const named = observation?.spec.agentRef;
  const rank = ({ apiVersion, kind, name }: WorkloadRef) =>
    sameJson({ apiVersion, kind, name }, named) ? 0 : 1;
  const text = ({ kind, name, uid }: WorkloadRef) => `${kind}/${name}/${uid}`;
  const distinct = new Map(workloads.map((workload) => [workload.uid, workload]));
  return [...distinct.values()].sort((a, b) => rank(a) - rank(b) || (text(a) < text(b) ? -1 : 1));
}
