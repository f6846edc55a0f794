import { PORT_TAKEN_EXIT_CODE, SIDECAR_CONTAINER } from '../../core/injection/names.ts';
import type { ContainerStatus, Pod } from '../../kube/types.ts';

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
  return sidecarStatuses(pod).some(({ state }) => state?.running === undefined) && hasFailed(pod);
}

/** The container statuses to cache: those of a sidecar that has failed. */
export function keepSidecarStatuses(pod: Pod): ContainerStatus[] | undefined {
  return hasFailed(pod) ? sidecarStatuses(pod).map(keepStatus) : undefined;
}

const hasFailed = (pod: Pod): boolean => endsOf(pod).some(({ exitCode }) => exitCode !== 0);

/** The last two terminations of the sidecar. */
function endsOf(pod: Pod): { exitCode: number }[] {
  return sidecarStatuses(pod).flatMap(({ state, lastState }) =>
    [state?.terminated, lastState?.terminated].filter((end) => end !== undefined),
  );
}

function sidecarStatuses({ status }: Pod): ContainerStatus[] {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].filter(
    ({ name }) => name === SIDECAR_CONTAINER,
  );
}

/** Omits times and messages, which change with each attempt. */
function keepStatus({ name, state, lastState }: ContainerStatus): ContainerStatus {
  return {
    name,
    state: state?.running === undefined ? keepEnd(state) : { running: {} },
    lastState: keepEnd(lastState),
  };
}

function keepEnd(state: ContainerStatus['state']): { terminated?: { exitCode: number } } {
  const end = state?.terminated;
  return end === undefined ? {} : { terminated: { exitCode: end.exitCode } };
}
