import { PORT_TAKEN_EXIT_CODE, SIDECAR_CONTAINER } from '../../core/injection/names.ts';
import type { ContainerStatus, Pod } from '../../kube/types.ts';

/**
 * Another process of the pod has, or had, a port of the sidecar: the sidecar has ended for that reason. It stays so until
 * the container ends for another one. That the sidecar is ready again proves nothing, since the process on port 4001
 * answers the kubelet's probes.
 */
export function isPortTaken(pod: Pod): boolean {
  return endsOf(pod).some(({ exitCode }) => exitCode === PORT_TAKEN_EXIT_CODE);
}

/** The sidecar has failed and does not run: whatever answers on its ports now is something else. */
export function isSidecarDown(pod: Pod): boolean {
  return sidecarStatuses(pod).some(({ state }) => state?.running === undefined) && hasFailed(pod);
}

/** What the cache keeps of a pod's container statuses: the sidecar's, where it has ever failed. */
export function keepSidecarStatuses(pod: Pod): ContainerStatus[] | undefined {
  return hasFailed(pod) ? sidecarStatuses(pod).map(keepStatus) : undefined;
}

const hasFailed = (pod: Pod): boolean => endsOf(pod).some(({ exitCode }) => exitCode !== 0);

/** The last two ends of the sidecar. */
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

/** Without times and messages, which change with each attempt. */
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
