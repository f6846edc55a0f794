import { agentNameOf } from '../../core/injection/agent-name.ts';
import { ANNOTATIONS } from '../../core/injection/annotations.ts';
import { SKIP_SUMMARIES, type SkipCode } from '../../core/injection/decide.ts';
import { optsIn } from '../../core/injection/drift.ts';
import { AGENT_LABEL, isDnsLabel } from '../../core/injection/names.ts';
import { REJECTION_SUMMARIES } from '../../core/injection/rejections.ts';
import { keyText } from '../../kube/resources.ts';
import type { Pod } from '../../kube/types.ts';
import { hasSidecar } from './agent-pods.ts';
import { MIRROR_ANNOTATION } from '../../kube/pods.ts';

const NAMELESS = {
  'agent-name-unknown': REJECTION_SUMMARIES['agent-name-unknown'],
  'agent-name-invalid': REJECTION_SUMMARIES['agent-name-invalid'],
} as const;

/** Why an opted-in pod never gets a sidecar or an AgentObservation. */
export type SkippedPodCode = Exclude<SkipCode, 'not-opted-in'> | keyof typeof NAMELESS;

export const SKIPPED_POD_SUMMARIES: Readonly<Record<SkippedPodCode, string>> = {
  ...SKIP_SUMMARIES,
  ...NAMELESS,
};

/** The agent that a pod belongs to; null: the pod does not concern this process. */
export type Claim = { kind: 'agent'; key: string } | { kind: 'skipped'; code: SkippedPodCode } | null;

/**
 * | Pod | Claim |
 * |---|---|
 * | label `platform.io/agent` with a DNS label | the agent of that name |
 * | opts in, mirrors a static pod | skipped `mirror-pod` |
 * | opts in, in a namespace that is excluded from injection | skipped `namespace-excluded` |
 * | opts in | the agent whose name the injector would derive |
 * | opts in, and the injector cannot derive a name | skipped `agent-name-unknown`, `agent-name-invalid` |
 * | all other pods | null |
 */
export function claimOf(pod: Pod, excludedNamespaces: readonly string[]): Claim {
  const { namespace, labels, annotations = {} } = pod.metadata;
  if (namespace === undefined) return null;
  const label = labels?.[AGENT_LABEL];
  if (label !== undefined)
    return isDnsLabel(label) ? { kind: 'agent', key: keyText({ namespace, name: label }) } : null;
  if (!optsIn(annotations)) return null;
  const code = skipCodeOf(pod, excludedNamespaces);
  if (code !== null) return { kind: 'skipped', code };
  const name = agentNameOf(pod.metadata, annotations[ANNOTATIONS.agentName.name]);
  return name.ok
    ? { kind: 'agent', key: keyText({ namespace, name: name.name }) }
    : { kind: 'skipped', code: `agent-name-${name.reason}` };
}

/** Whether the pod makes its workload an agent: the pod has the sidecar or should have it. */
export function makesAgent(pod: Pod, excludedNamespaces: readonly string[]): boolean {
  if (hasSidecar(pod.spec)) return true;
  return optsIn(pod.metadata.annotations ?? {}) && skipCodeOf(pod, excludedNamespaces) === null;
}

function skipCodeOf(
  pod: Pod,
  excludedNamespaces: readonly string[],
): Exclude<SkipCode, 'not-opted-in'> | null {
  if (pod.metadata.annotations?.[MIRROR_ANNOTATION] !== undefined) return 'mirror-pod';
  return excludedNamespaces.includes(pod.metadata.namespace ?? '') ? 'namespace-excluded' : null;
}
