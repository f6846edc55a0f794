import { parseInjected } from '../../core/injection/injected.ts';
import { CA_ANNOTATION, NO_ANSWER } from '../../core/injection/names.ts';
import { patchBetween } from '../../core/injection/patch.ts';
import type { Pod } from '../../core/injection/pod.ts';
import type { KubeAnswer } from '../../kube/client.ts';

/**
 * What a check found. First row that holds:
 *
 * | The API server's answer to the pod that opts in | outcome | the injector answers |
 * |---|---|---|
 * | the guard refuses it: no sidecar | no-answer | no |
 * | refused otherwise | refused | no |
 * | admitted without a sidecar: the guard is off, or warns | no-answer | no |
 * | injected by another version, or with other settings: while the release is upgraded | other-version | yes |
 * | injected with other authorities than the caBundle's: while they are exchanged | other-authority | yes |
 * | the expected pod itself is not admitted, so there is nothing to compare with | unusable | yes |
 * | not the expected pod | differs | yes |
 * | the expected pod | passed | yes |
 */
export type Outcome = (typeof OUTCOMES)[number];

export const OUTCOMES = [
  'passed',
  'no-answer',
  'refused',
  'other-version',
  'other-authority',
  'unusable',
  'differs',
] as const;

export interface Verdict {
  outcome: Outcome;
  /** Whether the injector put a sidecar in, the right one or not. */
  answers: boolean;
  /** A sentence for an Event. */
  message: string;
}

/** The first ones say it. */
const MAX_PATHS = 5;

/**
 * `answer`: to the pod that opts in. `reference`: to the expected pod, which opts out, so that the API server fills in
 * its own defaults in both and nobody has to know them. null: not asked, since there is no sidecar to compare.
 */
export function verdictOf(
  answer: KubeAnswer<Pod>,
  expected: Pod,
  reference: KubeAnswer<Pod> | null,
): Verdict {
  if (!answer.ok)
    return {
      outcome: answer.message.includes(NO_ANSWER) ? 'no-answer' : 'refused',
      answers: false,
      message: answer.message,
    };
  const [found, wanted] = [answer.body, expected].map((pod) => parseInjected(pod.metadata));
  if (!found) return { outcome: 'no-answer', answers: false, message: 'a pod that opts in has no sidecar' };
  const verdict = (outcome: Outcome, message: string): Verdict => ({ outcome, answers: true, message });
  if (found.version !== wanted?.version || found.config !== wanted.config)
    return verdict(
      'other-version',
      `the injector is of version ${found.version} with configuration ${found.config}, not of ${wanted?.version} with ${wanted?.config}`,
    );
  if (caOf(answer.body) !== caOf(expected))
    return verdict('other-authority', 'the injector hands out other authorities than the caBundle has');
  if (!reference?.ok)
    return verdict(
      'unusable',
      `the expected pod is not admitted: ${reference?.message ?? 'it was not sent'}`,
    );
  const paths = patchBetween(comparable(reference.body), comparable(answer.body)).map(({ path }) => path);
  if (paths.length === 0) return verdict('passed', 'the injected pod is the expected one');
  const more = paths.length > MAX_PATHS ? ` and ${paths.length - MAX_PATHS} more` : '';
  return verdict(
    'differs',
    `the injected pod is not the expected one at ${paths.slice(0, MAX_PATHS).join(', ')}${more}`,
  );
}

const caOf = (pod: Pod): string | undefined => pod.metadata?.annotations?.[CA_ANNOTATION];

/** Without what the API server makes anew for each object, and with volumes in one order, which means nothing. */
function comparable(pod: Pod): Pod {
  const { uid: _u, creationTimestamp: _c, managedFields: _m, ...metadata } = pod.metadata ?? {};
  const text = JSON.stringify({ ...pod, metadata }).replaceAll(/"kube-api-access-\w+"/g, '"kube-api-access"');
  const plain = JSON.parse(text) as Pod;
  const { 'platform.io/inject': _i, ...annotations } = plain.metadata?.annotations ?? {};
  const volumes = [...(plain.spec.volumes ?? [])].sort((a, b) => (a.name < b.name ? -1 : 1));
  return { ...plain, metadata: { ...plain.metadata, annotations }, spec: { ...plain.spec, volumes } };
}
