import type { ObjectMeta, OwnerReference } from '../core/observation/observation.ts';

export type { ObjectMeta, OwnerReference };

/** The fields of Kubernetes objects that this product reads. Objects may have other fields. */
export interface KubeObject {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
}

export interface ContainerPort {
  name?: string;
  containerPort: number;
  protocol?: string;
}

export interface Container {
  name: string;
  image?: string;
  restartPolicy?: string;
  ports?: ContainerPort[];
  env?: { name: string; value?: string }[];
  volumeMounts?: { name: string }[];
}

interface Volume {
  name: string;
  projected?: { sources?: { serviceAccountToken?: { audience?: string } }[] };
}

export interface PodContainers {
  containers: Container[];
  initContainers?: Container[];
  volumes?: Volume[];
}

export interface Pod extends KubeObject {
  spec?: PodContainers;
  status?: {
    phase?: string;
    initContainerStatuses?: ContainerStatus[];
    containerStatuses?: ContainerStatus[];
  };
}

export interface ContainerStatus {
  name: string;
  /** The startup probe has passed. */
  started?: boolean;
  state?: ContainerState;
  /** The state of the previous run. */
  lastState?: ContainerState;
}

interface ContainerState {
  running?: object;
  waiting?: { reason?: string; message?: string };
  terminated?: { exitCode: number; reason?: string; message?: string };
}

/** Owners, size and pods of a Deployment, ReplicaSet, StatefulSet, DaemonSet, Job or CronJob. */
export interface Workload extends KubeObject {
  spec?: {
    replicas?: number;
    suspend?: boolean;
    /** Of a Job. */
    parallelism?: number;
    completions?: number;
    template?: PodTemplate;
    /** Of a CronJob. */
    jobTemplate?: { spec?: { template?: PodTemplate } };
  };
  status?: {
    /** Existing pods. */
    replicas?: number;
    /** Of a DaemonSet. */
    desiredNumberScheduled?: number;
    currentNumberScheduled?: number;
    /** Of a Deployment. */
    availableReplicas?: number;
    /** Of a Job. */
    active?: number;
    succeeded?: number;
    conditions?: { type: string; status: string; message?: string }[];
  };
}

export interface PodTemplate {
  metadata?: { labels?: Record<string, string>; annotations?: Record<string, string> };
  spec?: PodContainers;
}

export interface ServicePort {
  name?: string;
  port: number;
  protocol?: string;
  targetPort?: number | string;
}

export interface Service extends KubeObject {
  spec?: { type?: string; selector?: Record<string, string>; ports?: ServicePort[] };
}

export interface Lease extends KubeObject {
  spec?: LeaseSpec;
}

export interface LeaseSpec {
  holderIdentity?: string;
  leaseDurationSeconds?: number;
  /** MicroTime */
  acquireTime?: string;
  /** MicroTime */
  renewTime?: string;
  leaseTransitions?: number;
}

/** The target of an Event or of an owner reference. */
export interface ObjectReference {
  apiVersion: string;
  kind: string;
  name: string;
  namespace?: string;
  uid?: string;
}

/** The entries of a Secret (base64) or a ConfigMap (text). */
export interface Data extends KubeObject {
  data?: Record<string, string>;
}

export interface WebhookConfiguration extends KubeObject {
  webhooks?: {
    name: string;
    clientConfig: { caBundle?: string; service?: { namespace: string } };
    namespaceSelector?: { matchExpressions?: { key: string; operator: string; values?: string[] }[] };
  }[];
}

/** A rule of a ClusterRole or Role. */
export interface PermissionRule {
  apiGroups: readonly string[];
  resources: readonly string[];
  verbs: readonly string[];
  resourceNames?: readonly string[];
}
