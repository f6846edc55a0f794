import type { AgentObservation } from '../observation/observation.ts';
import type { Fact } from './fact.ts';

/** What any run looks at. */
export interface ClusterFacts {
  /** As the API server says it: `v1.36.4`. */
  version: Fact<string>;
  /** `group/version resource` of each API that is not served. */
  missingApis: Fact<readonly string[]>;
}

/** What matters before an installation. */
export interface InstallFacts extends ClusterFacts {
  release: string;
  namespace: string;
  /** What the caller lacks of an installation's rights. */
  missingPermissions: Fact<readonly string[]>;
  /** Cluster-wide objects of the chart that are there already. */
  existing: Fact<readonly ExistingObject[]>;
}

export interface ExistingObject {
  kind: 'Namespace' | 'CustomResourceDefinition';
  name: string;
  /** As Helm's annotations say it; null: nobody's. */
  owner: { release: string; namespace: string } | null;
}

/** What there is of an installation. */
export interface InstalledFacts extends ClusterFacts {
  at: Date;
  release: ReleaseFacts;
  /** What Helm keeps of the release; null: nothing, it was not installed by Helm. */
  helm: Fact<HelmFacts | null>;
  /** `Kind name` of each object of the release that is not there. */
  missingObjects: Fact<readonly string[]>;
  deployments: Fact<readonly DeploymentFacts[]>;
  definition: Fact<DefinitionFacts | null>;
  /** The MutatingWebhookConfiguration. */
  injector: Fact<InjectorFacts | null>;
  /** Whether the certificate that the injector serves leads to the caBundle; null: there is none yet. */
  trusted: Fact<boolean | null>;
  certificates: Fact<readonly CertificateFacts[]>;
  /** A dry-run pod that opts in. */
  trial: Fact<TrialFacts>;
  /** A dry-run pod whose annotation nobody may let through. */
  wrongTrial: Fact<TrialFacts>;
  guard: Fact<GuardFacts>;
  canary: Fact<CanaryFacts | null>;
  /** Processes that were asked whether they are ready, through the API server. */
  processes: readonly ProcessFacts[];
  lease: Fact<LeaseFacts | null>;
  observations: Fact<readonly AgentObservation[]>;
  workloads: Fact<readonly WorkloadFacts[]>;
  pods: Fact<readonly PodFacts[]>;
}

export interface ReleaseFacts {
  name: string;
  namespace: string;
  /** The chart's version labels: more than one while an upgrade is under way, or when it ended half-way. */
  versions: readonly string[];
}

export interface HelmFacts {
  /** `deployed`, `failed`, `pending-upgrade`, ... */
  status: string;
  /** Whether the release has a guard at all; null: nobody can read what is in it. */
  hasGuard: boolean | null;
  /** The newest revision, where it is not what Helm writes. */
  unreadable: UnreadableRevision | null;
}

export interface UnreadableRevision {
  /** Name of its Secret. */
  secret: string;
  /** Without a word of what is in it. */
  why: string;
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
  /** Namespaces that it is not asked about. */
  excluded: readonly string[];
}

export interface CertificateFacts {
  /** `certificate of the injector`, ... */
  what: string;
  notAfter: Date;
  /** Days before its end at which it should have been renewed long ago. */
  lateDays: number;
}

export type TrialFacts =
  /** With a sidecar, of this version and configuration. */
  | { outcome: 'injected'; version: string; config: string }
  | { outcome: 'admitted' }
  /** `by`: who said no, as far as its words tell. */
  | { outcome: 'refused'; by: 'guard' | 'injector' | 'other'; message: string; noAnswer: boolean };

export interface GuardFacts {
  name: string;
  hasPolicy: boolean;
  /** Actions of each binding. */
  bindings: readonly (readonly string[])[];
}

/** What the operator's canary says of the injection. */
export interface CanaryFacts {
  status: 'True' | 'False' | 'Unknown';
  message: string;
}

export interface ProcessFacts {
  /** `control-plane`, `operator`. */
  part: string;
  answer: Fact<{ ok: boolean; text: string }>;
}

export interface LeaseFacts {
  holder: string;
  /** Renewed in time, or while it was looked at. */
  fresh: boolean;
}

/** A workload whose pods opt in. */
export interface WorkloadFacts {
  kind: string;
  namespace: string;
  name: string;
  /** Why its controller could not make pods, in the API server's words. */
  refused: string | null;
  /** Null: its name or annotations say none. */
  manifest: ManifestFacts | null;
}

export interface ManifestFacts {
  configMap: string;
  text: Fact<ManifestText>;
}

/** `absent`: the ConfigMap. */
export type ManifestText = { state: 'there'; text: string } | { state: 'no-key' | 'absent' };

export interface PodFacts {
  namespace: string;
  name: string;
  /** `Deployment chat`, for the command that replaces it; null: a pod of its own. */
  owner: { kind: string; name: string } | null;
  /** Of the release itself, and no agent's. */
  isOwn: boolean;
  optedIn: boolean;
  hasSidecar: boolean;
  /** Version and configuration hash of the injection. */
  injected: { version: string; config: string } | null;
  /** Containers that cannot start: `ImagePullBackOff`, ... */
  waiting: readonly { container: string; reason: string; message: string }[];
}
