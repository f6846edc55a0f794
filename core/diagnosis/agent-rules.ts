import { driftOf } from '../injection/drift.ts';
import { AGENT_LABEL, isDnsSubdomain, NAME_LABEL } from '../injection/names.ts';
import { describeProblem } from '../manifest/describe-problem.ts';
import { parseManifest } from '../manifest/parse-manifest.ts';
import type { AgentObservation, ConditionType } from '../observation/observation.ts';
import { isFenced, isSelected, type EgressFence } from './egress-fence.ts';
import type { InstalledFacts, ManifestText, PodFacts, WorkloadFacts } from './facts.ts';
import { REMEDIATIONS } from './remediations.ts';
import {
  judged,
  judgedBoth,
  judging,
  mergeOutcomes,
  type CheckRule,
  type Outcome,
  type Problem,
} from './rule.ts';

/** Checks of the workloads that opt in, and of their agents. */
export const AGENT_RULES: readonly CheckRule<InstalledFacts>[] = [
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
    code: 'workload-refused',
    severity: 'error',
    when: 'a Deployment opts in, but its pods are rejected, for example by the guard, the injector, Pod Security or a quota',
    remediation: 'See the message of the API server for the reason.',
    evaluate: judging('workloads', (all) =>
      all
        .filter(({ refused }) => refused !== null)
        .map((workload) =>
          ofWorkload(
            workload,
            `its pods are rejected: ${workload.refused}`,
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
      judgedBoth(injector, workloads, (found, all) =>
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
    code: 'pod-without-sidecar',
    severity: 'error',
    when: 'a pod opts in but runs without a sidecar; it was created before the installation or while the guard was off',
    remediation: 'Replace the pod: `kubectl rollout restart`.',
    evaluate: judging('pods', (pods, facts) =>
      pods
        .filter((pod) => driftOf(pod, null) === 'sidecar-missing' && !isExcluded(facts, pod.namespace))
        .map((pod) => ofPod(pod, 'opts in but runs without a sidecar')),
    ),
  },
  {
    code: 'pod-outdated',
    severity: 'warning',
    when: 'the version or the settings of a sidecar differ from those of the current injector',
    remediation: 'Replace the pod at a convenient time: `kubectl rollout restart`.',
    evaluate: ({ pods, trial }) =>
      judgedBoth(trial, pods, (today, all) =>
        today.outcome === 'injected' ? all.flatMap((pod) => outdated(pod, today)) : [],
      ),
  },
  {
    code: 'agent-not-enforced',
    severity: 'warning',
    when: 'a pod has lanes or the CONNECT lane, but no NetworkPolicy or CiliumNetworkPolicy limits its outgoing connections. Lanes show and deny the calls of clients that use them; only a network policy is enforced, whatever the agent does',
    remediation:
      'Generate a network policy from the manifest and apply it: `platform generate-egress agent.yaml | kubectl apply -f -`. The network plugin of the cluster must implement network policies.',
    evaluate: ({ pods, fences }) =>
      judgedBoth(fences, pods, (limits, all) =>
        all
          .filter((pod) => pod.hasEgressLane && !isFenced(pod, limits))
          .map((pod) => ({
            ...ofPod(pod, 'has egress lanes, but no network policy enforces where it connects to'),
            hint: `platform generate-egress agent.yaml -n ${pod.namespace} | kubectl apply -f -`,
          })),
      ),
  },
  {
    code: 'egress-policy-unused',
    severity: 'warning',
    when: 'a network policy for the pods of an agent (`platform generate-egress`) selects no pod, so that it limits nothing. Policies of earlier versions do not select the pods of `platform generate --deploy`, and pods that were injected by an earlier version do not have the label of current policies',
    remediation:
      'Generate the policy again and apply it, or restart the pods so that they get the label `platform.io/agent-name`. The name in the manifest must be the name of the agent. Delete the policy of an agent that does not exist any more.',
    evaluate: ({ pods, fences, workloads }) =>
      pods.known
        ? judgedBoth(fences, workloads, (all, owners) =>
            all.flatMap((fence) => unusedFence(fence, pods.value, owners)),
          )
        : { problems: [], unknown: [pods.why] },
  },
  condition('agent-silent', {
    severity: 'error',
    type: 'Reporting',
    is: (status, reason) => status === 'False' && reason === 'Stale',
    when: 'an agent has stopped reporting',
    remediation: REMEDIATIONS['agent-silent'],
  }),
  condition('agent-port-taken', {
    severity: 'error',
    type: 'Routed',
    is: (status, reason) => status === 'False' && reason === 'PortTaken',
    when: 'another process in a pod uses port 4000 or 4001, 4002 or 4003 for lanes, or 4318 for OTLP, so that the sidecar cannot start (condition `Routed`)',
    remediation: REMEDIATIONS['agent-port-taken'],
  }),
  condition('agent-bypassed', {
    severity: 'warning',
    type: 'Routed',
    is: (status, reason) => status === 'False' && reason !== 'PortTaken',
    when: "a Service sends traffic to the agent's own port and bypasses the sidecar (condition `Routed`)",
    remediation: REMEDIATIONS['agent-bypassed'],
  }),
  condition('agent-conflict', {
    severity: 'error',
    type: 'Conflict',
    is: (status) => status === 'True',
    when: 'two workloads in a namespace claim the same agent name (condition `Conflict`)',
    remediation: 'Set a different name for one of them with the annotation `platform.io/agent-name`.',
  }),
  condition('agent-not-shown', {
    severity: 'warning',
    type: 'Compliant',
    is: (status, reason) => status === 'Unknown' && reason === 'NotShown',
    when: 'there is too little evidence from the last 24 hours for what the manifest of an agent declares (condition `Compliant`). An agent that reports nothing can have a good grade, but is not known to be compliant',
    remediation:
      'Configure the agent to report its behaviour (docs/guide/agent.md), or submit proofs. [evidence.md](evidence.md) lists the accepted evidence for each item.',
  }),
  condition('agent-policy-not-loaded', {
    severity: 'error',
    type: 'PolicyLoaded',
    is: (status, reason) => status === 'False' && reason === 'PolicyNotLoaded',
    when: "the policy engine responds, but has not loaded the agent's rules (condition `PolicyLoaded`)",
    remediation: REMEDIATIONS['agent-policy-not-loaded'],
  }),
];

function condition(
  code: string,
  row: Pick<CheckRule<InstalledFacts>, 'severity' | 'when' | 'remediation'> & {
    type: ConditionType;
    is: (status: string, reason: string) => boolean;
  },
): CheckRule<InstalledFacts> {
  const { type, is, ...rest } = row;
  const find = (observation: AgentObservation): Problem[] => {
    const { namespace, name } = observation.metadata;
    const found = observation.status?.conditions?.find((each) => each.type === type);
    if (!found || !is(found.status, found.reason)) return [];
    const subject = `AgentObservation ${namespace}/${name}`;
    const hint = `kubectl describe agentobservation ${name} -n ${namespace}`;
    return [{ subject, message: `agent ${name} in ${namespace}: ${found.message}`, hint }];
  };
  return { code, ...rest, evaluate: judging('observations', (all) => all.flatMap(find)) };
}

type JudgeManifest = (workload: WorkloadFacts, configMap: string, text: ManifestText) => Problem | null;

function ofManifests({ workloads }: InstalledFacts, judge: JudgeManifest): Outcome {
  if (!workloads.known) return { problems: [], unknown: [workloads.why] };
  return mergeOutcomes(
    workloads.value.flatMap((workload) => {
      const { manifest } = workload;
      return manifest ? judged(manifest.text, (text) => judge(workload, manifest.configMap, text)) : [];
    }),
  );
}

function missingManifest(workload: WorkloadFacts, configMap: string, found: ManifestText): Problem | null {
  if (found.state === 'there') return null;
  const isAbsent = found.state === 'absent';
  const make = `kubectl create configmap ${configMap} -n ${workload.namespace} --from-file=agent.yaml`;
  return ofWorkload(
    workload,
    isAbsent
      ? `its ConfigMap ${configMap} does not exist`
      : `its ConfigMap ${configMap} has no key agent.yaml`,
    isAbsent ? make : `${make} --dry-run=client -o yaml | kubectl apply -f -`,
  );
}

/** The first problems are enough to find the cause. */
const MAX_PROBLEMS = 3;

function invalidManifest(workload: WorkloadFacts, configMap: string, found: ManifestText): Problem | null {
  const parsed = found.state === 'there' ? parseManifest(found.text) : null;
  if (parsed === null || parsed.ok) return null;
  const described = parsed.problems.slice(0, MAX_PROBLEMS).map((each) => describeProblem('agent.yaml', each));
  const more = parsed.problems.length - described.length;
  const rest = more > 0 ? ` and ${more} more` : '';
  return ofWorkload(
    workload,
    `its ConfigMap ${configMap} contains no valid manifest: ${described.join('; ')}${rest}`,
    `kubectl get configmap ${configMap} -n ${workload.namespace} -o jsonpath='{.data.agent\\.yaml}' > agent.yaml; platform validate agent.yaml`,
  );
}

function ofWorkload({ kind, namespace, name }: WorkloadFacts, what: string, hint: string): Problem {
  const subject = `${kind} ${namespace}/${name}`;
  return { subject, message: `${kind} ${name} in ${namespace}: ${what}`, hint };
}

function ofPod(pod: PodFacts, what: string): Problem {
  const { namespace, name } = pod;
  const message = `pod ${name} in ${namespace} ${what}`;
  return { subject: `Pod ${namespace}/${name}`, message, hint: replaceCommand(pod) };
}

/** Whether a policy for an agent selects no pod, although the agent has or will have pods that run all the time. */
function unusedFence(
  fence: EgressFence,
  pods: readonly PodFacts[],
  workloads: readonly WorkloadFacts[],
): Problem[] {
  const { kind, namespace, name, selector } = fence;
  const agent = selector.matchLabels[NAME_LABEL] ?? selector.matchLabels[AGENT_LABEL];
  if (agent === undefined || pods.some((pod) => isSelected(pod, fence))) return [];
  const unlabelled = pods.find((pod) => pod.namespace === namespace && pod.labels[AGENT_LABEL] === agent);
  const willSelect = workloads.some((each) => each.namespace === namespace && each.agentName === agent);
  if (unlabelled === undefined && willSelect) return [];
  const generate = `platform generate-egress agent.yaml -n ${namespace} | kubectl apply -f -`;
  return [
    {
      subject: `${kind} ${namespace}/${name}`,
      message: `${kind} ${name} in ${namespace} is for the agent ${agent}, but selects no pod`,
      hint: unlabelled === undefined ? generate : replaceCommand(unlabelled),
    },
  ];
}

const RESTARTED = ['Deployment', 'StatefulSet', 'DaemonSet'];

/** The command that replaces a pod, through the owner of the pod if there is one. */
export function replaceCommand({ namespace, name, owner }: PodFacts): string {
  // The owner's name comes from the pod's metadata and may be any text, but the user runs it as a part of a command.
  if (owner !== null && RESTARTED.includes(owner.kind) && isDnsSubdomain(owner.name))
    return `kubectl rollout restart ${owner.kind.toLowerCase()} ${owner.name} -n ${namespace}`;
  const own = `kubectl delete pod ${name} -n ${namespace}`;
  return owner === null ? `${own}, and create it again` : own;
}

function outdated(pod: PodFacts, { version, config }: { version: string; config: string }): Problem[] {
  const drift = driftOf(pod, { version, configHash: config });
  if (drift === 'configuration-outdated') return [ofPod(pod, 'has a sidecar with outdated settings')];
  if (drift !== 'version-outdated') return [];
  const was = pod.injected?.version;
  return [ofPod(pod, `has a sidecar of version ${was}, but the injector has version ${version}`)];
}

function isExcluded({ injector }: InstalledFacts, namespace: string): boolean {
  return injector.known && injector.value?.excluded.includes(namespace) === true;
}
