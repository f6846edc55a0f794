import {
  MANIFEST_INVALID_EXIT_CODE,
  POLICY_RULES_CONTAINER,
  PORT_TAKEN_EXIT_CODE,
  SIDECAR_CONTAINER,
} from '../../core/injection/names.ts';
import { onOneLine } from '../../core/untrusted/on-one-line.ts';
import { present } from '../../core/untrusted/present.ts';
import type { ContainerStatus, Pod } from '../../kube/types.ts';

type End = NonNullable<NonNullable<ContainerStatus['state']>['terminated']>;

const OUT_OF_MEMORY = 'OOMKilled';

/**
 * The sidecar has ended because another process in the pod uses or used one of its ports. The result stays true until the
 * container ends for another reason. A ready sidecar proves nothing, because the other process on port 4001 may respond to the
 * kubelet's probes.
 */
export function isPortTaken(pod: Pod): boolean {
  return endsOf(pod).some(({ exitCode }) => exitCode === PORT_TAKEN_EXIT_CODE);
}

/** The sidecar has failed and is not running, so another process may listen on its ports. */
export function isSidecarDown(pod: Pod): boolean {
  return statusesOf(pod).some(({ state }) => state?.running === undefined) && endsOf(pod).some(isFailure);
}

/** The kernel has killed the sidecar because of its memory limit; true until the container ends for another reason. */
export function isOutOfMemory(pod: Pod): boolean {
  return endsOf(pod).some(({ reason }) => reason === OUT_OF_MEMORY);
}

/** The startup probe has passed, so the sidecar has read its manifest and serves. */
export function hasStarted(pod: Pod): boolean {
  return statusesOf(pod).some(({ started, state }) => started === true && state?.running !== undefined);
}

/** No container that reads the manifest has started, so the volumes of the pod may be missing. */
export function awaitsVolumes(pod: Pod): boolean {
  return !hasStarted(pod) && statusesOf(pod, MANIFEST_READERS).every((status) => !isPastVolumes(status));
}

/**
 * The termination message of a sidecar that cannot use its manifest, on one line; null: there is none, or the sidecar serves. The text
 * comes from the pod, so it is bounded and has no control characters.
 */
export function manifestProblemOf(pod: Pod): string | null {
  if (hasStarted(pod)) return null;
  const ends = statusesOf(pod, MANIFEST_READERS).map(
    ({ state, lastState }) => state?.terminated ?? lastState?.terminated,
  );
  const end = ends.find((each) => each?.exitCode === MANIFEST_INVALID_EXIT_CODE);
  return end === undefined ? null : onOneLine(end.message ?? 'see the log of the sidecar');
}

/**
 * The containers of the pod have started, or its sidecar has failed before. A pod whose native sidecar ends again and again never
 * gets the phase Running.
 */
export function mayReport(pod: Pod): boolean {
  return pod.status?.phase === 'Running' || endsOf(pod).some(isFailure);
}

/** The container statuses to cache: those of a sidecar that has started, has failed, or waits for something else than volumes. */
export function keepSidecarStatuses(pod: Pod): ContainerStatus[] | undefined {
  if (hasStarted(pod) && !endsOf(pod).some(isFailure)) return STARTED;
  const statuses = statusesOf(pod, MANIFEST_READERS);
  return statuses.some(isPastVolumes) ? statuses.map(keepStatus) : undefined;
}

/** The reasons of a container that waits for its pod's volumes, or for an earlier container. */
const EARLY: readonly string[] = ['PodInitializing', 'ContainerCreating'];

function isPastVolumes({ state, lastState }: ContainerStatus): boolean {
  const reason = state?.waiting?.reason;
  return (
    (state?.running ?? state?.terminated ?? lastState?.terminated) !== undefined ||
    (reason !== undefined && !EARLY.includes(reason))
  );
}

/** Shared by all pods in the cache. */
const STARTED: ContainerStatus[] = [{ name: SIDECAR_CONTAINER, started: true, state: { running: {} } }];

const MANIFEST_READERS: readonly string[] = [SIDECAR_CONTAINER, POLICY_RULES_CONTAINER];

const isFailure = ({ exitCode }: End): boolean => exitCode !== 0;

/** The last two terminations of the sidecar, the newer one first. */
function endsOf(pod: Pod): End[] {
  return statusesOf(pod).flatMap(({ state, lastState }) =>
    [state?.terminated, lastState?.terminated].filter((end) => end !== undefined),
  );
}

function statusesOf({ status }: Pod, names = [SIDECAR_CONTAINER] as readonly string[]): ContainerStatus[] {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].filter(({ name }) =>
    names.includes(name),
  );
}

/** Omits times and other messages, which change with each attempt. */
function keepStatus({ name, started, state, lastState }: ContainerStatus): ContainerStatus {
  return {
    name,
    ...(started === true && { started }),
    state: state?.running === undefined ? keepEnd(state) : { running: {} },
    lastState: keepEnd(lastState),
  };
}

function keepEnd(state: ContainerStatus['state']): NonNullable<ContainerStatus['state']> {
  const { waiting, terminated } = state ?? {};
  if (terminated === undefined)
    return waiting?.reason === undefined ? {} : { waiting: { reason: waiting.reason } };
  const { exitCode, reason, message } = terminated;
  const kept = {
    reason: reason === OUT_OF_MEMORY ? reason : undefined,
    message: exitCode === MANIFEST_INVALID_EXIT_CODE && message ? onOneLine(message) : undefined,
  };
  return { terminated: { exitCode, ...present(kept) } };
}
