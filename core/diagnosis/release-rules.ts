import type {
  DeploymentFacts,
  InstalledFacts,
  PodFacts,
  ProcessFacts,
  ReleaseFacts,
  UnreadableRevision,
} from './facts.ts';
import { judged, together, type CheckRule, type Problem } from './rule.ts';
import { upgradeCommand } from './upgrade-command.ts';

const DEFINITION = 'agentobservations.platform.io';
const VERSION = 'v1';

/** Whether the installation itself is whole and runs. */
export const RELEASE_RULES: readonly CheckRule<InstalledFacts>[] = [
  {
    code: 'release-not-deployed',
    severity: 'error',
    when: 'Helm says that the last installation or upgrade did not come to its end',
    remediation: 'Look at `helm history`, then repeat the upgrade or roll it back.',
    look: ({ helm, release }) =>
      judged(helm, (found) =>
        found === null || found.status === 'deployed'
          ? []
          : [
              {
                subject: `release ${release.name}`,
                message: `release ${release.name} in ${release.namespace} is "${found.status}", not deployed`,
                hint: `helm history ${release.name} -n ${release.namespace}; then helm upgrade again, or helm rollback`,
              },
            ],
      ),
  },
  {
    code: 'release-unreadable',
    severity: 'error',
    when: 'the newest revision that Helm keeps cannot be read: Helm looks past it, and can neither upgrade the release nor roll it back',
    remediation: 'Keep a copy of the Secret and delete it: Helm goes on from the revision before. Then repeat `helm upgrade`.',
    look: ({ helm, release }) =>
      judged(helm, (found) => (found?.unreadable ? [unreadable(found.unreadable, release)] : [])),
  },
  {
    code: 'release-versions',
    severity: 'warning',
    when: 'the parts of the release are of more than one version, as in an upgrade that ended half-way',
    remediation: 'Wait for the upgrade, or repeat it.',
    look: ({ release }) =>
      judged({ known: true, value: release.versions }, (versions) =>
        versions.length < 2
          ? []
          : [
              {
                subject: `release ${release.name}`,
                message: `the parts of release ${release.name} are of the versions ${versions.join(', ')}`,
                hint: `helm status ${release.name} -n ${release.namespace}; then repeat helm upgrade`,
              },
            ],
      ),
  },
  {
    code: 'release-object-missing',
    severity: 'error',
    when: 'an object that Helm installed is not there any more',
    remediation: 'Repeat `helm upgrade` with the same values: it makes what is missing.',
    look: ({ missingObjects, release }) =>
      judged(missingObjects, (missing) =>
        missing.map((object) => ({
          subject: object,
          message: `${object} of release ${release.name} is not there`,
          hint: upgradeCommand(release),
        })),
      ),
  },
  {
    code: 'definition-missing',
    severity: 'error',
    when: 'the API server does not know AgentObservations of version v1, or has not established them',
    remediation: 'Install with `crds.install`, or apply `crds/agentobservations.yaml`; then look at the conditions of the definition.',
    look: ({ definition }) => judged(definition, definitionProblems),
  },
  {
    code: 'deployment-unavailable',
    severity: 'error',
    when: 'a Deployment of the release has fewer available pods than it wants, or wants none',
    remediation: 'Look at its pods: `kubectl describe` names what keeps them.',
    look: ({ deployments, release }) =>
      judged(deployments, (all) =>
        all.flatMap((deployment) => unavailable(deployment, release.namespace) ?? []),
      ),
  },
  {
    code: 'image-pull',
    severity: 'error',
    when: 'a container of the release, or of a pod that opts in, waits for an image that cannot be pulled',
    remediation: 'Look at the reference, the registry and the pull secrets: each namespace of agents needs its own.',
    look: ({ pods }) => judged(pods, (all) => all.flatMap(imagePulls)),
  },
  {
    code: 'process-not-ready',
    severity: 'error',
    when: 'the control plane or the operator does not answer `/readyz` through the API server, or is not ready',
    remediation: 'Look at its log; `/readyz` says in its body what it waits for.',
    look: ({ processes, release }) =>
      together(
        processes.map((process) =>
          judged(process.answer, (answer) =>
            answer.ok ? [] : [notReady(process, answer.text, release.namespace)],
          ),
        ),
      ),
  },
  {
    code: 'leader-missing',
    severity: 'error',
    when: 'no operator holds the Lease `platform-operator`, or its holder no longer renews it',
    remediation: 'Look at the log of the operator; without a leader no status is written, and no agent is found.',
    look: ({ lease, release }) =>
      judged(lease, (found) => {
        if (found !== null && found.holder !== '' && found.fresh) return [];
        const what =
          found === null
            ? 'is not there'
            : found.holder === ''
              ? 'has no holder'
              : `is no longer renewed by ${found.holder}`;
        return [
          {
            subject: `Lease ${release.namespace}/platform-operator`,
            message: `the Lease platform-operator in ${release.namespace} ${what}`,
            hint: `kubectl logs -n ${release.namespace} -l app.kubernetes.io/component=operator --tail=50`,
          },
        ];
      }),
  },
];

function unreadable({ secret, why }: UnreadableRevision, { name, namespace }: ReleaseFacts): Problem {
  return {
    subject: `Secret ${namespace}/${secret}`,
    message: `the newest revision of release ${name}, Secret ${secret} in ${namespace}, cannot be read: ${why}`,
    hint: `kubectl get secret ${secret} -n ${namespace} -o yaml > copy.yaml; kubectl delete secret ${secret} -n ${namespace}; then helm upgrade again`,
  };
}

function definitionProblems(found: { established: boolean; served: readonly string[] } | null): Problem[] {
  const what =
    found === null
      ? 'is not there'
      : !found.served.includes(VERSION)
        ? `does not serve version ${VERSION} (it serves ${found.served.join(', ') || 'none'})`
        : found.established
          ? null
          : 'is not established';
  if (what === null) return [];
  return [
    {
      subject: `CustomResourceDefinition ${DEFINITION}`,
      message: `CustomResourceDefinition ${DEFINITION} ${what}`,
      hint:
        found === null
          ? 'helm upgrade with crds.install=true, or kubectl apply -f crds/agentobservations.yaml'
          : `kubectl describe crd ${DEFINITION}`,
    },
  ];
}

function unavailable({ name, wanted, available }: DeploymentFacts, namespace: string): Problem | null {
  if (wanted > 0 && available >= wanted) return null;
  return {
    subject: `Deployment ${namespace}/${name}`,
    message:
      wanted === 0
        ? `Deployment ${name} in ${namespace} is scaled to zero`
        : `Deployment ${name} in ${namespace} has ${available} of ${wanted} pods available`,
    hint:
      wanted === 0
        ? `kubectl scale deployment ${name} -n ${namespace} --replicas=1`
        : `kubectl describe pods -n ${namespace} -l app.kubernetes.io/part-of=agent-compliance`,
  };
}

const PULL_REASONS = ['ImagePullBackOff', 'ErrImagePull', 'InvalidImageName', 'ErrImageNeverPull'];

function imagePulls({ namespace, name, waiting, isOwn, optedIn }: PodFacts): Problem[] {
  if (!isOwn && !optedIn) return [];
  return waiting
    .filter(({ reason }) => PULL_REASONS.includes(reason))
    .map(({ container, reason, message }) => ({
      subject: `Pod ${namespace}/${name}`,
      message: `container ${container} of pod ${name} in ${namespace} waits for its image: ${reason}${message === '' ? '' : `, ${message}`}`,
      hint: `kubectl describe pod ${name} -n ${namespace}`,
    }));
}

function notReady({ part }: ProcessFacts, text: string, namespace: string): Problem {
  return {
    subject: part,
    message: `the ${part} in ${namespace} is not ready: ${text}`,
    hint: `kubectl logs -n ${namespace} -l app.kubernetes.io/component=${part} --tail=50`,
  };
}
