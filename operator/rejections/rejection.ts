import { INJECTOR_WEBHOOK, NO_RESPONSE } from '../../core/injection/names.ts';
import { isAgentRef } from '../../core/observation/agent-ref.ts';
import type { StoredEvent } from '../../kube/events.ts';
import type { ObjectReference } from '../../kube/types.ts';
import type { Misfit } from '../agents/fits-condition.ts';
import { onOneLine } from '../../core/untrusted/on-one-line.ts';
import { present } from '../../core/untrusted/present.ts';

/** A controller could not create a pod, because the guard, the injector, a quota or a LimitRange rejected the pod. */
export interface Rejection {
  /** The ReplicaSet, StatefulSet, DaemonSet or Job that tried. */
  controller: ObjectReference & { namespace: string };
  /** The message of what rejected the pod, without the text that the API server adds. */
  message: string;
  /** Set for a quota and a LimitRange, which do not name the container that does not fit. */
  misfit: Misfit['reason'] | null;
  /** The injector was unavailable, so the same pod may be admitted later. */
  isInjectorUnavailable: boolean;
}

/**
 * Reads a FailedCreate Event of a controller; null: the failure has another cause.
 *
 * `Error creating: pods "x" is forbidden: ValidatingAdmissionPolicy 'P' with binding 'P' denied request: MESSAGE`
 * `Error creating: admission webhook "pod.inject.platform.io" denied the request: MESSAGE`
 * `Error creating: pods "x" is forbidden: exceeded quota: MESSAGE`
 * `Error creating: pods "x" is forbidden: [maximum memory usage per Container MESSAGE, MESSAGE]`
 */
export function rejectionOf(event: StoredEvent, guardPolicy: string): Rejection | null {
  const { regarding, note = '' } = event;
  const message =
    after(note, `ValidatingAdmissionPolicy '${guardPolicy}' `, ' denied request: ') ??
    after(note, `admission webhook "${INJECTOR_WEBHOOK}" `, 'denied the request: ');
  const misfit = message === null ? misfitIn(note) : null;
  const text = message ?? misfit?.message;
  if (text === undefined || !regarding?.namespace) return null;
  return {
    controller: { ...regarding, namespace: regarding.namespace },
    message: text,
    misfit: misfit?.reason ?? null,
    isInjectorUnavailable: message?.includes(NO_RESPONSE) ?? false,
  };
}

/** The beginnings of the messages of the admission plugins ResourceQuota and LimitRanger. */
const MISFITS: readonly [Misfit['reason'], RegExp][] = [
  ['QuotaExceeded', /^(exceeded quota: |failed quota: |insufficient quota )/],
  ['OutsideLimitRange', /^\[?((maximum|minimum) \S+ usage per |\S+ max limit to request ratio per )/],
];

function misfitIn(note: string): Misfit | null {
  const message = after(note, 'pods "', ' is forbidden: ');
  const reason = message === null ? undefined : MISFITS.find(([, begin]) => begin.test(message))?.[0];
  return message === null || reason === undefined ? null : { reason, message: onOneLine(message) };
}

function after(note: string, source: string, verb: string): string | null {
  const begin = note.indexOf(source);
  const end = begin < 0 ? -1 : note.indexOf(verb, begin);
  return end < 0 ? null : note.slice(end + verb.length);
}

/** The API server cuts the message of a policy at 5 kB. Other clients may write any text. */
const MAX_NOTE = 8_192;

const keepReference = ({ apiVersion, kind, name, namespace, uid }: ObjectReference): ObjectReference => ({
  ...{ apiVersion, kind, name },
  ...present({ namespace, uid }),
});

/** Reduces an Event to the cached fields; null for Events that are not rejections, which most Events are. */
export function keepEvent(guardPolicy: string): (event: StoredEvent) => StoredEvent | null {
  return (event) => {
    const { regarding, note } = event;
    if (!rejectionOf(event, guardPolicy) || !regarding || !note || note.length > MAX_NOTE) return null;
    const { name, namespace, uid, resourceVersion } = event.metadata;
    const metadata = { name, ...present({ namespace, uid, resourceVersion }) };
    // No object of another kind or name can exist.
    return isAgentRef(regarding) ? { metadata, regarding: keepReference(regarding), note } : null;
  };
}
