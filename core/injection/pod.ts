/**
 * The parts of a Kubernetes Pod that injection reads or writes. All types are open, because injection must keep every
 * other field unchanged, including fields of newer Kubernetes versions.
 */
export interface Pod {
  apiVersion?: string;
  kind?: string;
  metadata?: PodMetadata;
  spec: PodSpec;
  [field: string]: unknown;
}

export interface PodMetadata {
  name?: string;
  generateName?: string;
  namespace?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  [field: string]: unknown;
}

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  [field: string]: unknown;
}

export interface PodSpec {
  containers: Container[];
  initContainers?: Container[];
  volumes?: Volume[];
  hostNetwork?: boolean;
  os?: { name?: string };
  nodeSelector?: Record<string, string>;
  [field: string]: unknown;
}

export interface Volume {
  name: string;
  [field: string]: unknown;
}

export interface Container {
  name: string;
  image?: string;
  restartPolicy?: string;
  ports?: ContainerPort[];
  env?: EnvVariable[];
  envFrom?: unknown[];
  volumeMounts?: { name: string; [field: string]: unknown }[];
  livenessProbe?: Handler;
  readinessProbe?: Handler;
  startupProbe?: Handler;
  resources?: { requests?: Quantities; limits?: Quantities; [field: string]: unknown };
  lifecycle?: { postStart?: Handler; preStop?: Handler; [field: string]: unknown };
  [field: string]: unknown;
}

/** Kubernetes quantities by resource name. */
export type Quantities = Record<string, string | number>;

export interface ContainerPort {
  name?: string;
  containerPort: number;
  protocol?: string;
  [field: string]: unknown;
}

export interface EnvVariable {
  name: string;
  value?: string;
  valueFrom?: unknown;
  [field: string]: unknown;
}

/** A probe or a lifecycle handler: `port` is a number, or the name of one of the container's own ports. */
export interface Handler {
  httpGet?: PortTarget;
  tcpSocket?: PortTarget;
  [field: string]: unknown;
}

export interface PortTarget {
  port: number | string;
  [field: string]: unknown;
}
