import { declaredVariables, secretVariables } from '../../core/facts/declared.ts';
import { CONTROL_PORT, PROXY_PORT } from '../../core/egress/ports.ts';
import { type Manifest, DEFAULT_PATHS } from '../../core/manifest/manifest.ts';
import { referenceOf } from '../../core/manifest/references.ts';

/** The values of one agent's deployment files. */
export interface DeployPlan {
  agentName: string;
  version: string;
  description: string;
  model: { provider: string; id: string };
  /** Port of the agent's own server. */
  port: number;
  healthPath: string;
  memoryMebibytes: number;
  /** The variables that the agent reads from its Secret. */
  variables: readonly SecretVariable[];
  manifestText: string;
  sidecarImage: string;
  /** Absent: a placeholder. */
  agentImage?: string;
  /** The sidecar reads the URL and the key of a control plane from a Secret. */
  sendsHeartbeats: boolean;
}

interface SecretVariable {
  name: string;
  /** The first manifest path that declares it. */
  path: string;
}

export type PlannedDeployment = { ok: true; plan: DeployPlan } | { ok: false; reason: string };

const DEFAULT_PORT = 8000;
const DEFAULT_MEBIBYTES = 256;

/** Derives the values of the deployment files; fails if the agent cannot share a pod with its sidecar. */
export function planDeployment(
  manifest: Manifest,
  given: Pick<DeployPlan, 'manifestText' | 'sidecarImage' | 'agentImage' | 'sendsHeartbeats'>,
): PlannedDeployment {
  const { metadata, spec } = manifest;
  const port = spec.api?.port ?? DEFAULT_PORT;
  if (port === PROXY_PORT || port === CONTROL_PORT)
    return {
      ok: false,
      reason: `spec.api.port: ${port} is reserved for the sidecar (${PROXY_PORT}, ${CONTROL_PORT}); use another port`,
    };
  const plan: DeployPlan = {
    agentName: metadata.name,
    version: metadata.version,
    description: metadata.description,
    model: { provider: spec.model.provider, id: spec.model.id },
    port,
    healthPath: healthPathOf(spec.api?.healthEndpoint),
    memoryMebibytes: spec.requires?.minimumMemoryMB ?? DEFAULT_MEBIBYTES,
    variables: agentVariables(manifest),
    ...given,
  };
  return { ok: true, plan };
}

/** A probe cannot resolve a reference; then the sidecar probes the default path too. */
function healthPathOf(declared: string | undefined): string {
  return declared === undefined || referenceOf(declared) !== null ? DEFAULT_PATHS.health : declared;
}

/** The variables of `$env:` references and of `spec.requires.envVars`, and those of `$secret:` references; each name once. */
function agentVariables(manifest: Manifest): SecretVariable[] {
  const declared = declaredVariables(manifest);
  const secrets = [...secretVariables(manifest)].filter(([name]) => !declared.has(name));
  return [...declared, ...secrets].map(([name, path]) => ({ name, path }));
}

/** Names of the generated objects. */
export interface ObjectNames {
  /** The Deployment and the Service. */
  workload: string;
  config: string;
  manifest: string;
  secrets: string;
  /** The Secret with the URL and the key of a control plane. */
  platform: string;
}

/** A Service name begins with a letter and has at most 63 characters. */
export function objectNameOf(agentName: string): string {
  return /^\d/.test(agentName) ? `agent-${agentName}`.slice(0, 63).replace(/-+$/, '') : agentName;
}

/** The manifest's ConfigMap has the name that the injector expects. */
export function objectNames(base: string): ObjectNames {
  return {
    workload: base,
    config: `${base}-config`,
    manifest: `${base}-manifest`,
    secrets: `${base}-secrets`,
    platform: `${base}-platform`,
  };
}
