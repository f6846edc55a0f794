import {
  isMirrored,
  MIRRORED_AGENT_ANNOTATION,
  MIRRORED_FROM_ANNOTATION,
  MIRRORED_LABEL,
  MIRRORED_NAMESPACE_ANNOTATION,
} from '../../core/observation/mirrored.ts';
import type { AgentObservation, ObservationStatus } from '../../core/observation/observation.ts';
import { writeDelayMs } from '../../core/observation/write-due.ts';
import type { KubeClient } from '../../kube/client.ts';
import { sameJson } from '../../kube/merge-patch.ts';
import { createObject, deleteObject, expectOk } from '../../kube/objects.ts';
import { AGENT_OBSERVATIONS, keyText } from '../../kube/resources.ts';
import { applyObject } from '../../kube/server-side-apply.ts';
import { createSemaphore } from '../../kube/semaphore.ts';
import type { StatusWriter } from '../../kube/status-writer.ts';
import type { Clock } from '../../runtime/clock.ts';
import { describeError, type Logger } from '../../runtime/logger.ts';
import type { Counter, Metrics } from '../../runtime/metrics.ts';
import { FIELD_MANAGER } from '../agents/reconcile-agent.ts';
import { mirrorNames } from './mirror-names.ts';
import { mirroredStatus, unheardStatus } from './mirrored-status.ts';
import type { OutsideAgent } from './outside-agent.ts';

export interface MirrorTarget {
  /** Where the observations of remote agents are. */
  namespace: string;
  client: KubeClient;
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
  statusWriter: StatusWriter<AgentObservation, ObservationStatus>;
  /** Of the cluster, as the informer has them. */
  allObservations: () => AgentObservation[];
}

/** The observations of agents that report elsewhere. What cannot be written is logged, and comes again with the next call. */
export interface MirroredObservations {
  count(): number;
  /** Makes them what the whole list of the control plane at `from` says: nothing is written where nothing changes. */
  take(agents: readonly OutsideAgent[], from: string, signal: AbortSignal): Promise<void>;
  /** Nobody says how the agents are any more. */
  age(signal: AbortSignal): Promise<void>;
  /** Whether none is left. */
  removeAll(signal: AbortSignal): Promise<boolean>;
}

type Update = (current: AgentObservation) => ObservationStatus;

/** By which writes that nobody waits for are coalesced, in seconds: the list does not tell the agents' intervals. */
const INTERVAL_SECONDS = 30;
/** Observations written at the same time. */
const CONCURRENCY = 8;

export function createMirroredObservations(target: MirrorTarget): MirroredObservations {
  return new ClusterObservations(target);
}

class ClusterObservations implements MirroredObservations {
  readonly #target: MirrorTarget;
  readonly #writes: Counter;
  /** By observation; monotonic milliseconds. */
  readonly #writtenMs = new Map<string, number>();

  constructor(target: MirrorTarget) {
    this.#target = target;
    this.#writes = target.metrics.counter(
      'platform_operator_mirror_writes_total',
      'Changes of observations of agents that report elsewhere, by result.',
    );
  }

  count(): number {
    return this.#mirrored().length;
  }

  async take(agents: readonly OutsideAgent[], from: string, signal: AbortSignal): Promise<void> {
    const mirrored = this.#mirrored();
    const others = this.#inNamespace().filter((each) => !isMirrored(each));
    const names = mirrorNames(agents, mirrored, new Set(others.map(({ metadata }) => metadata.name)));
    const kept = new Set(names.values());
    const gone = mirrored.filter(({ metadata }) => !kept.has(metadata.name));
    const known = new Map(mirrored.map((observation) => [observation.metadata.name, observation]));
    await this.#each(gone, signal, (observation) => this.#remove(observation));
    await this.#each(agents, signal, async (agent) => {
      const name = names.get(agent.agentId) ?? agent.agentName;
      const observation = await this.#ensure(agent, { name, from, known: known.get(name) });
      if (observation !== null)
        await this.#write(observation, (current) => mirroredStatus(current, agent, this.#target.clock.now()));
    });
  }

  async age(signal: AbortSignal): Promise<void> {
    await this.#each(this.#mirrored(), signal, (observation) =>
      this.#write(observation, (current) => unheardStatus(current, this.#target.clock.now())),
    );
  }

  async removeAll(signal: AbortSignal): Promise<boolean> {
    return await this.#each(this.#mirrored(), signal, (observation) => this.#remove(observation));
  }

  /** null: the name was taken this very moment; the next call finds another. */
  async #ensure(
    agent: OutsideAgent,
    { name, from, known }: { name: string; from: string; known: AgentObservation | undefined },
  ): Promise<AgentObservation | null> {
    const { client, namespace, logger } = this.#target;
    const annotations = {
      [MIRRORED_AGENT_ANNOTATION]: agent.agentId,
      [MIRRORED_FROM_ANNOTATION]: from,
      [MIRRORED_NAMESPACE_ANNOTATION]: agent.namespace,
    };
    const metadata = { namespace, name, labels: { [MIRRORED_LABEL]: 'true' }, annotations };
    if (known === undefined) {
      const desired: AgentObservation = {
        apiVersion: 'platform.io/v1',
        kind: 'AgentObservation',
        metadata,
        spec: { source: 'remote' },
      };
      // Not an apply, which would take over what a registration has made meanwhile.
      const made = await createObject(client, AGENT_OBSERVATIONS, desired);
      if (made.outcome === 'exists') return null;
      this.#writes.add({ result: 'created' });
      logger.info('mirrors', { namespace, agent: name, controlPlane: from });
      return made.object;
    }
    const shown = known.metadata.annotations ?? {};
    if (Object.entries(annotations).every(([key, value]) => shown[key] === value)) return known;
    const options = { fieldManager: FIELD_MANAGER, force: true };
    const answer = await applyObject(client, AGENT_OBSERVATIONS, { metadata }, options);
    this.#writes.add({ result: 'updated' });
    return expectOk(answer);
  }

  /** At once what watchers wait for, the rest at most once in a coalescing window. */
  async #write(observation: AgentObservation, update: Update): Promise<void> {
    const { clock, statusWriter } = this.#target;
    const after = update(observation);
    if (sameJson(after, observation.status)) return;
    const { namespace, name } = observation.metadata;
    const key = keyText({ namespace, name });
    const sinceLastWriteMs = clock.monotonicMs() - (this.#writtenMs.get(key) ?? Number.NEGATIVE_INFINITY);
    const change = { before: observation.status, after };
    if (writeDelayMs(change, { sinceLastWriteMs, intervalSeconds: INTERVAL_SECONDS }) > 0) return;
    const { outcome } = await statusWriter.write({ namespace, name }, (current) =>
      isMirrored(current) ? update(current) : null,
    );
    this.#writtenMs.set(key, clock.monotonicMs());
    this.#writes.add({ result: outcome });
  }

  async #remove({ metadata: { namespace, name, uid } }: AgentObservation): Promise<void> {
    const { client, logger } = this.#target;
    this.#writtenMs.delete(keyText({ namespace, name }));
    if (!(await deleteObject(client, AGENT_OBSERVATIONS, { namespace, name }, uid))) return;
    this.#writes.add({ result: 'removed' });
    logger.info('removes the observation of an agent elsewhere: it is not listed there any more', {
      namespace,
      agent: name,
    });
  }

  /** Whether all of it succeeded. */
  async #each<T>(
    items: readonly T[],
    signal: AbortSignal,
    work: (item: T) => Promise<void>,
  ): Promise<boolean> {
    const semaphore = createSemaphore(CONCURRENCY);
    const failures: unknown[] = [];
    const one = async (item: T): Promise<void> => {
      await semaphore.take();
      try {
        if (!signal.aborted) await work(item);
      } catch (error) {
        failures.push(error);
        this.#writes.add({ result: 'failed' });
      } finally {
        semaphore.give();
      }
    };
    await Promise.all(items.map(one));
    if (failures.length > 0)
      this.#target.logger.warn('observations of agents elsewhere cannot be written, and are tried again', {
        observations: failures.length,
        error: describeError(failures[0]),
      });
    return failures.length === 0;
  }

  #mirrored(): AgentObservation[] {
    return this.#inNamespace().filter(isMirrored);
  }

  #inNamespace(): AgentObservation[] {
    const { allObservations, namespace } = this.#target;
    return allObservations().filter(({ metadata }) => metadata.namespace === namespace);
  }
}
