import type { Grade } from '../gap/gap.ts';
import type { PolicyMode } from '../heartbeat/heartbeat.ts';
import type { ProofWrites } from '../proof/proof.ts';

/** Requests and limits as Kubernetes quantities. */
export interface SidecarResources {
  cpuRequest: string;
  cpuLimit: string;
  memoryRequest: string;
  memoryLimit: string;
}

export type LogLevel = 'error' | 'warn' | 'info' | 'debug';

/** An Open Policy Agent beside each sidecar. */
export interface EngineSettings {
  image: string;
  resources: SidecarResources;
}

/** What the installation decides for every pod: the chart's values and the certificate authority of the moment. */
export interface InjectionSettings {
  image: string;
  imagePullPolicy: 'Always' | 'IfNotPresent' | 'Never';
  /** Images that `platform.io/sidecar-image` may name besides `image`. */
  allowedImages: readonly string[];
  resources: SidecarResources;
  logLevel: LogLevel;
  /** `none`: injected sidecars evaluate nothing. Settings of an engine: it runs in every pod, on the manifest's rules. */
  engine: 'builtin' | 'none' | EngineSettings;
  mode: PolicyMode;
  /** The floor under which no annotation can bring the mode. */
  minimumMode: PolicyMode;
  /** The lowest grade that the annotation `platform.io/compliant-grade` may name. */
  minimumCompliantGrade: Grade;
  /** The least percentage that the annotation `platform.io/compliant-evidence` may name. */
  minimumCompliantEvidence: number;
  heartbeatSeconds: number;
  /** null: sidecars send no heartbeats. */
  controlPlaneUrl: string | null;
  /** Where the proofs of injected agents are written: `control-plane` where the installation has an admin key. */
  proofWrites: ProofWrites;
  /** PEM, one or more certificates; null: those that the sidecar image knows. */
  ca: string | null;
  /** The product's version and a hash of the settings above, for `platform.io/injected`. */
  version: string;
  configHash: string;
}
