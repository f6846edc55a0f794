import { contextOf } from '../../../core/observation/context-of.ts';
import { isMirrored } from '../../../core/observation/mirrored.ts';
import type { AgentObservation, ObservationStatus } from '../../../core/observation/observation.ts';
import { statusOf } from '../../../core/observation/status-of.ts';
import { sameJson } from '../../../kube/merge-patch.ts';
import { keyText } from '../../../kube/resources.ts';
import type { Clock } from '../../../runtime/clock.ts';
import { describeError, type Logger } from '../../../runtime/logger.ts';
import type { AgentKey } from '../store.ts';

export interface AgingOptions {
  clock: Clock;
  logger: Logger;
  /** Between two looks, in milliseconds. */
  everyMs: number;
  list: () => AgentObservation[];
  write: (key: AgentKey, update: (current: AgentObservation) => ObservationStatus | null) => Promise<unknown>;
}

/**
 * Nobody else ages the observation of an agent that is registered here: the operator knows workloads, and what it
 * mirrors itself. Every replica does, and what one has written is no change for the next. Until `signal` aborts.
 */
export async function ageRemote(options: AgingOptions, signal: AbortSignal): Promise<void> {
  const { clock, logger, everyMs, list, write } = options;
  for (;;) {
    try {
      await clock.sleep(everyMs, signal);
    } catch {
      return;
    }
    for (const object of list().filter((each) => isDue(each, clock.now()))) {
      const { namespace, name } = object.metadata;
      // Of the moment of the write: by the day before, what today's gone instances have used would be dropped.
      const update = (current: AgentObservation) => (isOurs(current) ? aged(current, clock.now()) : null);
      // What the API server did not do is in the log already, once for an outage.
      await write({ namespace, name }, update).catch((error: unknown) =>
        logger.debug('status cannot be aged', {
          agent: keyText({ namespace, name }),
          error: describeError(error),
        }),
      );
      if (signal.aborted) return;
    }
  }
}

const isOurs = (object: AgentObservation): boolean => object.spec.source === 'remote' && !isMirrored(object);

const aged = (object: AgentObservation, at: Date): ObservationStatus =>
  statusOf(object.status, at, contextOf(object));

function isDue(object: AgentObservation, at: Date): boolean {
  return isOurs(object) && !sameJson(aged(object, at), object.status);
}
