import {
  isMirrored,
  MIRRORED_AGENT_ANNOTATION,
  MIRRORED_FROM_ANNOTATION,
  MIRRORED_LABEL,
  MIRRORED_NAMESPACE_ANNOTATION,
} from '../../core/observation/mirrored.ts';
import type { AgentObservation } from '../../core/observation/observation.ts';
import type { ObservationStatus } from '../../core/shapes/observation.ts';
import { writeDelayMs } from '../../core/observation/write-due.ts';
import type { ClusterParts } from '../../kube/cluster-parts.ts';
import { sameJson } from '../../kube/merge-patch.ts';
import { createObject, deleteObject, expectOk } from '../../kube/objects.ts';
import { AGENT_OBSERVATIONS, keyText } from '../../kube/resources.ts';
import { applyObject } from '../../kube/server-side-apply.ts';
import { Semaphore } from '../../kube/semaphore.ts';
import type { StatusWriter } from '../../kube/status-writer.ts';
import { describeError } from '../../runtime/logger.ts';
import type { Counter, Metrics } from '../../runtime/metrics.ts';
import { FIELD_MANAGER } from '../agents/reconcile-agent.ts';
import { mirrorNames } from './mirror-names.ts';
import { mirroredStatus, unreachableStatus } from './mirrored-status.ts';
import type { RemoteAgent } from '../../core/shapes/agent-row.ts';

export interface MirrorTarget extends ClusterParts {
  /** The namespace of the mirrored observations. */
  namespace: string;
  metrics: Metrics;
  statusWriter: StatusWriter<AgentObservation, ObservationStatus>;
  /** All observations of the cluster, from the informer's cache. */
  allObservations: () => AgentObservation[];
}

type Update = (current: AgentObservation) => ObservationStatus;

/** Interval in seconds for coalescing writes that are not urgent; the list does not contain the agents' intervals. */
const INTERVAL_SECONDS = 30;
/** Observations written concurrently. */
const CONCURRENCY = 8;

/** The mirrored observations of remote agents. A failed write is logged and retried with the next call. */
export class MirroredObservations {
  readonly #target: MirrorTarget;
  readonly #writes: Counter;
  /** Time of the last write by observation; monotonic milliseconds. */
  readonly #writtenMs = new Map<string, number>();

  constructor(target: MirrorTarget) {
    this.#target = target;
    this.#writes = target.metrics.counter(
      'platform_operator_mirror_writes_total',
      'Writes of mirrored AgentObservations of remote agents, by result.',
    );
  }

  count(): number {
    return this.#mirrored().length;
  }

  /** Updates the observations to match the complete agent list of the control plane at `from`; writes only changes. */
  async sync(agents: readonly RemoteAgent[], from: string, signal: AbortSignal): Promise<void> {
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

  /** Marks the agents as Unknown, because the control plane does not respond. */
  async age(signal: AbortSignal): Promise<void> {
    await this.#each(this.#mirrored(), signal, (observation) =>
      this.#write(observation, (current) => unreachableStatus(current, this.#target.clock.now())),
    );
  }

  /** Returns whether all were removed. */
  async removeAll(signal: AbortSignal): Promise<boolean> {
    return await this.#each(this.#mirrored(), signal, (observation) => this.#remove(observation));
  }

  /** Returns null when the name was taken in the meantime; the next call chooses another name. */
  async #ensure(
    agent: RemoteAgent,
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
      // Not an apply, which would overwrite an object that a registration has created meanwhile.
      const created = await createObject(client, AGENT_OBSERVATIONS, desired);
      if (created.outcome === 'exists') return null;
      this.#writes.add({ result: 'created' });
      logger.info('created mirrored AgentObservation', { namespace, agent: name, controlPlane: from });
      return created.object;
    }
    const shown = known.metadata.annotations ?? {};
    if (Object.entries(annotations).every(([key, value]) => shown[key] === value)) return known;
    const options = { fieldManager: FIELD_MANAGER, force: true };
    const response = await applyObject(client, AGENT_OBSERVATIONS, { metadata }, options);
    this.#writes.add({ result: 'updated' });
    return expectOk(response);
  }

  /** Writes urgent changes immediately, and others at most once per coalescing window. */
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
    logger.info('deleted mirrored AgentObservation', { namespace, agent: name });
  }

  /** Returns whether all items succeeded. */
  async #each<T>(
    items: readonly T[],
    signal: AbortSignal,
    work: (item: T) => Promise<void>,
  ): Promise<boolean> {
    const semaphore = new Semaphore(CONCURRENCY);
    const unlessAborted = async (item: T): Promise<void> => {
      if (!signal.aborted) await work(item);
    };
    const results = await Promise.allSettled(items.map((item) => semaphore.run(() => unlessAborted(item))));
    const failures = results.filter((each) => each.status === 'rejected');
    const [first] = failures;
    if (first === undefined) return true;
    this.#writes.add({ result: 'failed' }, failures.length);
    this.#target.logger.warn('failed to sync mirrored AgentObservations, retrying', {
      observations: failures.length,
      error: describeError(first.reason),
    });
    return false;
  }

  #mirrored(): AgentObservation[] {
    return this.#inNamespace().filter(isMirrored);
  }

  #inNamespace(): AgentObservation[] {
    const { allObservations, namespace } = this.#target;
    return allObservations().filter(({ metadata }) => metadata.namespace === namespace);
  }
}
