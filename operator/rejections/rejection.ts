import { INJECTOR_WEBHOOK, NO_ANSWER } from '../../core/injection/names.ts';
import type { StoredEvent } from '../../kube/events.ts';
import type { ObjectReference } from '../../kube/types.ts';

/** A controller could not make a pod, because the guard or the injector refused it. */
export interface Rejection {
  /** The ReplicaSet, StatefulSet, DaemonSet or Job that tried. */
  controller: ObjectReference & { namespace: string };
  /** What was said, without the words of the API server around it. */
  words: string;
  /** The injector was away: the same pod may pass when it is back. */
  isNoAnswer: boolean;
}

/**
 * What an Event of a controller that failed to create a pod says about us; null: somebody else's reason.
 *
 * `Error creating: pods "x" is forbidden: ValidatingAdmissionPolicy 'P' with binding 'P' denied request: WORDS`
 * `Error creating: admission webhook "pod.inject.platform.io" denied the request: WORDS`
 */
export function rejectionOf(event: StoredEvent, guardPolicy: string): Rejection | null {
  const { regarding, note = '' } = event;
  const words =
    after(note, `ValidatingAdmissionPolicy '${guardPolicy}' `, ' denied request: ') ??
    after(note, `admission webhook "${INJECTOR_WEBHOOK}" `, 'denied the request: ');
  if (words === null || !regarding?.namespace) return null;
  const controller = { ...regarding, namespace: regarding.namespace };
  return { controller, words, isNoAnswer: words.includes(NO_ANSWER) };
}

function after(note: string, who: string, verb: string): string | null {
  const begin = note.indexOf(who);
  const end = begin < 0 ? -1 : note.indexOf(verb, begin);
  return end < 0 ? null : note.slice(end + verb.length);
}

/** What the cache keeps of an Event; null: nothing, as of most: a cluster has many, and few are of ours. */
export function keepEvent(guardPolicy: string): (event: StoredEvent) => StoredEvent | null {
  return (event) => {
    const { regarding, note } = event;
    if (!rejectionOf(event, guardPolicy) || !regarding || !note) return null;
    const { name, namespace, uid, resourceVersion } = event.metadata;
    const metadata = Object.fromEntries(
      Object.entries({ name, namespace, uid, resourceVersion }).filter(([, value]) => value !== undefined),
    ) as unknown as StoredEvent['metadata'];
    return { metadata, regarding, note };
  };
}
