import { isEqual } from './equal.ts';
import { ANNOTATIONS } from './annotations.ts';
import { changePods, type ChangedText, type PodResult } from './inject-text.ts';
import { decide } from './decide.ts';
import { inject, uninject } from './inject.ts';
import { parseInjected } from './injected.ts';
import { OWN_CONTAINERS } from './names.ts';
import { podProblem } from './parse-review.ts';
import type { Pod } from './pod.ts';
import type { InjectionSettings } from './settings.ts';
import { podOfPlace, type PodPlace } from './workloads.ts';

/**
 * Injects the sidecar into every workload of a text, with the same result as the webhook. Calling this function is the
 * opt-in: only a workload with `platform.io/inject: "false"` is skipped.
 * @param agentName the agent name for every workload in the text, instead of the workload's own name
 */
export function injectManifests(text: string, settings: InjectionSettings, agentName?: string): ChangedText {
  return changeValidPods(text, (pod, place) => {
    const wanted = pod.metadata?.annotations?.[ANNOTATIONS.inject.name] ?? 'true';
    const decision = decide(
      podOfPlace(place, pod, {
        [ANNOTATIONS.inject.name]: wanted,
        ...(agentName !== undefined && { [ANNOTATIONS.agentName.name]: agentName }),
      }),
      settings,
    );
    if (decision.action === 'refuse') {
      const { rejections } = decision;
      return refuse(rejections[0]?.code ?? '', rejections.map(({ message }) => message).join('; '));
    }
    if (decision.action === 'skip')
      return decision.code === 'not-opted-in'
        ? skip('opted-out', `annotation ${ANNOTATIONS.inject.name} is "false"`)
        : skip(decision.code, 'the pod mirrors a static pod of a node');
    const changed = inject(pod, decision, settings);
    if (isEqual(pod, changed)) return skip('up-to-date', 'already injected with this version and settings');
    const message = [`agent ${decision.plan.agentName}`, ...decision.warnings].join('; ');
    return { action: 'changed', pod: changed, message };
  });
}

/** Removes the sidecar from every workload of a text: the reverse of `injectManifests`. */
export function uninjectManifests(text: string): ChangedText {
  return changeValidPods(text, (pod) => {
    if (parseInjected(pod.metadata)) return { action: 'changed', pod: uninject(pod) };
    const own = pod.spec.initContainers?.find(({ name }) => OWN_CONTAINERS.includes(name));
    return own
      ? refuse(
          'no-record',
          `has a container ${own.name} but no annotation platform.io/injected, which records what to undo`,
        )
      : skip('not-injected', 'not injected');
  });
}

const skip = (code: string, message: string): PodResult => ({ action: 'skipped', code, message });
const refuse = (code: string, message: string): PodResult => ({ action: 'refused', code, message });

function changeValidPods(text: string, change: (pod: Pod, place: PodPlace) => PodResult): ChangedText {
  return changePods(text, (place) => {
    const { pod, path } = place;
    const problem = podProblem(pod, path.length === 0 ? 'pod' : path.join('.'));
    return problem === null ? change(pod as unknown as Pod, place) : refuse('not-a-pod', problem);
  });
}
