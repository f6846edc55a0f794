import { contextOf } from '../../../core/observation/context-of.ts';
import { isMirrored } from '../../../core/observation/mirrored.ts';
import type { AgentObservation, ObservationStatus } from '../../../core/observation/observation.ts';
import { statusOf } from '../../../core/observation/status-of.ts';
import { sameJson } from '../../../kube/merge-patch.ts';
import { keyText } from '../../../kube/resources.ts';
import type { Clock } from '../../../runtime/clock.ts';
import { describeError, type Logger } from '../../../runtime/logger.ts';
import type { AgentKey } from '../store.ts';
import type { Update } from './observations.ts';

export interface AgingOptions {
  clock: Clock;
  logger: Logger;
  /** Time between two sweeps, in milliseconds. */
  everyMs: number;
  list: () => AgentObservation[];
  write: (key: AgentKey, update: Update) => Promise<unknown>;
}

/**
 * Marks stale agents until `signal` aborts. Only the control plane ages the observations of agents that are registered here;
 * the operator ages workloads and mirrored agents. Every replica runs the sweep. A status that another replica has already
 * written is not written again.
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
      // Uses the time of the write. With a time of the previous day, today's tokens of removed instances would be dropped.
      const update: Update = (current) => (isOurs(current) ? aged(current, clock.now()) : null);
      // Debug level, because the API server outage is already in the log.
      await write({ namespace, name }, update).catch((error: unknown) =>
        logger.debug('failed to mark remote agent as stale', {
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
