import { driftOf } from '../../core/injection/drift.ts';
import { AGENT_LABEL, NAME_LABEL, PORT_TAKEN_EXIT_CODE } from '../../core/injection/names.ts';
import { conditionOf } from '../../core/observation/condition-of.ts';
import type { AgentObservation } from '../../core/observation/observation.ts';
import type { ConditionType } from '../../core/shapes/condition.ts';
import { isRecord, jsonOf } from '../../core/untrusted/fields.ts';
import { isFenced, isSelected, type EgressFence } from './egress-fence.ts';
import type { InstalledFacts, PodFacts, WorkloadFacts } from './facts.ts';
import { REMEDIATIONS } from '../../core/fleet/remediations.ts';
import { replaceCommand } from './replace-command.ts';
import { judgedAll, judging, type CheckRule, type Problem } from './rule.ts';
import { lacksManifest } from './workload-rules.ts';

/** Checks of the pods that opt in, and of their agents. */
export const AGENT_RULES: readonly CheckRule<InstalledFacts>[] = [
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
    code: 'sidecar-failing',
    severity: 'error',
    when: 'a sidecar, or another injected container, has ended with an error and does not run. The agent does not start before it, and has no traffic without it. A cause with a check of its own is reported there: an invalid manifest in the ConfigMap, or a port that another process uses',
    remediation:
      'The message has the end of the output of the container; `kubectl logs --previous` shows all of it.',
    evaluate: judging('pods', (pods, { workloads }) => {
      const explained = workloads.known ? workloads.value.filter(lacksManifest) : [];
      const failing = pods.filter((pod) => failureOf(pod) && !explained.some((each) => isOf(pod, each)));
      return [...Map.groupBy(failing, workloadKey).values()].flatMap(failingPods);
    }),
  },
  {
    code: 'pod-outdated',
    severity: 'warning',
    when: 'the version or the settings of a sidecar differ from those of the current injector',
    remediation: 'Replace the pod at a convenient time: `kubectl rollout restart`.',
    evaluate: ({ pods, trial }) =>
      judgedAll([trial, pods], (today, all) =>
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
      judgedAll([fences, pods], (limits, all) =>
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
      judgedAll([pods, fences, workloads], (found, all, owners) =>
        all.flatMap((fence) => unusedFence(fence, found, owners)),
      ),
  },
  condition('agent-silent', {
    severity: 'error',
    type: 'Reporting',
    is: (status, reason) => status === 'False' && reason === 'Stale',
    when: 'an agent has stopped reporting',
    remediation: REMEDIATIONS['agent-silent'],
  }),
  condition('agent-never-reported', {
    severity: 'error',
    type: 'Reporting',
    is: (status, reason) => status === 'False' && reason === 'NeverReported',
    when: 'an agent runs, but has never reported (condition `Reporting`)',
    remediation:
      'Check the log of the sidecar for `heartbeat not delivered`, and whether a NetworkPolicy of the namespace blocks its connection to the control plane.',
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
    const found = conditionOf(observation.status, type);
    if (!found || !is(found.status, found.reason)) return [];
    const subject = `AgentObservation ${namespace}/${name}`;
    const hint = `kubectl describe agentobservation ${name} -n ${namespace}`;
    return [{ subject, message: `agent ${name} in ${namespace}: ${found.message}`, hint }];
  };
  return { code, ...rest, evaluate: judging('observations', (all) => all.flatMap(find)) };
}

function ofPod(pod: PodFacts, what: string): Problem {
  const { namespace, name } = pod;
  const message = `pod ${name} in ${namespace} ${what}`;
  return { subject: `Pod ${namespace}/${name}`, message, hint: replaceCommand(pod) };
}

/** The workload of a pod; the pod itself if it has none. */
function workloadKey({ namespace, name: pod, owner }: PodFacts): string {
  const { kind, name } = owner ?? { kind: 'Pod', name: pod };
  return `${kind} ${namespace}/${name}`;
}

function isOf(pod: PodFacts, { kind, namespace, name }: WorkloadFacts): boolean {
  return workloadKey(pod) === `${kind} ${namespace}/${name}`;
}

const failureOf = ({ failed }: PodFacts) => failed.find(({ exitCode }) => exitCode !== PORT_TAKEN_EXIT_CODE);

/** One problem for all pods of a workload, which fail for the same reason. */
function failingPods(pods: readonly PodFacts[]): Problem[] {
  const [pod] = pods;
  const failed = pod && failureOf(pod);
  if (pod === undefined || failed === undefined) return [];
  const { namespace, name } = pod;
  const { container, exitCode, message } = failed;
  const others = pods.length > 1 ? ` (and of ${pods.length - 1} more pods)` : '';
  const end = endOf(message);
  return [
    {
      subject: workloadKey(pod),
      message: `container ${container} of pod ${name} in ${namespace}${others} ended with exit code ${exitCode}${end && `: ${end}`}`,
      hint: `kubectl logs ${name} -n ${namespace} -c ${container} --previous`,
    },
  ];
}

const END_LINES = 3;
const END_LENGTH = 400;

/** The last lines of an output, whose lines are plain text or entries of a JSON log. */
function endOf(output: string): string {
  const lines = output.split('\n').map((line) => {
    const entry = jsonOf(line);
    if (!isRecord(entry)) return line.trim();
    return [entry['message'], entry['error']].filter((each) => typeof each === 'string').join(': ');
  });
  const text = lines
    .filter((line) => line !== '')
    .slice(-END_LINES)
    .join('; ');
  return text.length > END_LENGTH ? `${text.slice(0, END_LENGTH)}…` : text;
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
