import {
  known,
  type HelmFacts,
  type InstalledFacts,
  type InstallFacts,
  type ManifestText,
  type PodFacts,
  type WorkloadFacts,
} from '../../authoring/diagnosis/facts.ts';
import type { AgentObservation } from '../../core/observation/observation.ts';
import type { ConditionType } from '../../core/shapes/condition.ts';
import { manifestText } from '../manifests/manifest-text.ts';

const CLUSTER = { version: known('v1.36.4'), missingApis: known([]) };

/** A cluster in which the product can be installed, with overrides. */
export function installFacts(change: Partial<InstallFacts> = {}): InstallFacts {
  return {
    ...CLUSTER,
    release: 'agent-compliance',
    namespace: 'platform-system',
    missingPermissions: known([]),
    existing: known([]),
    ...change,
  };
}

/** A healthy installation with one healthy agent, with overrides. */
export function installedFacts(change: Partial<InstalledFacts> = {}): InstalledFacts {
  return {
    ...CLUSTER,
    at: new Date('2026-02-01T00:00:00Z'),
    release: { name: 'agent-compliance', namespace: 'platform-system', versions: ['1.0'] },
    helm: known(helmFacts()),
    missingObjects: known([]),
    deployments: known([{ name: 'agent-compliance-webhook', wanted: 2, available: 2 }]),
    definition: known({ established: true, served: ['v1'] }),
    injector: known({ name: 'agent-compliance', hasCa: true, excluded: ['kube-system'] }),
    trusted: known(true),
    certificates: known([]),
    trial: known({ outcome: 'injected', version: '1.0', config: 'c' }),
    wrongTrial: known({ outcome: 'refused', by: 'injector', message: 'no', noResponse: false }),
    guard: known({ name: 'agent-compliance-guard', hasPolicy: true, bindings: [['Deny']] }),
    canary: known({ status: 'True', message: 'as expected' }),
    processes: [{ part: 'operator', ready: known({ ok: true, text: '' }) }],
    lease: known({ holder: 'operator-1', fresh: true }),
    observations: known([observation('Routed', 'True', 'ThroughSidecar', '')]),
    workloads: known([workload()]),
    mistakes: known([]),
    pods: known([pod()]),
    fences: known([]),
    ...change,
  };
}

const GUARD = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingAdmissionPolicy',
  name: 'agent-compliance-guard',
};

export function helmFacts(change: Partial<HelmFacts> = {}): HelmFacts {
  return {
    status: 'deployed',
    secret: 'sh.helm.release.v1.r.v2',
    content: { ok: true, objects: [GUARD] },
    ...change,
  };
}

export function observation(
  type: ConditionType,
  status: 'True' | 'False' | 'Unknown',
  reason: string,
  message: string,
): AgentObservation {
  return {
    apiVersion: 'platform.io/v1',
    kind: 'AgentObservation',
    metadata: { namespace: 'team', name: 'chat' },
    spec: { source: 'sidecar' },
    status: {
      phase: 'Healthy',
      conditions: [{ type, status, reason, message, lastTransitionTime: '2026-01-01T00:00:00Z' }],
    },
  };
}

export function workload(change: Partial<WorkloadFacts> = {}): WorkloadFacts {
  return {
    kind: 'Deployment',
    namespace: 'team',
    name: 'chat',
    agentName: 'chat',
    refused: known(null),
    manifest: { configMap: 'chat-manifest', text: known(manifestThere()) },
    ...change,
  };
}

/** The content of a ConfigMap that has not changed for a month. */
export function manifestThere(
  text: string = manifestText(),
  change: Partial<ManifestThere> = {},
): ManifestThere {
  const changedAt = new Date('2026-01-01T00:00:00Z');
  return {
    state: 'there',
    member: 'data',
    text,
    hash: 'a'.repeat(64),
    changedAt,
    ...change,
  };
}

type ManifestThere = ManifestText & { state: 'there' };

export function pod(change: Partial<PodFacts> = {}): PodFacts {
  return {
    namespace: 'team',
    name: 'chat-1',
    owner: { kind: 'Deployment', name: 'chat' },
    isOwn: false,
    optedIn: true,
    hasSidecar: true,
    injected: { version: '1.0', config: 'c' },
    labels: { app: 'chat' },
    hasEgressLane: false,
    waiting: [],
    failed: [],
    ...change,
  };
}
