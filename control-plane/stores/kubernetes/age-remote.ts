import { setImmediate as nextTurn } from 'node:timers/promises';
import { contextOf } from '../../../core/observation/context-of.ts';
import { isMirrored } from '../../../core/observation/mirrored.ts';
import type { AgentObservation } from '../../../core/observation/observation.ts';
import { statusOf } from '../../../core/observation/status-of.ts';
import { sameJson } from '../../../kube/merge-patch.ts';
import { keyText } from '../../../kube/resources.ts';
import { slept, type Clock } from '../../../runtime/clock.ts';
import { describeError, type Logger } from '../../../runtime/logger.ts';
import type { AgentKey } from '../store.ts';
import type { Update } from './observations.ts';

export interface AgingOptions {
  list: () => AgentObservation[];
  write: (key: AgentKey, update: Update) => Promise<unknown>;
  clock: Clock;
  logger: Logger;
  /** Milliseconds between two checks. */
  everyMs: number;
  signal: AbortSignal;
}

/** Agents that are checked before other work of the process runs. */
const SLICE = 100;

/** Marks stale agents until `signal` aborts. */
export async function ageRemoteAgents(options: AgingOptions): Promise<void> {
  while (await slept(options.clock, options.everyMs, options.signal)) await ageOnce(options);
}

/**
 * Only the control plane ages the observations of agents that are registered here; the operator ages workloads and mirrored
 * agents. Every replica does it. A status that another replica has already written is not written again.
 */
async function ageOnce({ list, write, clock, logger, signal }: AgingOptions): Promise<void> {
  // Uses the time of the write. With a time of the previous day, today's tokens of removed instances would be dropped.
  const aged: Update = (object) =>
    isRegisteredHere(object) ? statusOf(object.status, clock.now(), contextOf(object)) : null;
  for (const [index, object] of list().filter(isRegisteredHere).entries()) {
    // Heartbeats would wait for a check of the whole fleet.
    if (index % SLICE === SLICE - 1) await nextTurn();
    if (signal.aborted) return;
    const status = aged(object);
    if (status === null || sameJson(status, object.status)) continue;
    // Debug level, because the API server outage is already in the log.
    await write(object.metadata, aged).catch((error: unknown) =>
      logger.debug('failed to update status of registered agent', {
        agent: keyText(object.metadata),
        error: describeError(error),
      }),
    );
  }
}

/** False for workloads, without reading their status: they are most of the objects in a cluster. */
const isRegisteredHere = (object: AgentObservation): boolean =>
  object.spec.source === 'remote' && !isMirrored(object);
