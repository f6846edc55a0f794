import { isWeaker, type Grade, type PolicyMode } from '../shapes/values.ts';
import type { ProofWrites } from '../evidence/proof.ts';
import type { AnnotationDefaults } from './annotations.ts';

/** Requests and limits as Kubernetes quantities; `cpuLimit` may be `NO_LIMIT`. */
export interface SidecarResources {
  cpuRequest: string;
  cpuLimit: string;
  memoryRequest: string;
  memoryLimit: string;
}

/** An Open Policy Agent next to each sidecar. */
export interface EngineSettings {
  image: string;
  resources: SidecarResources;
}

/** The LLM analysis of the injected sidecars. */
export interface LlmAnalysisSettings {
  /** The variable of the API key, and the entry of a Secret in the namespace of the pod that contains the key. */
  key: { variable: string; secret: string; entry: string };
  /** The other variables. */
  variables: readonly { name: string; value: string }[];
}

/** The settings of the installation for all pods: the chart's values, with the defaults of annotations, and the current CA. */
export interface InjectionSettings extends AnnotationDefaults {
  image: string;
  imagePullPolicy: 'Always' | 'IfNotPresent' | 'Never';
  /** Images that `platform.io/sidecar-image` may name in addition to `image`. */
  allowedImages: readonly string[];
  /** `none`: injected sidecars evaluate no policy. `EngineSettings`: every pod runs an engine with the rules of its manifest. */
  engine: 'builtin' | 'none' | EngineSettings;
  /** The lowest mode that an annotation may set. */
  minimumMode: PolicyMode;
  /** The lowest grade that the annotation `platform.io/compliant-grade` may set. */
  minimumCompliantGrade: Grade;
  /** The lowest percentage that the annotation `platform.io/compliant-evidence` may set. */
  minimumCompliantEvidence: number;
  heartbeatSeconds: number;
  /** Whether an agent starts if the control plane does not compare its manifest with the organisation's rules in time. */
  organisationOnUnknown: 'start' | 'wait';
  /** null: sidecars send no heartbeats. */
  controlPlaneUrl: string | null;
  /** Where the proofs of injected agents are written: `control-plane` where the installation has an admin key. */
  proofWrites: ProofWrites;
  /** null: the injected sidecars have no LLM analysis. */
  llmAnalysis: LlmAnalysisSettings | null;
  /** Base URL of the collector to which injected sidecars forward OTLP; null: they do not forward. */
  otlpCollector: string | null;
  /** PEM, one or more certificates; null: the sidecar image's default CA certificates. */
  ca: string | null;
  /** The product's version and a hash of the settings above, for `platform.io/injected`. */
  version: string;
  configHash: string;
}

/** The settings for a pod with a stricter minimum, which also applies without an annotation. The hash stays that of the installation. */
export function withMinimumMode(settings: InjectionSettings, minimum: PolicyMode): InjectionSettings {
  const stricter = (mode: PolicyMode): PolicyMode => (isWeaker(mode, minimum) ? minimum : mode);
  const { mode, minimumMode } = settings;
  return { ...settings, mode: stricter(mode), minimumMode: stricter(minimumMode) };
}
