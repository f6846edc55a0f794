import { once } from 'node:events';
import { conditionOf } from '../../core/observation/condition-of.ts';
import { contextOf } from '../../core/observation/context-of.ts';
import { nextChangeAt } from '../../core/observation/next-change.ts';
import type { AgentObservation } from '../../core/observation/observation.ts';
import { statusOf } from '../../core/observation/status-of.ts';
import { sameJson } from '../../kube/merge-patch.ts';
import type { EventNote } from '../../kube/events.ts';
import type { Change } from '../../kube/informer.ts';
import { keyText, parseKey } from '../../kube/resources.ts';
import type { Pod, Service } from '../../kube/types.ts';
import { WorkQueue, type Requeue, type WorkObserver } from '../../kube/work-queue.ts';
import { isSamePod } from './agent-pods.ts';
import { notesOf } from './changes.ts';
import { claimOf } from './claim.ts';
import { OWN_CONDITIONS } from './conditions.ts';
import { rejectedChangeIn } from './manifest-condition.ts';
import { reconcileAgent, type ReconcileContext } from './reconcile-agent.ts';
import { selects } from './routing.ts';
import { reportSkippedPods } from './skipped-pods.ts';

export interface ControllerContext extends ReconcileContext {
  observe: WorkObserver;
  /** Pods with the agent label, and opted-in pods without the label. */
  allPods(): Pod[];
  podAt(key: string): Pod | undefined;
  allObservations(): AgentObservation[];
  /** Whether objects of the namespace are missing in the caches, because they exceed their part of the memory. */
  isIncomplete(namespace: string): boolean;
}

/** Collects the pod changes of one rollout, which come in bursts. */
const GATHER_MS = 100;

interface Queues {
  agents: WorkQueue;
  /** Checks, without API requests, whether elapsed time alone changes a status. */
  aging: WorkQueue;
  /** Opted-in pods that do not belong to an agent. */
  skippedPods: WorkQueue;
}

/** The next leader emits an Event that the previous leader may have missed, if the Event is not older than this. */
const MISSED_MS = 60_000;
const MISSED_NOTES = 1_000;
/** When an agent of an incomplete namespace is tried again. */
const INCOMPLETE_RETRY_MS = 60_000;

/** Maintains one AgentObservation per agent while this process is the leader. The informers always report changes to it. */
export class AgentController {
  readonly #context: ControllerContext;
  /** Null while another replica is the leader. This replica reconciles everything when it becomes leader. */
  #queues: Queues | null = null;
  /** Recent Events during the leadership of another replica, which may have ended before it emitted them. */
  #missed: { atMs: number; note: EventNote }[] = [];

  constructor(context: ControllerContext) {
    this.#context = context;
  }

  podChanged(change: Change<Pod>): void {
    if (change.type === 'modified' && isSamePod(change.before, change.object)) return;
    for (const pod of copiesOf(change)) this.#addAgentOf(pod);
  }

  /** The kubelet reports another cause for which this pod waits. */
  mountChanged(key: string): void {
    const pod = this.#context.podAt(key);
    if (pod) this.#addAgentOf(pod);
  }

  /** Reconciles one agent because of something else than its objects. */
  reconcile(key: string): void {
    this.#queues?.agents.addAfter(key, GATHER_MS);
  }

  observationChanged(change: Change<AgentObservation>): void {
    if (change.type === 'modified') this.#emit(notesOf(change.before, change.object));
    if (this.#queues === null) return;
    const key = keyText(change.object.metadata);
    if (change.type === 'deleted' || needsReconcile(change, this.#context.podsOf(key)))
      this.#queues.agents.add(key);
    else this.#queues.aging.add(key);
  }

  serviceChanged(change: Change<Service>): void {
    // Without leadership, comparing each Service of the first list with every pod would be wasted work.
    // In an incomplete namespace, with thousands of Services and pods, it would occupy the processor, and no agent is reconciled.
    if (this.#queues === null || this.#context.isIncomplete(change.object.metadata.namespace ?? '')) return;
    if (change.type === 'modified' && sameJson(change.before.spec, change.object.spec)) return;
    const copies = copiesOf(change);
    for (const pod of this.#context.allPods())
      if (copies.some((service) => selects(service, pod))) this.#addAgentOf(pod);
  }

  /** Waiting keys by queue. */
  depths(): { queue: string; depth: number }[] {
    return Object.values<WorkQueue>({ ...this.#queues }).map(({ name, length }) => ({
      queue: name,
      depth: length,
    }));
  }

  /** Reconciles every agent, then each changed agent, until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { agents, aging, skippedPods } = (this.#queues = this.#createQueues());
    const missed = this.#missed.splice(0);
    this.#emit(missed.filter(({ atMs }) => this.#isRecent(atMs)).map(({ note }) => note));
    for (const pod of this.#context.allPods()) this.#addAgentOf(pod);
    for (const observation of this.#context.allObservations()) {
      agents.add(keyText(observation.metadata));
      aging.add(keyText(observation.metadata));
    }
    agents.start();
    aging.start();
    skippedPods.start();
    if (!signal.aborted) await once(signal, 'abort');
    this.#queues = null;
    await Promise.all([agents, aging, skippedPods].map((queue) => queue.close()));
  }

  #addAgentOf(pod: Pod): void {
    const claim = claimOf(pod, this.#context.excludedNamespaces);
    if (claim?.kind === 'agent') this.#queues?.agents.addAfter(claim.key, GATHER_MS);
    if (claim?.kind === 'skipped') this.#queues?.skippedPods.addAfter(keyText(pod.metadata), GATHER_MS);
  }

  #emit(notes: readonly EventNote[]): void {
    if (this.#queues !== null) {
      for (const note of notes) this.#context.events.record(note);
      return;
    }
    const atMs = this.#context.clock.monotonicMs();
    const recent = this.#missed.filter((each) => this.#isRecent(each.atMs));
    this.#missed = [...recent, ...notes.map((note) => ({ atMs, note }))].slice(-MISSED_NOTES);
  }

  #isRecent(atMs: number): boolean {
    return this.#context.clock.monotonicMs() - atMs <= MISSED_MS;
  }

  #createQueues(): Queues {
    const { logger, clock, observe } = this.#context;
    const context = this.#context;
    const queue = (name: string, work: (key: string) => Promise<Requeue | undefined>) =>
      new WorkQueue({
        name,
        work,
        logger,
        clock,
        observe,
        namespaceOf: (key) => parseKey(key).namespace ?? '',
      });
    const agents = queue('agents', (key) => this.#reconcile(key));
    const aging = queue('aging', (key) => Promise.resolve(this.#checkAge(key, agents)));
    const skippedPods = queue('skipped-pods', (key) => reportSkippedPods(context, key));
    return { agents, aging, skippedPods };
  }

  /** In an incomplete namespace an agent whose pods are not cached would be treated as deleted. */
  async #reconcile(key: string): Promise<Requeue | undefined> {
    const { namespace = '' } = parseKey(key);
    if (!this.#context.isIncomplete(namespace)) return reconcileAgent(this.#context, key);
    this.#context.events.record({
      regarding: { apiVersion: 'v1', kind: 'Namespace', name: namespace, namespace },
      type: 'Warning',
      action: 'Observe',
      reason: 'NotObserved',
      note: 'the pods, Services or AgentObservations of this namespace exceed the memory that the operator has for one namespace; the AgentObservations are not updated until there are fewer',
      occurrence: 'incomplete',
    });
    return { requeueAfterMs: INCOMPLETE_RETRY_MS };
  }

  /** Reconciles an agent whose status changed by elapsed time alone, and checks again when it will change next. */
  #checkAge(key: string, agents: WorkQueue): Requeue | undefined {
    const observation = this.#context.observationAt(key);
    if (!observation) return undefined;
    // Its status is not updated, so each check would find it due.
    if (this.#context.isIncomplete(observation.metadata.namespace))
      return { requeueAfterMs: INCOMPLETE_RETRY_MS };
    const { status = { phase: 'Pending' } } = observation;
    const now = this.#context.clock.now();
    const context = contextOf(observation);
    if (!sameJson(statusOf(status, now, context), status)) agents.add(key);
    const next = nextChangeAt(status, now, context);
    return next === null ? undefined : { requeueAfterMs: Math.max(next.getTime() - now.getTime(), 1_000) };
  }
}

function copiesOf<T>(change: Change<T>): T[] {
  return change.type === 'modified' ? [change.before, change.object] : [change.object];
}

/**
 * Heartbeats change a status often and need no reconcile. A reconcile is needed after a change of metadata or spec, of an
 * own condition or of the drift, and for an instance without a pod. This includes changes by this process itself, because
 * changes in the meantime were evaluated against an older copy.
 */
function needsReconcile(
  change: Exclude<Change<AgentObservation>, { type: 'deleted' }>,
  pods: readonly Pod[],
): boolean {
  if (change.type === 'added') return true;
  const { before, object } = change;
  const fixed = ({ metadata, spec }: AgentObservation) => [
    spec,
    metadata.uid,
    metadata.deletionTimestamp,
    metadata.ownerReferences,
    metadata.annotations,
  ];
  if (!sameJson(fixed(before), fixed(object))) return true;
  if (!sameJson(ownPart(before), ownPart(object))) return true;
  const uids = new Set(pods.map((pod) => pod.metadata.uid));
  const { instances = [], unlisted = [] } = object.status ?? {};
  return [...instances, ...unlisted].some(
    (instance) => instance.uid !== undefined && !uids.has(instance.uid),
  );
}

/** The part of a status that only this process writes, and what it reads of the rest. */
function ownPart({ status }: AgentObservation): unknown {
  const conditions = OWN_CONDITIONS.map((type) => conditionOf(status, type));
  return [conditions, status?.drift, rejectedChangeIn(status)];
}
