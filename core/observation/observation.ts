import type { ObservationSpec, ObservationStatus } from '../shapes/observation.ts';

/** The metadata of a Kubernetes object, as far as this product reads it. */
export interface ObjectMeta {
  name: string;
  /** Absent on cluster-scoped objects. */
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
}

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface AgentObservation {
  apiVersion: 'platform.io/v1';
  kind: 'AgentObservation';
  metadata: ObjectMeta & { namespace: string };
  spec: ObservationSpec;
  status?: ObservationStatus;
}
