import { INJECTOR_WEBHOOK, NO_ANSWER } from '../../core/injection/names.ts';
import type { StoredEvent } from '../../kube/events.ts';
import type { ObjectReference } from '../../kube/types.ts';
import { present } from '../../core/untrusted/present.ts';

/** A controller could not create a pod, because the guard or the injector rejected the pod. */
export interface Rejection {
  /** The ReplicaSet, StatefulSet, DaemonSet or Job that tried. */
  controller: ObjectReference & { namespace: string };
  /** The message of the guard or injector, without the text that the API server adds. */
  message: string;
  /** The injector was unavailable, so the same pod may be admitted later. */
  isInjectorUnavailable: boolean;
}

/**
 * Reads a FailedCreate Event of a controller; null: the guard or injector did not cause the failure.
 *
 * `Error creating: pods "x" is forbidden: ValidatingAdmissionPolicy 'P' with binding 'P' denied request: MESSAGE`
 * `Error creating: admission webhook "pod.inject.platform.io" denied the request: MESSAGE`
 */
export function rejectionOf(event: StoredEvent, guardPolicy: string): Rejection | null {
  const { regarding, note = '' } = event;
  const message =
    after(note, `ValidatingAdmissionPolicy '${guardPolicy}' `, ' denied request: ') ??
    after(note, `admission webhook "${INJECTOR_WEBHOOK}" `, 'denied the request: ');
  if (message === null || !regarding?.namespace) return null;
  const controller = { ...regarding, namespace: regarding.namespace };
  return { controller, message, isInjectorUnavailable: message.includes(NO_ANSWER) };
}

function after(note: string, source: string, verb: string): string | null {
  const begin = note.indexOf(source);
  const end = begin < 0 ? -1 : note.indexOf(verb, begin);
  return end < 0 ? null : note.slice(end + verb.length);
}

/** Reduces an Event to the cached fields; null for Events that are not rejections, which most Events are. */
export function keepEvent(guardPolicy: string): (event: StoredEvent) => StoredEvent | null {
  return (event) => {
    const { regarding, note } = event;
    if (!rejectionOf(event, guardPolicy) || !regarding || !note) return null;
    const { name, namespace, uid, resourceVersion } = event.metadata;
    return { metadata: { name, ...present({ namespace, uid, resourceVersion }) }, regarding, note };
  };
}
