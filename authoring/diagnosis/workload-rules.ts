import { AGENT_LABEL } from '../../core/injection/names.ts';
import { describeProblem } from '../../core/manifest/describe-problem.ts';
import { parseManifest } from '../../core/manifest/parse-manifest.ts';
import { MIRRORED_LABEL } from '../../core/observation/mirrored.ts';
import type { AgentObservation } from '../../core/observation/observation.ts';
import type { AnnotationMistake } from './annotation-mistakes.ts';
import type { InstalledFacts, ManifestText, WorkloadFacts } from './facts.ts';
import { isReplacedByRestart, replaceCommand } from './replace-command.ts';
import { judged, judgedAll, mergeOutcomes, type CheckRule, type Outcome, type Problem } from './rule.ts';

/** Checks of the workloads that opt in, or try to. */
export const WORKLOAD_RULES: readonly CheckRule<InstalledFacts>[] = [
  {
    code: 'annotation-ignored',
    severity: 'error',
    when: 'a workload has an annotation of the product in the wrong place, such as the metadata of a Deployment instead of its pod template, as a label, or with a typing mistake in its name. It has no effect: with `platform.io/inject`, the agent runs without a sidecar',
    remediation:
      'Set the annotation in the metadata of the pod template (`spec.template.metadata.annotations`), with a name of [the list](annotations.md).',
    evaluate: (facts) => ofMistakes(facts, ({ meant }) => meant !== null),
  },
  {
    code: 'annotation-unknown',
    severity: 'warning',
    when: 'a workload has an annotation that starts with `platform.io/`, but is not similar to any annotation of the product. It has no effect',
    remediation: 'Remove the annotation, or use a name of [the list](annotations.md).',
    evaluate: (facts) => ofMistakes(facts, ({ meant }) => meant === null),
  },
  {
    code: 'manifest-missing',
    severity: 'error',
    when: 'a workload opts in, but the ConfigMap with its manifest does not exist or has no key `agent.yaml`; its pods cannot start',
    remediation:
      'Create the ConfigMap from the file: `kubectl create configmap <agent>-manifest --from-file=agent.yaml`.',
    evaluate: (facts) => ofManifests(facts, missingManifest),
  },
  {
    code: 'manifest-invalid',
    severity: 'error',
    when: 'the ConfigMap contains an invalid manifest; a sidecar that starts with this manifest exits',
    remediation: 'Fix the file (`platform validate agent.yaml` lists every problem) and apply the ConfigMap.',
    evaluate: (facts) => ofManifests(facts, invalidManifest),
  },
  {
    code: 'manifest-stale',
    severity: 'error',
    when: 'a pod of an agent reports another manifest than its ConfigMap has had for three minutes. The kubelet never updates an immutable ConfigMap in a running pod, even if the ConfigMap was deleted and created again',
    remediation: 'Replace the pods: `kubectl rollout restart`.',
    evaluate: ({ observations, ...facts }) =>
      observations.known
        ? ofManifests(facts, (...judged) => staleManifest(observations.value, ...judged))
        : { problems: [], unknown: [observations.why] },
  },
  {
    code: 'workload-refused',
    severity: 'error',
    when: 'a workload opts in, but its pods are rejected, for example by the guard, the injector, Pod Security or a quota. For a CronJob, the pods of its Jobs',
    remediation: 'See the message of the API server for the reason.',
    evaluate: (facts) =>
      ofWorkloads(facts, (workload) =>
        judged(workload.refused, (refused) =>
          refused === null
            ? null
            : ofWorkload(
                workload,
                `its pods are rejected: ${refused}`,
                `kubectl describe ${workload.kind.toLowerCase()} ${workload.name} -n ${workload.namespace}`,
              ),
        ),
      ),
  },
  {
    code: 'namespace-excluded',
    severity: 'warning',
    when: 'a workload opts in, but its namespace is excluded from injection',
    remediation:
      'Run the agent in another namespace, or remove the namespace from `webhook.excludedNamespaces`.',
    evaluate: ({ workloads, injector }) =>
      judgedAll([injector, workloads], (found, all) =>
        all
          .filter(({ namespace }) => found?.excluded.includes(namespace))
          .map((workload) =>
            ofWorkload(
              workload,
              'opts in, but its namespace is excluded from injection',
              'run it in another namespace, or change webhook.excludedNamespaces',
            ),
          ),
      ),
  },
  {
    code: 'agent-hidden',
    severity: 'error',
    when: 'an AgentObservation with `spec.source: remote` has the name of an agent that runs in its namespace. The operator then does not observe the agent, and its heartbeats are rejected',
    remediation:
      'Delete the AgentObservation; the operator then creates that of the workload. If it belongs to a registered or mirrored agent, set another name for the workload with the annotation `platform.io/agent-name`.',
    evaluate: ({ observations, workloads }) =>
      judgedAll([observations, workloads], (all, agents) =>
        all.filter(({ spec }) => spec.source === 'remote').flatMap((each) => hiddenBy(each, agents)),
      ),
  },
];

function ofMistakes(
  { mistakes, injector }: InstalledFacts,
  isWanted: (mistake: AnnotationMistake) => boolean,
): Outcome {
  return judgedAll([injector, mistakes], (found, all) =>
    all
      .filter((each) => isWanted(each) && found?.excluded.includes(each.namespace) !== true)
      .map(({ kind, namespace, name, what, key, meant, place }) => ({
        subject: `${kind} ${namespace}/${name}`,
        message: `${kind} ${name} in ${namespace}: ${
          meant === key
            ? `the ${what} ${key} is not in ${place} and has no effect`
            : `the ${what} ${key} is unknown and has no effect`
        }`,
        hint: meant === null ? 'remove it, or use a known name' : `set ${meant} in ${place}`,
      })),
  );
}

function ofWorkloads(
  { workloads }: Pick<InstalledFacts, 'workloads'>,
  evaluate: (workload: WorkloadFacts) => Outcome,
): Outcome {
  return workloads.known
    ? mergeOutcomes(workloads.value.map(evaluate))
    : { problems: [], unknown: [workloads.why] };
}

type JudgeManifest = (workload: WorkloadFacts, configMap: string, text: ManifestText) => Problem | null;

function ofManifests(facts: Pick<InstalledFacts, 'workloads'>, judge: JudgeManifest): Outcome {
  return ofWorkloads(facts, (workload) => {
    const { manifest } = workload;
    return manifest
      ? judged(manifest.text, (text) => judge(workload, manifest.configMap, text))
      : { problems: [], unknown: [] };
  });
}

/** Whether the sidecars of this workload cannot start, because its ConfigMap has no valid manifest. */
export function lacksManifest(workload: WorkloadFacts): boolean {
  const { manifest } = workload;
  if (!manifest?.text.known) return false;
  const { value } = manifest.text;
  return [missingManifest, invalidManifest].some(
    (judge) => judge(workload, manifest.configMap, value) !== null,
  );
}

const missingManifest: JudgeManifest = (workload, configMap, { state }) => {
  if (state !== 'absent' && state !== 'no-key') return null;
  const make = `kubectl create configmap ${configMap} -n ${workload.namespace} --from-file=agent.yaml`;
  const [what, hint] =
    state === 'absent'
      ? ['does not exist', make]
      : ['has no key agent.yaml', `${make} --dry-run=client -o yaml | kubectl apply -f -`];
  return ofWorkload(workload, `its ConfigMap ${configMap} ${what}`, hint);
};

/** The first problems are enough to find the cause. */
const MAX_PROBLEMS = 3;

function invalidManifest(workload: WorkloadFacts, configMap: string, found: ManifestText): Problem | null {
  const problems = problemsOf(found);
  if (problems.length === 0) return null;
  const described = problems.slice(0, MAX_PROBLEMS);
  const more = problems.length - described.length;
  const rest = more > 0 ? ` and ${more} more` : '';
  const isText = found.state === 'there' && found.member === 'data';
  const [member, decode] = isText ? ['data', ''] : ['binaryData', ' | base64 -d'];
  return ofWorkload(
    workload,
    `its ConfigMap ${configMap} contains no valid manifest: ${described.join('; ')}${rest}`,
    `kubectl get configmap ${configMap} -n ${workload.namespace} -o jsonpath='{.${member}.agent\\.yaml}'${decode} > agent.yaml; platform validate agent.yaml`,
  );
}

function problemsOf(found: ManifestText): string[] {
  if (found.state === 'not-text') return ['agent.yaml is not a UTF-8 text file'];
  const parsed = found.state === 'there' ? parseManifest(found.text) : null;
  return parsed === null || parsed.ok
    ? []
    : parsed.problems.map((each) => describeProblem('agent.yaml', each));
}

/** Longer than the kubelet, the sidecar and the next heartbeat need for a changed ConfigMap. */
const STALE_MS = 180_000;

function staleManifest(
  observations: readonly AgentObservation[],
  ...[workload, configMap, found]: Parameters<JudgeManifest>
): Problem | null {
  if (found.state !== 'there' || problemsOf(found).length > 0) return null;
  const { namespace, kind, name } = workload;
  const own = observations.find(
    ({ metadata, spec }) =>
      metadata.namespace === namespace && spec.agentRef?.kind === kind && spec.agentRef.name === name,
  );
  // Each instance, because the report that is shown may be of a newer pod.
  const stale = own?.status?.instances?.find(
    ({ manifestHash = found.hash, lastHeartbeat }) =>
      manifestHash !== found.hash && Date.parse(lastHeartbeat) - found.changedAt.getTime() >= STALE_MS,
  );
  if (stale === undefined) return null;
  return ofWorkload(
    workload,
    `pod ${stale.name} does not run the manifest in ConfigMap ${configMap}: it reports the SHA-256 ${stale.manifestHash?.slice(0, 12)}…, the ConfigMap has ${found.hash.slice(0, 12)}…`,
    kind === 'Pod' || isReplacedByRestart(kind)
      ? replaceCommand({ namespace, name, owner: kind === 'Pod' ? null : workload })
      : `kubectl delete pods -n ${namespace} -l ${AGENT_LABEL}=${workload.agentName}`,
  );
}

function hiddenBy({ metadata, status }: AgentObservation, agents: readonly WorkloadFacts[]): Problem[] {
  const { namespace, name, labels = {} } = metadata;
  const isForeign = (status?.tokenHashes ?? []).length > 0 || MIRRORED_LABEL in labels;
  return agents
    .filter((each) => each.namespace === namespace && each.agentName === name)
    .map((workload) => ({
      subject: `AgentObservation ${namespace}/${name}`,
      message: `AgentObservation ${name} in ${namespace} has source remote, so the agent of ${workload.kind} ${workload.name} is not observed`,
      hint: isForeign
        ? `set another platform.io/agent-name in the pod template of ${workload.kind} ${workload.name}`
        : `kubectl delete agentobservation ${name} -n ${namespace}`,
    }));
}

function ofWorkload({ kind, namespace, name }: WorkloadFacts, what: string, hint: string): Problem {
  const subject = `${kind} ${namespace}/${name}`;
  return { subject, message: `${kind} ${name} in ${namespace}: ${what}`, hint };
}
