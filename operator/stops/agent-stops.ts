import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { AgentObservation } from '../../core/observation/observation.ts';
import { stopCounts } from '../../core/observation/stop-counts.ts';
import {
  hasEnded,
  isSameStop,
  stopDirectiveOf,
  stopFinder,
  stopId,
  stopOf,
  type AgentStop,
} from '../../core/organisation/stops.ts';
import { ANNOTATION_STOP, type AgentStopStatus } from '../../core/shapes/agent-stop.ts';
import type { AgentStops } from '../../kube/agent-stops.ts';
import type { ClusterParts } from '../../kube/cluster-parts.ts';
import { expectOk } from '../../kube/objects.ts';
import { AGENT_STOPS, keyText, objectPath, parseKey } from '../../kube/resources.ts';
import { describeError } from '../../runtime/logger.ts';

/** The statuses follow the heartbeats of all agents, so they are not computed per heartbeat. */
const PERIOD_MS = 10_000;
/** Agents that are compared with the AgentStops before other work of the process runs. */
const SLICE = 100;

export interface StopWorkParts extends ClusterParts {
  stops: Pick<AgentStops, 'list' | 'removeSame'>;
  /** The namespace of the release, whose AgentStops are about several namespaces. */
  rootNamespace: string;
  allObservations: () => readonly AgentObservation[];
  /** Computes the status of an agent again. */
  reconcile: (key: string) => void;
}

/**
 * Writes the status of each AgentStop, deletes expired ones, and has the status of each agent corrected whose stop began or ended,
 * also of an agent that does not report: while this process is the leader.
 */
export class StopWork {
  readonly #parts: StopWorkParts;
  /** By AgentStop and its creation. A new leader writes each once. */
  #written = new Map<string, AgentStopStatus>();
  /** Ends the pause between two rounds. */
  #pause = new AbortController();

  constructor(parts: StopWorkParts) {
    this.#parts = parts;
  }

  /** An AgentStop was created or deleted. */
  readonly changed = (): void => this.#pause.abort();

  /** The stop of an agent; null: it may run; undefined: the AgentStops are not known yet. */
  stopAt(key: string): AgentStop | null | undefined {
    const { stops, rootNamespace, clock } = this.#parts;
    const { namespace = '', name } = parseKey(key);
    const list = stops.list();
    return list === null ? undefined : stopOf(list, { namespace, name }, { rootNamespace, at: clock.now() });
  }

  /** Until `signal` aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts;
    while (!signal.aborted) {
      this.#pause = new AbortController();
      await this.#work();
      await clock.sleep(PERIOD_MS, AbortSignal.any([signal, this.#pause.signal])).catch(() => undefined);
    }
    this.#written = new Map();
  }

  async #work(): Promise<void> {
    const { stops, clock, allObservations } = this.#parts;
    const list = stops.list();
    if (list === null) return;
    const observations = allObservations();
    const ended = list.filter((stop) => hasEnded(stop, clock.now()));
    const current = list.filter((stop) => !ended.includes(stop));
    await this.#correct(observations, current);
    for (const stop of ended) await this.#remove(stop);
    await this.#writeStatuses(observations, current);
  }

  async #correct(observations: readonly AgentObservation[], current: readonly AgentStop[]): Promise<void> {
    const { rootNamespace, clock, reconcile } = this.#parts;
    const at = clock.now();
    const find = stopFinder(current, rootNamespace);
    for (const [index, { metadata, spec, status }] of observations.entries()) {
      if (index % SLICE === SLICE - 1) await nextTurn();
      // The control plane maintains observations of remote agents.
      if (spec.source === 'remote') continue;
      const stop = find(metadata, at);
      const known = status?.stop?.id === ANNOTATION_STOP ? undefined : status?.stop;
      if (stop === null ? known !== undefined : !known || !isSameStop(known, stopDirectiveOf(stop)))
        reconcile(keyText(metadata));
    }
  }

  async #writeStatuses(
    observations: readonly AgentObservation[],
    current: readonly AgentStop[],
  ): Promise<void> {
    const { rootNamespace } = this.#parts;
    const agents = observations.map(({ metadata: { namespace, name }, status }) => ({
      ...{ namespace, name, status },
    }));
    const byNamespace = Map.groupBy(agents, ({ namespace }) => namespace);
    const written = new Map<string, AgentStopStatus>();
    for (const stop of current) {
      await nextTurn();
      const meant = stop.namespace === rootNamespace ? agents : (byNamespace.get(stop.namespace) ?? []);
      const wanted = stopCounts(stop, meant, rootNamespace);
      const key = `${stopId(stop)} ${stop.since}`;
      const isWritten =
        isDeepStrictEqual(this.#written.get(key), wanted) || (await this.#patch(stop, wanted));
      if (isWritten) written.set(key, wanted);
    }
    this.#written = written;
  }

  /** Whether it was written. Never rejects, so that one stop does not delay the others. */
  async #patch(stop: AgentStop, status: AgentStopStatus): Promise<boolean> {
    const { client, logger } = this.#parts;
    try {
      const response = await client.send({
        method: 'PATCH',
        path: objectPath(AGENT_STOPS, stop, 'status'),
        contentType: 'application/merge-patch+json',
        body: { status },
      });
      // A resume: it was deleted meanwhile.
      if (response.ok || response.status !== 404) expectOk(response);
      return true;
    } catch (error) {
      logger.warn('failed to write the status of an agent stop, retrying', {
        stop: stopId(stop),
        reason: describeError(error),
      });
      return false;
    }
  }

  /** Sidecars end an expired stop themselves. Never rejects. */
  async #remove(stop: AgentStop): Promise<void> {
    const { stops, logger } = this.#parts;
    try {
      if (await stops.removeSame(stop)) logger.info('deleted expired agent stop', { stop: stopId(stop) });
    } catch (error) {
      logger.warn('failed to delete an expired agent stop, retrying', {
        stop: stopId(stop),
        reason: describeError(error),
      });
    }
  }
}
