import type { DefinitionFacts, DeploymentFacts, InstalledFacts, PodFacts, ProcessFacts } from './facts.ts';
import { judged, judging, mergeOutcomes, type CheckRule, type Problem } from './rule.ts';
import { logsCommand, upgradeCommand } from './commands.ts';

const DEFINITION = 'agentobservations.platform.io';
const VERSION = 'v1';

/** Checks that the installation is complete and running. */
export const RELEASE_RULES: readonly CheckRule<InstalledFacts>[] = [
  {
    code: 'release-not-deployed',
    severity: 'error',
    when: 'Helm reports that the last installation or upgrade did not complete',
    remediation: 'Check `helm history`, then repeat the upgrade or roll it back.',
    evaluate: judging('helm', (found, { release }) =>
      found === null || found.status === 'deployed'
        ? null
        : {
            subject: `release ${release.name}`,
            message: `release ${release.name} in ${release.namespace} is "${found.status}", not deployed`,
            hint: `helm history ${release.name} -n ${release.namespace}; then helm upgrade again, or helm rollback`,
          },
    ),
  },
  {
    code: 'release-unreadable',
    severity: 'error',
    when: 'the newest revision of the release cannot be read; Helm ignores it and can neither upgrade nor roll back the release',
    remediation:
      'Save a copy of the Secret and delete the Secret; Helm then continues from the previous revision. Repeat `helm upgrade`.',
    evaluate: judging('helm', (found, { release: { name, namespace } }) => {
      if (found === null || found.content.ok) return null;
      const { secret, content } = found;
      return {
        subject: `Secret ${namespace}/${secret}`,
        message: `the newest revision of release ${name}, Secret ${secret} in ${namespace}, cannot be read: ${content.why}`,
        hint: `kubectl get secret ${secret} -n ${namespace} -o yaml > copy.yaml; kubectl delete secret ${secret} -n ${namespace}; then helm upgrade again`,
      };
    }),
  },
  {
    code: 'release-versions',
    severity: 'warning',
    when: 'the components of the release have more than one version, for example after an incomplete upgrade',
    remediation: 'Wait for the upgrade to complete, or repeat it.',
    evaluate: ({ release }) =>
      judged({ known: true, value: release.versions }, (versions) =>
        versions.length < 2
          ? null
          : {
              subject: `release ${release.name}`,
              message: `the components of release ${release.name} have different versions: ${versions.join(', ')}`,
              hint: `helm status ${release.name} -n ${release.namespace}; then repeat helm upgrade`,
            },
      ),
  },
  {
    code: 'release-object-missing',
    severity: 'error',
    when: 'an object that Helm installed no longer exists',
    remediation: 'Repeat `helm upgrade` with the same values to create the missing objects.',
    evaluate: judging('missingObjects', (missing, { release }) =>
      missing.map((object) => ({
        subject: object,
        message: `${object} of release ${release.name} does not exist`,
        hint: upgradeCommand(release),
      })),
    ),
  },
  {
    code: 'definition-missing',
    severity: 'error',
    when: 'the CustomResourceDefinition of AgentObservations does not exist, does not serve version v1, or is not established',
    remediation:
      'Install with `crds.install`, or apply `crds/agentobservations.yaml`; then check the conditions of the CustomResourceDefinition.',
    evaluate: judging('definition', definitionProblem),
  },
  {
    code: 'deployment-unavailable',
    severity: 'error',
    when: 'a Deployment of the release has fewer available pods than desired, or is scaled to zero',
    remediation: 'Check its pods; `kubectl describe` shows the reason.',
    evaluate: judging('deployments', (all, { release }) =>
      all.flatMap((deployment) => unavailable(deployment, release.namespace) ?? []),
    ),
  },
  {
    code: 'image-pull',
    severity: 'error',
    when: 'the image of a container cannot be pulled, in a pod of the release or a pod that opts in',
    remediation:
      'Check the image reference, the registry and the pull secrets. Each namespace with agents needs its own pull secret.',
    evaluate: judging('pods', (all) => all.flatMap(imagePulls)),
  },
  {
    code: 'process-not-ready',
    severity: 'error',
    when: 'the control plane or the operator does not respond to `/readyz` through the API server, or is not ready',
    remediation: 'Check its log. The body of `/readyz` lists what it is waiting for.',
    evaluate: ({ processes, release }) =>
      mergeOutcomes(
        processes.map((process) =>
          judged(process.ready, ({ ok, text }) => (ok ? null : notReady(process, text, release.namespace))),
        ),
      ),
  },
  {
    code: 'leader-missing',
    severity: 'error',
    when: 'no operator holds the Lease `platform-operator`, or its holder no longer renews it',
    remediation:
      'Check the log of the operator. Without a leader, no status is written and no new agent is discovered.',
    evaluate: judging('lease', (found, { release }) => {
      if (found !== null && found.holder !== '' && found.fresh) return null;
      const what =
        found === null
          ? 'does not exist'
          : found.holder === ''
            ? 'has no holder'
            : `is no longer renewed by ${found.holder}`;
      return {
        subject: `Lease ${release.namespace}/platform-operator`,
        message: `the Lease platform-operator in ${release.namespace} ${what}`,
        hint: logsCommand(release.namespace, 'operator'),
      };
    }),
  },
];

function definitionProblem(found: DefinitionFacts | null): Problem | null {
  const what =
    found === null
      ? 'does not exist'
      : !found.served.includes(VERSION)
        ? `does not serve version ${VERSION} (it serves ${found.served.join(', ') || 'none'})`
        : found.established
          ? null
          : 'is not established';
  if (what === null) return null;
  return {
    subject: `CustomResourceDefinition ${DEFINITION}`,
    message: `CustomResourceDefinition ${DEFINITION} ${what}`,
    hint:
      found === null
        ? 'helm upgrade with crds.install=true, or kubectl apply -f crds/agentobservations.yaml'
        : `kubectl describe crd ${DEFINITION}`,
  };
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
    hint: logsCommand(namespace, part),
  };
}
