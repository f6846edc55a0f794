import {
  ANNOTATIONS,
  describeAnnotationProblem,
  readAnnotations,
  type AnnotationValues,
} from './annotations.ts';
import { agentNameOf } from './agent-name.ts';
import type { InjectionPlan } from './build-sidecar.ts';
import { uninject } from './inject.ts';
import { CA_ANNOTATION, INJECTED_ANNOTATION } from './names.ts';
import type { Pod } from './pod.ts';
import { RULES, type Rejection, type Subject } from './rejections.ts';
import { defaultAgentPort } from './routing.ts';
import { shown } from './shown.ts';
import type { InjectionSettings } from './settings.ts';

/** Every code of a pod that is let through as it is, and when; the reference page is generated from this table. */
export const SKIP_SUMMARIES = {
  'not-opted-in': '`platform.io/inject` is absent or `"false"`; other annotations are not even read',
  'namespace-excluded':
    'the pod is in `kube-system`, in the namespace of the release, or in one of the chart value `webhook.excludedNamespaces`: the injector is not even asked',
  'mirror-pod': 'the pod mirrors a static pod of a node (`kubernetes.io/config.mirror`), and runs already',
} as const;

export type SkipCode = keyof typeof SKIP_SUMMARIES;

export type Decision =
  | { action: 'skip'; code: Exclude<SkipCode, 'namespace-excluded'> }
  /** Every reason, not the first alone. */
  | { action: 'refuse'; rejections: Rejection[] }
  | { action: 'inject'; plan: InjectionPlan; warnings: string[] };

/**
 * What becomes of a pod.
 *
 * | `platform.io/inject` | the pod | decision |
 * |---|---|---|
 * | absent, `"false"` | any | skip `not-opted-in` |
 * | anything else | a mirror of a static pod | skip `mirror-pod` |
 * | any annotation with a value that its row does not allow | | refuse `annotation-invalid` |
 * | `"true"` | breaks one or more of RULES | refuse, with every code |
 * | `"true"` | otherwise | inject |
 */
export function decide(pod: Pod, settings: InjectionSettings): Decision {
  const annotations = pod.metadata?.annotations ?? {};
  const wanted = annotations[ANNOTATIONS.inject.name];
  if (wanted === undefined || wanted === 'false') return { action: 'skip', code: 'not-opted-in' };
  if (annotations['kubernetes.io/config.mirror'] !== undefined) return { action: 'skip', code: 'mirror-pod' };
  const read = readAnnotations(annotations);
  if (!read.ok) {
    const messages = read.problems.map(describeAnnotationProblem);
    return {
      action: 'refuse',
      rejections: messages.map((message) => ({ code: 'annotation-invalid', message })),
    };
  }
  const subject = subjectOf(uninject(pod), read.values, settings);
  const rejections = RULES.flatMap((rule) => rule(subject) ?? []);
  if (rejections.length > 0) return { action: 'refuse', rejections };
  return { action: 'inject', plan: planOf(subject), warnings: unknownAnnotations(annotations) };
}

function subjectOf(pod: Pod, values: AnnotationValues, settings: InjectionSettings): Subject {
  const wanted = values.agentContainer;
  const agent =
    wanted === undefined
      ? pod.spec.containers[0]
      : pod.spec.containers.find((container) => container.name === wanted);
  return {
    pod,
    settings,
    values,
    agentName: agentNameOf(pod.metadata ?? {}, values.agentName),
    agent,
    agentPort: values.agentPort ?? (agent ? defaultAgentPort(agent) : 8000),
    resources: {
      cpuRequest: values.cpuRequest ?? settings.resources.cpuRequest,
      cpuLimit: values.cpuLimit ?? settings.resources.cpuLimit,
      memoryRequest: values.memoryRequest ?? settings.resources.memoryRequest,
      memoryLimit: values.memoryLimit ?? settings.resources.memoryLimit,
    },
  };
}

function planOf({ settings, values, agentName, agent, agentPort, resources }: Subject): InjectionPlan {
  return {
    agentName: agentName.name,
    agentContainer: agent?.name ?? '',
    agentPort,
    manifestConfigMap: values.manifestConfigMap ?? `${agentName.name}-manifest`,
    mode: values.mode ?? settings.mode,
    image: values.image ?? settings.image,
    logLevel: values.logLevel ?? settings.logLevel,
    resources,
  };
}

/** Those that wish something, and those of ours that stand on pods for other reasons. */
const KNOWN_ANNOTATIONS: ReadonlySet<string> = new Set([
  ...Object.values(ANNOTATIONS).map((row) => row.name),
  INJECTED_ANNOTATION,
  CA_ANNOTATION,
  'platform.io/retry',
]);

/** A client is shown 4 KiB of warnings at most, whoever they come from. */
const MAX_WARNINGS = 5;

/** A misspelt annotation would otherwise be a wish that nobody hears. */
function unknownAnnotations(annotations: Readonly<Record<string, string>>): string[] {
  const unknown = Object.keys(annotations).filter(
    (name) => name.startsWith('platform.io/') && !KNOWN_ANNOTATIONS.has(name),
  );
  const warnings = unknown
    .slice(0, MAX_WARNINGS)
    .map(
      (name) => `annotation ${shown(name).slice(1, -1)} is none that the injector knows; it has no effect`,
    );
  const more = unknown.length - warnings.length;
  return more > 0 ? [...warnings, `${more} more annotations are none that the injector knows`] : warnings;
}
