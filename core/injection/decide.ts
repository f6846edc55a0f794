import {
  annotationDefaults,
  ANNOTATIONS,
  describeAnnotationProblem,
  isUnknownAnnotation,
  passedVariables,
  readAnnotations,
  type AnnotationValues,
} from './annotations.ts';
import { agentNameOf } from './agent-name.ts';
import { namedLanes } from '../egress/lane-annotation.ts';
import { NOT_REWRITTEN_REASONS } from '../egress/not-rewritten.ts';
import { DEFAULT_EGRESS, proxyOfLanes, routeEgress } from './egress.ts';
import type { InjectionPlan } from './build-sidecar.ts';
import { withoutInjection, type Target } from './inject.ts';
import { parseInjected } from './injected.ts';
import { meshWarnings } from './mesh-ports.ts';
import { ownOtlpVariable } from './otlp.ts';
import type { Container, Pod } from './pod.ts';
import { rejectionsOf, type Rejection, type Subject } from './rejections.ts';
import { defaultAgentPort } from './routing.ts';
import { quoted } from '../untrusted/quoted.ts';
import type { InjectionSettings } from './settings.ts';

/** Every skip code and its condition. A skipped pod is admitted unchanged. The reference page is generated from this table. */
export const SKIP_SUMMARIES = {
  'not-opted-in': '`platform.io/inject` is absent or `"false"`; the other annotations are not read',
  'namespace-excluded':
    'the pod is in `kube-system`, in the namespace of the release, or in a namespace of the chart value `webhook.excludedNamespaces`; the API server does not call the injector',
  'mirror-pod':
    'the pod mirrors a static pod of a node (`kubernetes.io/config.mirror`), which is already running',
} as const;

export type SkipCode = keyof typeof SKIP_SUMMARIES;

export type Decision =
  | { action: 'skip'; code: Exclude<SkipCode, 'namespace-excluded'> }
  /** All reasons, not only the first. */
  | { action: 'refuse'; rejections: Rejection[] }
  | ({ action: 'inject'; warnings: string[] } & Target);

/**
 * Decides whether a pod is skipped, refused or injected.
 *
 * | `platform.io/inject` | the pod | decision |
 * |---|---|---|
 * | absent, `"false"` | any | skip `not-opted-in` |
 * | anything else | a mirror of a static pod | skip `mirror-pod` |
 * | any annotation of the table with an invalid value | | refuse `annotation-invalid` |
 * | `"true"` | has one or more of `rejectionsOf` | refuse, with every code |
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
    const rejections = messages.map((message) => ({ code: 'annotation-invalid' as const, message }));
    return { action: 'refuse', rejections };
  }
  const record = parseInjected(pod.metadata);
  const subject = subjectOf(record ? withoutInjection(pod, record) : pod, read.values, settings);
  const rejections = rejectionsOf(subject);
  const { agent } = subject;
  // A rule rejects a pod without the agent's container.
  if (rejections.length > 0 || !agent) return { action: 'refuse', rejections };
  const { plan, pod: plain } = subject;
  return {
    action: 'inject',
    plan,
    record,
    spec: plain.spec,
    agent,
    warnings: [
      ...unknownAnnotations(annotations),
      ...otlpWarnings(subject),
      ...egressWarnings(agent, plan),
      ...meshWarnings(pod, plan, settings),
    ],
  };
}

function subjectOf(pod: Pod, values: AnnotationValues, settings: InjectionSettings): Subject {
  const wanted = values.agentContainer;
  const agent =
    wanted === undefined
      ? pod.spec.containers[0]
      : pod.spec.containers.find((container) => container.name === wanted);
  const agentName = agentNameOf(pod.metadata ?? {}, values.agentName);
  const plan = {
    agentName: agentName.name,
    agentPort: values.agentPort ?? (agent ? defaultAgentPort(agent) : 8000),
    manifestConfigMap: values.manifestConfigMap ?? `${agentName.name}-manifest`,
    image: values.image ?? settings.image,
    otlp: values.otlp ?? false,
    egress: {
      lanes: values.egressLanes === undefined ? [] : namedLanes(values.egressLanes),
      mode: values.egressMode ?? null,
      failMode: values.egressFailMode ?? null,
      caConfigMap: values.egressCaConfigMap ?? null,
      connect: values.egressConnect ?? DEFAULT_EGRESS.connect,
      census: values.census ?? DEFAULT_EGRESS.census,
    },
    ...annotationDefaults((key) => values[key] ?? settings[key]),
    passed: passedVariables(values),
  };
  return { pod, settings, values, agentName, agent, plan };
}

/** The API server returns at most 4 KiB of warnings to a client, from all sources together. */
const MAX_WARNINGS = 5;

/** The first of the warnings, and how many there are more. */
function limited(warnings: readonly string[], others: string): string[] {
  const more = warnings.length - MAX_WARNINGS;
  return more > 0 ? [...warnings.slice(0, MAX_WARNINGS), `${more} more ${others}`] : [...warnings];
}

/** Without these warnings, a misspelt annotation would be ignored silently. */
function unknownAnnotations(annotations: Readonly<Record<string, string>>): string[] {
  const warnings = Object.keys(annotations)
    .filter(isUnknownAnnotation)
    .map((name) => `annotation ${quoted(name).slice(1, -1)} is not known to the injector and has no effect`);
  return limited(warnings, 'annotations are not known to the injector');
}

/** Without these warnings, calls would bypass a lane silently. The sidecar has the same list. */
function egressWarnings(agent: Container, { egress }: InjectionPlan): string[] {
  const { egressLanes, egressConnect } = ANNOTATIONS;
  const warnings = routeEgress(agent, egress).notRewritten.map(({ lane, variable, reason }) => {
    const { name } = lane === 'connect' ? egressConnect : egressLanes;
    return `annotation ${name} has no effect on ${variable} (${lane}), because ${NOT_REWRITTEN_REASONS[reason]}`;
  });
  const proxy = proxyOfLanes(agent, egress);
  return [
    ...limited(warnings, 'variables of lanes are not changed'),
    ...(proxy === undefined
      ? []
      : [`calls to the lanes go to the proxy of ${proxy}: add 127.0.0.1 to NO_PROXY of the container`]),
  ];
}

/** Without this warning, an agent whose spans go elsewhere would lack evidence silently. */
function otlpWarnings({ agent, plan }: Subject): string[] {
  const own = plan.otlp && agent ? ownOtlpVariable(agent) : undefined;
  return own === undefined
    ? []
    : [
        `annotation ${ANNOTATIONS.otlp.name} does not change where the agent sends its spans, because its container sets ${own}`,
      ];
}
