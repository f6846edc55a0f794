import type { DriftingPod } from '../../core/injection/drift.ts';
import type { EgressFence } from './egress-fence.ts';
import type { AnnotationMistake } from './annotation-mistakes.ts';
import type { AgentObservation } from '../../core/observation/observation.ts';

/** A gathered value, or the reason why it could not be gathered. An unknown value never passes a check. */
export type Fact<T> = { known: true; value: T } | { known: false; why: string };

export const known = <T>(value: T): Fact<T> => ({ known: true, value });
export const notKnown = (why: string): { known: false; why: string } => ({ known: false, why });

/** Facts for every run. */
export interface ClusterFacts {
  /** As the API server reports it: `v1.36.4`. */
  version: Fact<string>;
  /** `group/version resource` of each API that is not served. */
  missingApis: Fact<readonly string[]>;
}

/** Facts for the checks before an installation. */
export interface InstallFacts extends ClusterFacts {
  release: string;
  namespace: string;
  /** Permissions for an installation that the caller lacks. */
  missingPermissions: Fact<readonly string[]>;
  /** Cluster-wide objects of the chart that already exist. */
  existing: Fact<readonly ExistingObject[]>;
}

export interface ExistingObject {
  /** `Namespace` or `CustomResourceDefinition`. */
  kind: string;
  name: string;
  /** From Helm's annotations; null: not owned by a release. */
  owner: { release: string; namespace: string } | null;
}

/** Facts about an existing installation. */
export interface InstalledFacts extends ClusterFacts {
  at: Date;
  release: ReleaseFacts;
  /** Helm's record of the release; null: the release was not installed by Helm. */
  helm: Fact<HelmFacts | null>;
  /** `Kind name` of each object of the release that does not exist. */
  missingObjects: Fact<readonly string[]>;
  deployments: Fact<readonly DeploymentFacts[]>;
  definition: Fact<DefinitionFacts | null>;
  /** The MutatingWebhookConfiguration. */
  injector: Fact<InjectorFacts | null>;
  /** Whether the injector's certificate is signed by a CA in the caBundle; null: the injector has no certificate yet. */
  trusted: Fact<boolean | null>;
  certificates: Fact<readonly CertificateFacts[]>;
  /** Result of a dry-run pod that opts in. */
  trial: Fact<TrialFacts>;
  /** Result of a dry-run pod with an invalid annotation, which must be rejected. */
  wrongTrial: Fact<TrialFacts>;
  guard: Fact<GuardFacts>;
  canary: Fact<CanaryFacts | null>;
  /** Processes whose readiness was requested through the API server. */
  processes: readonly ProcessFacts[];
  lease: Fact<LeaseFacts | null>;
  observations: Fact<readonly AgentObservation[]>;
  workloads: Fact<readonly WorkloadFacts[]>;
  mistakes: Fact<readonly AnnotationMistake[]>;
  pods: Fact<readonly PodFacts[]>;
  /** The network policies that limit outgoing connections, of every namespace. */
  fences: Fact<readonly EgressFence[]>;
}

export interface ReleaseFacts {
  name: string;
  namespace: string;
  /** The chart's version labels; more than one during an upgrade or after an incomplete upgrade. */
  versions: readonly string[];
}

/** The newest revision of the release. */
export interface HelmFacts {
  /** `deployed`, `failed`, `pending-upgrade`, ... */
  status: string;
  /** Name of its Secret. */
  secret: string;
  /** `why` it is not a valid Helm record; without any content of the Secret, which contains the chart's values. */
  content: { ok: true; objects: readonly HelmObject[] } | { ok: false; why: string };
}

/** An object in a Helm manifest. */
export interface HelmObject {
  apiVersion: string;
  kind: string;
  name: string;
  /** Absent if the manifest sets no namespace. */
  namespace?: string;
}

export interface DeploymentFacts {
  name: string;
  wanted: number;
  available: number;
}

export interface DefinitionFacts {
  established: boolean;
  /** Versions that are served. */
  served: readonly string[];
}

export interface InjectorFacts {
  name: string;
  hasCa: boolean;
  /** Namespaces for which the API server does not call the injector. */
  excluded: readonly string[];
}

export interface CertificateFacts {
  /** `certificate of the injector`, ... */
  what: string;
  notAfter: Date;
  /** Days before expiry by which the certificate should have been renewed. */
  lateDays: number;
}

export type TrialFacts =
  /** With a sidecar, of this version and configuration. */
  | { outcome: 'injected'; version: string; config: string }
  | { outcome: 'admitted' }
  /** `by`: the component that rejected the pod, derived from the message. */
  | { outcome: 'refused'; by: 'guard' | 'injector' | 'other'; message: string; noResponse: boolean };

export interface GuardFacts {
  name: string;
  hasPolicy: boolean;
  /** Actions of each binding. */
  bindings: readonly (readonly string[])[];
}

/** The result of the operator's canary. */
export interface CanaryFacts {
  status: 'True' | 'False' | 'Unknown';
  message: string;
}

export interface ProcessFacts {
  /** `control-plane`, `operator`. */
  part: string;
  ready: Fact<{ ok: boolean; text: string }>;
}

export interface LeaseFacts {
  holder: string;
  /** Renewed in time, or during the check. */
  fresh: boolean;
}

/** A workload whose pods opt in, or a pod without one. A workload that has ended, such as a complete Job, is none. */
export interface WorkloadFacts {
  kind: string;
  namespace: string;
  name: string;
  /** null: it cannot be derived. */
  agentName: string | null;
  /** The API server's message why the last pod could not be created; null: it was created. */
  refused: Fact<string | null>;
  /** null: its name or annotations are invalid. */
  manifest: ManifestFacts | null;
}

export interface ManifestFacts {
  configMap: string;
  text: Fact<ManifestText>;
}

/** `absent`: the ConfigMap does not exist. `no-key`: it has no key `agent.yaml`. `not-text`: the value is not UTF-8 text. */
export type ManifestText =
  | {
      state: 'there';
      /** The member of the ConfigMap that has the key. */
      member: 'data' | 'binaryData';
      text: string;
      /** As the sidecar reports it in `manifestHash`. */
      hash: string;
      /** The last change of the ConfigMap. */
      changedAt: Date;
    }
  | { state: 'no-key' | 'absent' | 'not-text' };

export interface PodFacts extends DriftingPod {
  namespace: string;
  name: string;
  /** `Deployment chat`, for the command that replaces the pod; null: a pod without an owner. */
  owner: { kind: string; name: string } | null;
  /** The pod belongs to the release itself, not to an agent. */
  isOwn: boolean;
  labels: Readonly<Record<string, string>>;
  /** The pod has lanes, or the CONNECT lane. */
  hasEgressLane: boolean;
  /** Containers that cannot start: `ImagePullBackOff`, ... */
  waiting: readonly { container: string; reason: string; message: string }[];
  /** Injected containers that do not run because they ended with an error, with the end of their last output. */
  failed: readonly { container: string; exitCode: number; message: string }[];
}
