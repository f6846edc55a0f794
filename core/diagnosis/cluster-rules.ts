import type { ClusterFacts, ExistingObject, InstallFacts } from './facts.ts';
import { LEAST_MINOR, minorOf } from './kubernetes-version.ts';
import { judged, type CheckRule, type Problem } from './rule.ts';

/** What every cluster needs. */
export const CLUSTER_RULES: readonly CheckRule<ClusterFacts>[] = [
  {
    code: 'kubernetes-version',
    severity: 'error',
    when: `the API server is older than 1.${LEAST_MINOR}, or says a version that is none`,
    remediation: `Upgrade the cluster to 1.${LEAST_MINOR} or later: native sidecars are in older ones in part only.`,
    look: ({ version }) => judged(version, versionProblems),
  },
  {
    code: 'kubernetes-api',
    severity: 'error',
    when: 'an API that the product uses is not served, such as ValidatingAdmissionPolicies',
    remediation: 'Let the API server serve it: look at its flag `--runtime-config`.',
    look: ({ missingApis }) =>
      judged(missingApis, (missing) =>
        missing.map((api) => ({
          subject: 'API server',
          message: `the API server does not serve ${api}`,
          hint: 'look at --runtime-config of the API server',
        })),
      ),
  },
];

/** What an installation needs beyond it. */
export const INSTALL_RULES: readonly CheckRule<InstallFacts>[] = [
  ...CLUSTER_RULES,
  {
    code: 'rights-install',
    severity: 'error',
    when: 'the caller lacks a right that `helm install` needs, those included which it hands on in roles',
    remediation: 'Install as a cluster administrator, or let one grant what is listed.',
    look: ({ missingPermissions }) =>
      judged(missingPermissions, (lacking) =>
        lacking.map((right) => ({
          subject: 'caller',
          message: `you may not ${right}`,
          hint: 'install as a cluster administrator, or let one grant this right',
        })),
      ),
  },
  {
    code: 'name-taken',
    severity: 'error',
    when: 'a namespace or the definition of AgentObservations is there already and belongs to no, or another, release: Helm then refuses to install',
    remediation: 'For a namespace: set `canary.createNamespace` or `remote.createNamespace` to false, or choose another. For the definition: hand it over to this release, as the hint says.',
    look: (facts) =>
      judged(facts.existing, (existing) =>
        existing.filter((object) => !isOf(object, facts)).map((object) => taken(object, facts)),
      ),
  },
];

function versionProblems(version: string): Problem[] {
  const minor = minorOf(version);
  if (minor !== null && minor >= LEAST_MINOR) return [];
  const what = minor === null ? 'says no version that is known here' : `is older than 1.${LEAST_MINOR}`;
  return [
    {
      subject: 'API server',
      message: `Kubernetes ${version} ${what}`,
      hint: `upgrade the cluster to 1.${LEAST_MINOR} or later`,
    },
  ];
}

function isOf({ owner }: ExistingObject, { release, namespace }: InstallFacts): boolean {
  return owner?.release === release && owner.namespace === namespace;
}

function taken({ kind, name, owner }: ExistingObject, { release, namespace }: InstallFacts): Problem {
  const whose =
    owner === null ? 'belongs to no release' : `belongs to release ${owner.release} in ${owner.namespace}`;
  const adopt = [
    `kubectl annotate crd ${name} --overwrite meta.helm.sh/release-name=${release} meta.helm.sh/release-namespace=${namespace}`,
    `kubectl label crd ${name} --overwrite app.kubernetes.io/managed-by=Helm`,
  ].join(' && ');
  return {
    subject: `${kind} ${name}`,
    message: `${kind} ${name} is there already and ${whose}: Helm will not install release ${release} over it`,
    hint:
      kind === 'CustomResourceDefinition'
        ? adopt
        : 'set canary.createNamespace or remote.createNamespace to false, or name another namespace',
  };
}
