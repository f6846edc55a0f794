import type { BriefInstance } from '../shapes/instance.ts';
import type { ObservationStatus } from '../shapes/observation.ts';

type Instances = Pick<ObservationStatus, 'instances' | 'unlisted'>;

/** The instances of an agent, listed or not. */
export const allInstances = (status: Instances | undefined): readonly BriefInstance[] => [
  ...(status?.instances ?? []),
  ...(status?.unlisted ?? []),
];

/** Time of the last heartbeat of an agent, ISO 8601; null: none yet. */
export const lastSeenOf = (status: Instances & Pick<ObservationStatus, 'lastChecked'>): string | null =>
  allInstances(status)
    .map(({ lastHeartbeat }) => lastHeartbeat)
    .sort()
    .at(-1) ??
  status.lastChecked ??
  null;
