import type { PolicyMode } from '../heartbeat/heartbeat.ts';

/** Requests and limits as Kubernetes quantities. */
export interface SidecarResources {
  cpuRequest: string;
  cpuLimit: string;
  memoryRequest: string;
  memoryLimit: string;
}

export type LogLevel = 'error' | 'warn' | 'info' | 'debug';

/** What the installation decides for every pod: the chart's values and the certificate authority of the moment. */
export interface InjectionSettings {
  image: string;
  imagePullPolicy: 'Always' | 'IfNotPresent' | 'Never';
  /** Images that `platform.io/sidecar-image` may name besides `image`. */
  allowedImages: readonly string[];
  resources: SidecarResources;
  logLevel: LogLevel;
  /** `none`: injected sidecars evaluate nothing. */
  engine: 'builtin' | 'none';
  mode: PolicyMode;
  /** The floor under which no annotation can bring the mode. */
  minimumMode: PolicyMode;
  heartbeatSeconds: number;
  controlPlaneUrl: string;
  /** PEM, one or more certificates. */
  ca: string;
  /** The product's version and a hash of the settings above, for `platform.io/injected`. */
  version: string;
  configHash: string;
}
