import { parseInjected } from '../../core/injection/injected.ts';
import { CA_ANNOTATION, NO_RESPONSE } from '../../core/injection/names.ts';
import { patchBetween } from '../../core/injection/patch.ts';
import type { Pod } from '../../core/injection/pod.ts';
import type { KubeResponse } from '../../kube/client.ts';

/**
 * The outcome of a check. The first matching row applies:
 *
 * | Response of the API server to the opted-in pod | outcome | the injector responds |
 * |---|---|---|
 * | the guard rejects the pod: no sidecar | no-answer | no |
 * | another rejection | refused | no |
 * | admitted without a sidecar: the guard is off or only warns | no-answer | no |
 * | injected by another version or with other settings: during an upgrade | other-version | yes |
 * | injected with another CA than the caBundle: during a CA rotation | other-authority | yes |
 * | the expected pod itself is rejected, so there is nothing to compare with | unusable | yes |
 * | differs from the expected pod | differs | yes |
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

export interface CanaryResult {
  outcome: Outcome;
  /** Whether the injector injected a sidecar, correct or not. */
  injectorResponded: boolean;
  /** A sentence for an Event. */
  message: string;
}

/** The first paths are enough for diagnosis. */
const MAX_PATHS = 5;

/**
 * `response`: to the opted-in pod. `reference`: to the expected pod, which opts out; the API server adds its defaults to
 * both pods, so the comparison does not need to know them. null: not requested, because there is no sidecar to compare.
 */
export function resultOf(
  response: KubeResponse<Pod>,
  expected: Pod,
  reference: KubeResponse<Pod> | null,
): CanaryResult {
  if (!response.ok)
    return {
      outcome: response.message.includes(NO_RESPONSE) ? 'no-answer' : 'refused',
      injectorResponded: false,
      message: response.message,
    };
  const [found, wanted] = [response.body, expected].map((pod) => parseInjected(pod.metadata));
  if (!found)
    return { outcome: 'no-answer', injectorResponded: false, message: 'the opted-in pod has no sidecar' };
  const result = (outcome: Outcome, message: string): CanaryResult => ({
    outcome,
    injectorResponded: true,
    message,
  });
  if (found.version !== wanted?.version || found.config !== wanted.config)
    return result(
      'other-version',
      `the injector has version ${found.version} and configuration ${found.config}, expected ${wanted?.version} and ${wanted?.config}`,
    );
  if (caOf(response.body) !== caOf(expected))
    return result('other-authority', 'the injector uses another CA than the caBundle');
  if (!reference?.ok)
    return result('unusable', `the expected pod was rejected: ${reference?.message ?? 'it was not sent'}`);
  const paths = patchBetween(comparable(reference.body), comparable(response.body)).map(({ path }) => path);
  if (paths.length === 0) return result('passed', 'the injected pod is the expected one');
  const more = paths.length > MAX_PATHS ? ` and ${paths.length - MAX_PATHS} more` : '';
  return result(
    'differs',
    `the injected pod differs from the expected pod at ${paths.slice(0, MAX_PATHS).join(', ')}${more}`,
  );
}

const caOf = (pod: Pod): string | undefined => pod.metadata?.annotations?.[CA_ANNOTATION];

/** Removes the values that the API server generates per object and sorts the volumes, whose order has no meaning. */
function comparable(pod: Pod): Pod {
  const { uid: _u, creationTimestamp: _c, managedFields: _m, ...metadata } = pod.metadata ?? {};
  const text = JSON.stringify({ ...pod, metadata }).replaceAll(/"kube-api-access-\w+"/g, '"kube-api-access"');
  const plain = JSON.parse(text) as Pod;
  const { 'platform.io/inject': _i, ...annotations } = plain.metadata?.annotations ?? {};
  const volumes = [...(plain.spec.volumes ?? [])].sort((a, b) => (a.name < b.name ? -1 : 1));
  return { ...plain, metadata: { ...plain.metadata, annotations }, spec: { ...plain.spec, volumes } };
}
