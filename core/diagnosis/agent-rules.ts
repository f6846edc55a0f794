import { driftOf } from '../injection/drift.ts';
import { isDnsSubdomain } from '../injection/names.ts';
import { describeProblem } from '../manifest/describe-problem.ts';
import { parseManifest } from '../manifest/parse-manifest.ts';
import type { AgentObservation, ConditionType } from '../observation/observation.ts';
import type { InstalledFacts, ManifestFacts, PodFacts, WorkloadFacts } from './facts.ts';
import { judged, judgedBoth, together, type CheckRule, type Problem } from './rule.ts';

/** Whether the workloads that opt in are what their owners believe. */
export const AGENT_RULES: readonly CheckRule<InstalledFacts>[] = [
  {
    code: 'manifest-missing',
    severity: 'error',
    when: 'the ConfigMap with the manifest of a workload that opts in is not there, or has no key `agent.yaml`: its pods cannot start',
    remediation: 'Make it from the file: `kubectl create configmap <agent>-manifest --from-file=agent.yaml`.',
    look: (facts) => ofManifests(facts, missingManifest),
  },
  {
    code: 'manifest-invalid',
    severity: 'error',
    when: 'what is in the ConfigMap is no valid manifest: a sidecar that starts with it stops again',
    remediation: 'Mend the file (`platform validate agent.yaml` names every problem) and apply the ConfigMap.',
    look: (facts) => ofManifests(facts, invalidManifest),
  },
  {
    code: 'workload-refused',
    severity: 'error',
    when: 'the pods of a Deployment that opts in are refused: by the guard, the injector, Pod Security, a quota',
    remediation: 'The words of the API server say why.',
    look: ({ workloads }) =>
      judged(workloads, (all) =>
        all.flatMap((workload) =>
          workload.refused === null
            ? []
            : [
                ofWorkload(
                  workload,
                  `its pods are refused: ${workload.refused}`,
                  `kubectl describe ${workload.kind.toLowerCase()} ${workload.name} -n ${workload.namespace}`,
                ),
              ],
        ),
      ),
  },
  {
    code: 'namespace-excluded',
    severity: 'warning',
    when: 'a workload opts in, in a namespace in which nothing is injected',
    remediation: 'Run the agent elsewhere, or take the namespace out of `webhook.excludedNamespaces`.',
    look: ({ workloads, injector }) =>
      judgedBoth(injector, workloads, (found, all) =>
        all
          .filter(({ namespace }) => found?.excluded.includes(namespace))
          .map((workload) =>
            ofWorkload(
              workload,
              'opts in, in a namespace in which nothing is injected',
              'run it in another namespace, or change webhook.excludedNamespaces',
            ),
          ),
      ),
  },
  {
    code: 'pod-without-sidecar',
    severity: 'error',
    when: 'a pod that opts in runs without a sidecar: it was made before the installation, or while the guard was off',
    remediation: 'Replace it: `kubectl rollout restart`.',
    look: (facts) =>
      judged(facts.pods, (pods) =>
        pods
          .filter((pod) => driftOf(pod, null) === 'sidecar-missing' && !isExcluded(facts, pod.namespace))
          .map((pod) => ofPod(pod, 'opts in and runs without a sidecar')),
      ),
  },
  {
    code: 'pod-outdated',
    severity: 'warning',
    when: 'a pod has a sidecar of another version, or of other settings, than the injector gives today',
    remediation: 'Replace it when it suits: `kubectl rollout restart`.',
    look: ({ pods, trial }) =>
      judgedBoth(trial, pods, (today, all) =>
        today.outcome === 'injected' ? all.flatMap((pod) => outdated(pod, today)) : [],
      ),
  },
  condition('agent-silent', {
    severity: 'error',
    type: 'Reporting',
    is: (status, reason) => status === 'False' && reason === 'Stale',
    when: 'an agent that reported no longer does',
    remediation: 'Look at its pods, and at the log of their sidecars: the control plane may be out of their reach.',
  }),
  condition('agent-port-taken', {
    severity: 'error',
    type: 'Routed',
    is: (status, reason) => status === 'False' && reason === 'PortTaken',
    when: 'another process of a pod has port 4000 or 4001, so that the sidecar cannot start: condition `Routed`',
    remediation: 'Let that process listen on another port, and restart the workload.',
  }),
  condition('agent-bypassed', {
    severity: 'warning',
    type: 'Routed',
    is: (status, reason) => status === 'False' && reason !== 'PortTaken',
    when: "a Service sends traffic to the agent's own port, past the sidecar: condition `Routed`",
    remediation: "Let the Service target the agent's port by its name, or port 4000.",
  }),
  condition('agent-conflict', {
    severity: 'error',
    type: 'Conflict',
    is: (status) => status === 'True',
    when: 'two workloads of a namespace claim one agent name: condition `Conflict`',
    remediation: 'Give one of them another name: annotation `platform.io/agent-name`.',
  }),
  condition('agent-not-shown', {
    severity: 'warning',
    type: 'Compliant',
    is: (status, reason) => status === 'Unknown' && reason === 'NotShown',
    when: 'too little of what the manifest of an agent declares was shown in the last 24 hours: condition `Compliant`. An agent that reports nothing has a good grade and is not compliant',
    remediation: 'Let the agent report what it does (docs/guide/agent.md), or submit proofs. [evidence.md](evidence.md) has what shows each item.',
  }),
  condition('agent-policy-not-loaded', {
    severity: 'error',
    type: 'PolicyLoaded',
    is: (status, reason) => status === 'False' && reason === 'PolicyNotLoaded',
    when: "the policy engine answers without the agent's rules: condition `PolicyLoaded`",
    remediation: 'Look at the log of the sidecar and of the engine beside it.',
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
  return { code, ...rest, look: ({ observations }) => judged(observations, (all) => all.flatMap(find)) };
}

type JudgeManifest = (workload: WorkloadFacts, manifest: ManifestFacts) => Problem[];

function ofManifests({ workloads }: InstalledFacts, judge: JudgeManifest): ReturnType<typeof together> {
  if (!workloads.known) return { problems: [], unknown: [workloads.why] };
  return together(
    workloads.value.flatMap((workload) => {
      const { manifest } = workload;
      return manifest === null ? [] : [judged(manifest.text, () => judge(workload, manifest))];
    }),
  );
}

function missingManifest(workload: WorkloadFacts, { configMap, text }: ManifestFacts): Problem[] {
  if (!text.known || text.value.state === 'there') return [];
  const isAbsent = text.value.state === 'absent';
  const make = `kubectl create configmap ${configMap} -n ${workload.namespace} --from-file=agent.yaml`;
  return [
    ofWorkload(
      workload,
      isAbsent
        ? `its ConfigMap ${configMap} is not there`
        : `its ConfigMap ${configMap} has no key agent.yaml`,
      isAbsent ? make : `${make} --dry-run=client -o yaml | kubectl apply -f -`,
    ),
  ];
}

/** The first ones say it. */
const MAX_PROBLEMS = 3;

function invalidManifest(workload: WorkloadFacts, { configMap, text }: ManifestFacts): Problem[] {
  if (!text.known || text.value.state !== 'there') return [];
  const parsed = parseManifest(text.value.text);
  if (parsed.ok) return [];
  const said = parsed.problems.slice(0, MAX_PROBLEMS).map((each) => describeProblem('agent.yaml', each));
  const more = parsed.problems.length - said.length;
  const rest = more > 0 ? ` and ${more} more` : '';
  return [
    ofWorkload(
      workload,
      `its ConfigMap ${configMap} holds no valid manifest: ${said.join('; ')}${rest}`,
      `kubectl get configmap ${configMap} -n ${workload.namespace} -o jsonpath='{.data.agent\\.yaml}' > agent.yaml; platform validate agent.yaml`,
    ),
  ];
}

function ofWorkload({ kind, namespace, name }: WorkloadFacts, what: string, hint: string): Problem {
  const subject = `${kind} ${namespace}/${name}`;
  return { subject, message: `${kind} ${name} in ${namespace}: ${what}`, hint };
}

function ofPod({ namespace, name, owner }: PodFacts, what: string): Problem {
  return {
    subject: `Pod ${namespace}/${name}`,
    message: `pod ${name} in ${namespace} ${what}`,
    hint: replaceCommand({ namespace, name, owner }),
  };
}

const RESTARTED = ['Deployment', 'StatefulSet', 'DaemonSet'];

/** How a pod is made anew by whoever makes it. */
export function replaceCommand({
  namespace,
  name,
  owner,
}: Pick<PodFacts, 'namespace' | 'name' | 'owner'>): string {
  // A name comes from the pod's own metadata, where it may be anything, and ends on somebody's command line.
  if (owner !== null && RESTARTED.includes(owner.kind) && isDnsSubdomain(owner.name))
    return `kubectl rollout restart ${owner.kind.toLowerCase()} ${owner.name} -n ${namespace}`;
  const own = `kubectl delete pod ${name} -n ${namespace}`;
  return owner === null ? `${own}, and create it again` : own;
}

function outdated(pod: PodFacts, today: { version: string; config: string }): Problem[] {
  const what = outdatedWords(pod, today);
  return what === null ? [] : [ofPod(pod, what)];
}

function outdatedWords(
  pod: PodFacts,
  { version, config }: { version: string; config: string },
): string | null {
  switch (driftOf(pod, { version, configHash: config })) {
    case 'version-outdated':
      return `has a sidecar of version ${pod.injected?.version}, the injector is ${version}`;
    case 'configuration-outdated':
      return 'has a sidecar with settings that the injector has no longer';
    case 'sidecar-missing':
    case 'not-opted-in':
    case 'record-missing':
    case null:
      return null;
  }
}

function isExcluded({ injector }: InstalledFacts, namespace: string): boolean {
  return injector.known && injector.value?.excluded.includes(namespace) === true;
}
