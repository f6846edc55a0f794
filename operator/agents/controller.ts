import { once } from 'node:events';
import { contextOf } from '../../core/observation/context-of.ts';
import { nextChangeAt } from '../../core/observation/next-change.ts';
import type { AgentObservation } from '../../core/observation/observation.ts';
import { statusOf } from '../../core/observation/status-of.ts';
import { sameJson } from '../../kube/merge-patch.ts';
import type { Change } from '../../kube/informer.ts';
import { keyText } from '../../kube/resources.ts';
import type { Pod, Service } from '../../kube/types.ts';
import { createWorkQueue, type Again, type WorkObserver, type WorkQueue } from '../../kube/work-queue.ts';
import { agentKeyOf, isSamePod } from './agent-pods.ts';
import { notesOf } from './changes.ts';
import { OWN_CONDITIONS } from './conditions.ts';
import { reconcileAgent, type ReconcileContext } from './reconcile-agent.ts';
import { selects } from './routing.ts';

export interface ControllerContext extends ReconcileContext {
  observe: WorkObserver;
  allPods(): Pod[];
  allObservations(): AgentObservation[];
}

/** Keeps one AgentObservation per agent, while this process leads. The informers tell it what changes, always. */
export interface AgentController {
  podChanged(change: Change<Pod>): void;
  observationChanged(change: Change<AgentObservation>): void;
  serviceChanged(change: Change<Service>): void;
  /** Keys that wait, by queue. */
  depths(): { queue: string; depth: number }[];
  /** Looks at every agent, then at each that changes, until `signal` aborts. */
  run(signal: AbortSignal): Promise<void>;
}

/** Pods of one rollout come in bursts. */
const GATHER_MS = 100;

interface Queues {
  agents: WorkQueue;
  /** Looks, without asking the API server, whether time alone has changed a status. */
  aging: WorkQueue;
}

export function createAgentController(context: ControllerContext): AgentController {
  return new Controller(context);
}

class Controller implements AgentController {
  readonly #context: ControllerContext;
  /** Null while another replica leads: what changes then is seen when this one begins. */
  #queues: Queues | null = null;

  constructor(context: ControllerContext) {
    this.#context = context;
  }

  podChanged(change: Change<Pod>): void {
    if (change.type === 'modified' && isSamePod(change.before, change.object)) return;
    for (const pod of copiesOf(change)) this.#addAgentOf(pod);
  }

  observationChanged(change: Change<AgentObservation>): void {
    if (this.#queues === null) return;
    const key = keyText(change.object.metadata);
    if (change.type === 'modified')
      for (const note of notesOf(change.before, change.object)) this.#context.events.record(note);
    if (change.type === 'deleted' || needsLook(change, this.#context.podsOf(key)))
      this.#queues.agents.add(key);
    else this.#queues.aging.add(key);
  }

  serviceChanged(change: Change<Service>): void {
    if (change.type === 'modified' && sameJson(change.before.spec, change.object.spec)) return;
    const copies = copiesOf(change);
    for (const pod of this.#context.allPods())
      if (copies.some((service) => selects(service, pod))) this.#addAgentOf(pod);
  }

  depths(): { queue: string; depth: number }[] {
    const queues = Object.entries(this.#queues ?? {}) as [string, WorkQueue][];
    return queues.map(([queue, { length }]) => ({ queue, depth: length }));
  }

  async run(signal: AbortSignal): Promise<void> {
    const { agents, aging } = (this.#queues = this.#createQueues());
    for (const pod of this.#context.allPods()) this.#addAgentOf(pod);
    for (const observation of this.#context.allObservations()) {
      agents.add(keyText(observation.metadata));
      aging.add(keyText(observation.metadata));
    }
    agents.start();
    aging.start();
    if (!signal.aborted) await once(signal, 'abort');
    this.#queues = null;
    await Promise.all([agents.close(), aging.close()]);
  }

  #addAgentOf(pod: Pod): void {
    const key = agentKeyOf(pod);
    if (key !== null) this.#queues?.agents.addAfter(key, GATHER_MS);
  }

  #createQueues(): Queues {
    const { logger, clock, observe } = this.#context;
    const agents = createWorkQueue({
      name: 'agents',
      work: (key) => reconcileAgent(this.#context, key),
      logger,
      clock,
      observe,
    });
    const aging = createWorkQueue({
      name: 'aging',
      work: (key) => Promise.resolve(this.#lookAtAge(key, agents)),
      logger,
      clock,
      observe,
    });
    return { agents, aging };
  }

  #lookAtAge(key: string, agents: WorkQueue): Again | undefined {
    const observation = this.#context.observationAt(key);
    if (!observation) return undefined;
    const { isDue, againInMs } = ageOf(observation, this.#context.clock.now());
    if (isDue) agents.add(key);
    return againInMs === null ? undefined : { againInMs };
  }
}

function copiesOf<T>(change: Change<T>): T[] {
  return change.type === 'modified' ? [change.before, change.object] : [change.object];
}

/** Whether time alone has changed the status, and when it will next. */
function ageOf(observation: AgentObservation, now: Date): { isDue: boolean; againInMs: number | null } {
  const status = observation.status ?? { phase: 'Pending' as const };
  const context = contextOf(observation);
  const next = nextChangeAt(status, now, context);
  return {
    isDue: !sameJson(statusOf(status, now, context), status),
    againInMs: next === null ? null : Math.max(next.getTime() - now.getTime(), 1_000),
  };
}

/**
 * Heartbeats change a status all the time and ask nothing of this process; what does: a change of metadata or spec, a
 * condition of ours that somebody took away, an instance whose pod is not there.
 */
function needsLook(
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
  const types = object.status?.conditions?.map((condition) => condition.type) ?? [];
  if (!OWN_CONDITIONS.every((type) => types.includes(type))) return true;
  const uids = new Set(pods.map((pod) => pod.metadata.uid));
  return (object.status?.instances ?? []).some(
    (instance) => instance.uid !== undefined && !uids.has(instance.uid),
  );
}
