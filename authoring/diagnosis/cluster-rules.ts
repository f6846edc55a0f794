import type { ClusterFacts, ExistingObject, InstallFacts } from './facts.ts';
import { judging, type CheckRule, type Problem } from './rule.ts';

/** Same as the chart's kubeVersion: required for native sidecars and for their port names in EndpointSlices. */
const LEAST_MINOR = 33;

/** Requirements for every cluster. */
export const CLUSTER_RULES: readonly CheckRule<ClusterFacts>[] = [
  {
    code: 'kubernetes-version',
    severity: 'error',
    when: `the API server is older than 1.${LEAST_MINOR}, or its version is not recognised`,
    remediation: `Upgrade the cluster to 1.${LEAST_MINOR} or later: older versions support native sidecars only in part.`,
    evaluate: judging('version', versionProblem),
  },
  {
    code: 'kubernetes-api',
    severity: 'error',
    when: 'an API that the product uses is not served, such as ValidatingAdmissionPolicies',
    remediation: 'Enable the API in the flag `--runtime-config` of the API server.',
    evaluate: judging('missingApis', (missing) =>
      missing.map((api) => ({
        subject: 'API server',
        message: `the API server does not serve ${api}`,
        hint: 'check --runtime-config of the API server',
      })),
    ),
  },
];

/** Further requirements for an installation. */
export const INSTALL_RULES: readonly CheckRule<InstallFacts>[] = [
  {
    code: 'rights-install',
    severity: 'error',
    when: 'the caller lacks a permission that `helm install` needs, including the permissions that the chart grants in roles',
    remediation: 'Install as a cluster administrator, or ask an administrator for the listed permissions.',
    evaluate: judging('missingPermissions', (missing) =>
      missing.map((permission) => ({
        subject: 'caller',
        message: `missing permission: ${permission}`,
        hint: 'install as a cluster administrator, or ask an administrator for this permission',
      })),
    ),
  },
  {
    code: 'name-taken',
    severity: 'error',
    when: 'a namespace of the chart or the CustomResourceDefinition already exists and does not belong to this release; Helm then refuses to install',
    remediation:
      'For a namespace: set `canary.createNamespace` or `remote.createNamespace` to false, or choose another namespace. For the CustomResourceDefinition: transfer it to this release with the commands in the hint.',
    evaluate: judging('existing', (existing, facts) =>
      existing.filter((object) => !isOf(object, facts)).map((object) => nameConflict(object, facts)),
    ),
  },
];

function versionProblem(version: string): Problem | null {
  const minor = minorOf(version);
  if (minor !== null && minor >= LEAST_MINOR) return null;
  const what = minor === null ? 'is not a recognised version' : `is older than 1.${LEAST_MINOR}`;
  return {
    subject: 'API server',
    message: `Kubernetes ${version} ${what}`,
    hint: `upgrade the cluster to 1.${LEAST_MINOR} or later`,
  };
}

function isOf({ owner }: ExistingObject, { release, namespace }: InstallFacts): boolean {
  return owner?.release === release && owner.namespace === namespace;
}

function nameConflict({ kind, name, owner }: ExistingObject, { release, namespace }: InstallFacts): Problem {
  const ownership =
    owner === null ? 'belongs to no release' : `belongs to release ${owner.release} in ${owner.namespace}`;
  const adopt = [
    `kubectl annotate crd ${name} --overwrite meta.helm.sh/release-name=${release} meta.helm.sh/release-namespace=${namespace}`,
    `kubectl label crd ${name} --overwrite app.kubernetes.io/managed-by=Helm`,
  ].join(' && ');
  return {
    subject: `${kind} ${name}`,
    message: `${kind} ${name} already exists and ${ownership}; Helm will not install release ${release}`,
    hint:
      kind === 'CustomResourceDefinition'
        ? adopt
        : 'set canary.createNamespace or remote.createNamespace to false, or choose another namespace',
  };
}

/** `v1.33.0-eks-1`, `v1.36.4+k3s1`; null for other formats. */
function minorOf(version: string): number | null {
  const parts = /^v?1\.(\d+)(?:[.+-]|$)/.exec(version);
  return parts ? Number(parts[1]) : null;
}
