import { once } from 'node:events';
import { RETRY_ANNOTATION } from '../../core/injection/names.ts';
import { stateOf } from '../../core/observation/condition-table.ts';
import type { ClusterParts } from '../../kube/cluster-parts.ts';
import { EVENTS, type EventRecorder, type StoredEvent } from '../../kube/events.ts';
import { Informer, type Change } from '../../kube/informer.ts';
import { expectOk, patchObject } from '../../kube/objects.ts';
import { apiVersionOf, keyText } from '../../kube/resources.ts';
import type { ObjectReference, Workload } from '../../kube/types.ts';
import { WorkQueue, type Requeue, type WorkObserver } from '../../kube/work-queue.ts';
import type { Counter, Metrics } from '../../runtime/metrics.ts';
import { createOwnerReader, POD_CONTROLLERS, type OwnerReader } from '../agents/owner-chain.ts';
import { SIDECAR_FITS, type Misfit } from '../agents/fits-condition.ts';
import { agentNameIn, wantsSidecar } from '../agents/workload-state.ts';
import { lacksPods } from './lacks-pods.ts';
import { keepEvent, rejectionOf, type Rejection } from './rejection.ts';

export interface RejectionContext extends ClusterParts {
  metrics: Metrics;
  events: EventRecorder;
  observe: WorkObserver;
  guardPolicy: string;
  /** False: nothing is patched. The controllers retry by themselves after up to 1,000 seconds. */
  isRetryEnabled: boolean;
  /** Called with the key of an agent whose `misfitOf` has changed. */
  onMisfit(agent: string): void;
  /** Reports whether the injector responds; null: unknown, so retries run without this check. */
  injector: { respondedAtMs(): number; checkSoon(): void } | null;
}

/** Delay between retries, so that not all rejected workloads of a cluster start at once. */
const APART_MS = 100;
/** A controller with missing pods is retried after 5, 10, 20, 40, 60, 60, … seconds, up to `times` retries. */
const RETRY = { baseMs: 5_000, maxMs: 60_000, times: 10 };
/** The message starts with the pod's name, which differs at each attempt. */
const POD_NAME = /^pod \S+ /;
/** A quota's use, which differs at each attempt. No start is read twice, because any client can write the text. */
const USED = /, used: (?:(?!, used: ).)*?(?=, limited: )/;
/** A quota can get space without an Event, so its rejections are checked again after this time. */
const RECHECK_MS = 20_000;

interface Known {
  rejection: Rejection;
  /** The last message that was reported on the owner, without what differs at each attempt. */
  reported: string | null;
  /** The agent whose pods do not fit, with the reported message; null: another rejection, or not checked yet. */
  unfit: { agent: string; misfit: Misfit } | null;
  /** Time of the last rejection; on the monotonic clock, like `nextRetryMs`. */
  rejectedAtMs: number;
  retries: number;
  nextRetryMs: number;
}

/** Reports rejections on the owners of the pods, and retries the controllers when the injector is available again. */
export class RejectionController {
  /** The Events of rejected pods. */
  readonly informer: Informer<StoredEvent>;
  readonly #context: RejectionContext;
  readonly #retries: Counter;
  /** By kind and name: each controller with a rejection Event, until the controller has its pods. */
  readonly #known = new Map<string, Known>();
  /** Null while another replica is the leader. */
  #queue: WorkQueue | null = null;

  constructor(context: RejectionContext) {
    this.#context = context;
    const { client, clock, logger, metrics, guardPolicy } = context;
    this.informer = new Informer<StoredEvent>({
      ...{ client, clock, logger },
      resource: EVENTS,
      selection: { fieldSelector: 'reason=FailedCreate' },
      keep: keepEvent(guardPolicy),
      namespacePart: 1 / 32,
      onChange: (change) => this.#eventChanged(change),
    });
    this.#retries = metrics.counter(
      'platform_operator_wakes_total',
      'Retries of controllers whose pods were rejected while the injector was unavailable.',
    );
  }

  #eventChanged(change: Change<StoredEvent>): void {
    if (this.#queue === null) return;
    const rejection = rejectionOf(change.object, this.#context.guardPolicy);
    if (rejection === null) return;
    if (change.type === 'deleted') this.#forget(keyOf(rejection.controller));
    else this.#addRejection(rejection, APART_MS);
  }

  /** Call when the injector has responded. */
  injectorResponded(): void {
    let waitMs = 0;
    for (const [key, known] of this.#known)
      if (known.rejection.isInjectorUnavailable) this.#queue?.addAfter(key, (waitMs += APART_MS));
  }

  /** Why the API server creates no pod of this agent; null: it does, or another cause. */
  misfitOf(agent: string): Misfit | null {
    return [...this.#known.values()].find(({ unfit }) => unfit?.agent === agent)?.unfit?.misfit ?? null;
  }

  depth(): number {
    return this.#queue?.length ?? 0;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { logger, clock, observe } = this.#context;
    this.#known.clear();
    const work = (key: string) => this.#check(key);
    const namespaceOf = (key: string) => this.#known.get(key)?.rejection.controller.namespace ?? '';
    this.#queue = new WorkQueue({
      ...{ name: 'rejections', work, logger, clock, observe, concurrency: 2, namespaceOf },
    });
    let waitMs = 0;
    for (const event of this.informer.list()) {
      const rejection = rejectionOf(event, this.#context.guardPolicy);
      if (rejection !== null) this.#addRejection(rejection, (waitMs += APART_MS));
    }
    this.#queue.start();
    if (!signal.aborted) await once(signal, 'abort');
    const queue = this.#queue;
    this.#queue = null;
    await queue.close();
  }

  #addRejection(rejection: Rejection, checkAfterMs: number): void {
    const key = keyOf(rejection.controller);
    const { clock, injector } = this.#context;
    const rejectedAtMs = clock.monotonicMs();
    // If the state of the injector is unknown, the first retry is delayed.
    const nextRetryMs = injector === null ? rejectedAtMs + RETRY.baseMs : rejectedAtMs;
    const known = this.#known.get(key);
    if (known) Object.assign(known, { rejection, rejectedAtMs });
    else
      this.#known.set(key, { rejection, rejectedAtMs, reported: null, unfit: null, retries: 0, nextRetryMs });
    this.#queue?.addAfter(key, checkAfterMs);
  }

  async #check(key: string): Promise<Requeue | undefined> {
    const known = this.#known.get(key);
    if (known === undefined) return undefined;
    const owners = createOwnerReader(this.#context.client);
    const workload = await withMissingPods(known.rejection.controller, owners);
    if (workload === null) {
      this.#forget(key);
      return undefined;
    }
    const top = await owners.topOf(workload, known.rejection.controller);
    if (top.state === 'deleting') return { requeueAfterMs: RETRY.baseMs };
    const owner = { ...top.workload, namespace: known.rejection.controller.namespace };
    this.#report(known, owner, workload);
    if (known.rejection.misfit !== null) return { requeueAfterMs: RECHECK_MS };
    if (!known.rejection.isInjectorUnavailable || !this.#context.isRetryEnabled) return undefined;
    return this.#retryIfDue(key, known, owner);
  }

  #report(known: Known, owner: EventOwner, workload: Workload): void {
    const { message, misfit, controller } = known.rejection;
    const reasons = message.replace(POD_NAME, '').replace(USED, '');
    if (known.reported === reasons) return;
    known.reported = reasons;
    const unfit = misfit && { reason: misfit, message };
    this.#setMisfit(known, agentOf(controller, workload), unfit);
    this.#context.events.record({
      regarding: owner,
      type: 'Warning',
      reason: 'PodsRefused',
      action: 'Inject',
      // A restarted operator counts the same rejection of another pod in the same Event.
      series: reasons,
      note: unfit === null ? message : stateOf(SIDECAR_FITS, { pods: [], misfit: unfit }).message,
    });
  }

  #setMisfit(known: Known, agent: string | null, misfit: Misfit | null): void {
    const { unfit } = known;
    known.unfit = agent === null || misfit === null ? null : { agent, misfit };
    for (const each of new Set([unfit?.agent, known.unfit?.agent]))
      if (each !== undefined) this.#context.onMisfit(each);
  }

  #forget(key: string): void {
    const known = this.#known.get(key);
    this.#known.delete(key);
    if (known?.unfit) this.#context.onMisfit(known.unfit.agent);
  }

  async #retryIfDue(key: string, known: Known, owner: EventOwner): Promise<Requeue | undefined> {
    const { injector, clock, events } = this.#context;
    // A response before the rejection does not show that the injector is available now.
    if (injector !== null && injector.respondedAtMs() <= known.rejectedAtMs) {
      injector.checkSoon();
      return undefined;
    }
    const remainingMs = known.nextRetryMs - clock.monotonicMs();
    if (remainingMs > 0) return { requeueAfterMs: remainingMs };
    if (known.retries >= RETRY.times) {
      this.#known.delete(key);
      return undefined;
    }
    const { kind, name } = known.rejection.controller;
    await this.#retry(known.rejection.controller);
    const note = `retrying pod creation of ${kind} ${name}`;
    events.record({ regarding: owner, type: 'Normal', reason: 'Retry', action: 'Wake', note });
    const waitMs = Math.min(RETRY.baseMs * 2 ** known.retries, RETRY.maxMs);
    known.retries += 1;
    known.nextRetryMs = clock.monotonicMs() + waitMs;
    return { requeueAfterMs: waitMs };
  }

  async #retry(controller: Rejection['controller']): Promise<void> {
    const { client, clock, logger } = this.#context;
    const { apiVersion, kind, namespace, name } = controller;
    const resource = POD_CONTROLLERS.find((each) => each.kind === kind && apiVersionOf(each) === apiVersion);
    if (resource === undefined) return;
    const annotations = { [RETRY_ANNOTATION]: clock.now().toISOString() };
    expectOk(await patchObject(client, resource, { namespace, name }, { metadata: { annotations } }));
    this.#retries.add({ kind });
    logger.info('retrying workload after injector outage', { namespace, kind, name });
  }
}

/** The key of the agent whose pods a controller creates; null: they have no valid agent name. */
function agentOf({ kind, namespace }: Rejection['controller'], workload: Workload): string | null {
  const name = agentNameIn(kind, workload);
  return name === null ? null : keyText({ namespace, name });
}

type EventOwner = ObjectReference & { namespace: string };

const keyOf = ({ kind, namespace, name, uid }: Rejection['controller']): string =>
  [kind, namespace, name, uid].join('/');

/** Returns the controller if it exists, opts in and has fewer pods than desired; else null. */
async function withMissingPods(
  { apiVersion, kind, namespace, name, uid }: Rejection['controller'],
  owners: OwnerReader,
): Promise<Workload | null> {
  const result = await owners.read({ apiVersion, kind, name }, namespace);
  if (result.state !== 'found') return null;
  const { object } = result;
  if (uid !== undefined && object.metadata.uid !== uid) return null;
  const isOptedIn = object.metadata.deletionTimestamp === undefined && wantsSidecar(object);
  return isOptedIn && lacksPods(kind, object) ? object : null;
}
