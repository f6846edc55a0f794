import { once } from 'node:events';
import type { KubeClient } from '../../kube/client.ts';
import type { EventRecorder, StoredEvent } from '../../kube/events.ts';
import type { Change } from '../../kube/informer.ts';
import { expectOk } from '../../kube/objects.ts';
import { apiVersionOf, objectPath } from '../../kube/resources.ts';
import type { ObjectReference, Workload } from '../../kube/types.ts';
import { createWorkQueue, type Again, type WorkObserver, type WorkQueue } from '../../kube/work-queue.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Counter } from '../../runtime/metrics.ts';
import { createOwnerReader, POD_MAKERS, type OwnerReader } from '../agents/owner-chain.ts';
import { wantsSidecar } from '../agents/workload-state.ts';
import { lacksPods } from './lacks-pods.ts';
import { rejectionOf, type Rejection } from './rejection.ts';

/** On a controller whose pods were refused while the injector was away: a change makes it try at once. */
const RETRY_ANNOTATION = 'platform.io/retry';

export interface RejectionContext {
  client: KubeClient;
  clock: Clock;
  logger: Logger;
  events: EventRecorder;
  observe: WorkObserver;
  /** Counts patches that woke a controller. */
  wakes: Counter;
  guardPolicy: string;
  /** False: nothing is patched, and the controllers try again by themselves, after up to 1,000 seconds. */
  isWaking: boolean;
  /** Who knows whether the injector answers; null: nobody, so that waking is a try. */
  injector: { answeredAtMs(): number; askSoon(): void } | null;
  allEvents(): StoredEvent[];
}

/** Tells the owners why their pods are refused, and wakes the controllers when the injector is back. */
export interface RejectionController {
  eventChanged(change: Change<StoredEvent>): void;
  /** The injector has just answered. */
  injectorAnswers(): void;
  depth(): number;
  run(signal: AbortSignal): Promise<void>;
}

/** Wakes are this far apart, so that a cluster of refused workloads does not start at once. */
const APART_MS = 100;
/** A controller that still lacks pods is woken again after 5, 10, 20, 40, 60, 60, … seconds, and then no more. */
const AGAIN = { baseMs: 5_000, maxMs: 60_000, times: 10 };
/** The words name the pod, which is another one at each try. */
const POD_NAME = /^pod \S+ /;

interface Known {
  rejection: Rejection;
  /** What the owner was told already. */
  told: string | null;
  /** When it was last refused; on the clock that never jumps, as `nextWakeMs`. */
  refusedAtMs: number;
  wakes: number;
  nextWakeMs: number;
}

export function createRejectionController(context: RejectionContext): RejectionController {
  return new Controller(context);
}

class Controller implements RejectionController {
  readonly #context: RejectionContext;
  /** By the controller's kind and name: one for each with a rejection among the Events, until it has its pods. */
  readonly #known = new Map<string, Known>();
  /** Null while another replica leads. */
  #queue: WorkQueue | null = null;

  constructor(context: RejectionContext) {
    this.#context = context;
  }

  eventChanged(change: Change<StoredEvent>): void {
    if (this.#queue === null) return;
    const rejection = rejectionOf(change.object, this.#context.guardPolicy);
    if (rejection === null) return;
    if (change.type === 'deleted') {
      this.#known.delete(keyOf(rejection.controller));
      return;
    }
    this.#learn(rejection);
    this.#queue.addAfter(keyOf(rejection.controller), APART_MS);
  }

  injectorAnswers(): void {
    let waitMs = 0;
    for (const [key, known] of this.#known)
      if (known.rejection.isNoAnswer) this.#queue?.addAfter(key, (waitMs += APART_MS));
  }

  depth(): number {
    return this.#queue?.length ?? 0;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { logger, clock, observe } = this.#context;
    this.#known.clear();
    const work = (key: string) => this.#look(key);
    this.#queue = createWorkQueue({ name: 'rejections', work, logger, clock, observe, concurrency: 2 });
    let waitMs = 0;
    for (const event of this.#context.allEvents()) {
      const rejection = rejectionOf(event, this.#context.guardPolicy);
      if (rejection === null) continue;
      this.#learn(rejection);
      this.#queue.addAfter(keyOf(rejection.controller), (waitMs += APART_MS));
    }
    this.#queue.start();
    if (!signal.aborted) await once(signal, 'abort');
    const queue = this.#queue;
    this.#queue = null;
    await queue.close();
  }

  #learn(rejection: Rejection): void {
    const key = keyOf(rejection.controller);
    const { clock, injector } = this.#context;
    const refusedAtMs = clock.monotonicMs();
    // Where nobody knows of the injector, the first try gives it some time.
    const nextWakeMs = injector === null ? refusedAtMs + AGAIN.baseMs : refusedAtMs;
    const known = this.#known.get(key);
    if (known) Object.assign(known, { rejection, refusedAtMs });
    else this.#known.set(key, { rejection, refusedAtMs, told: null, wakes: 0, nextWakeMs });
  }

  async #look(key: string): Promise<Again | undefined> {
    const known = this.#known.get(key);
    if (known === undefined) return undefined;
    const owners = createOwnerReader(this.#context.client);
    const workload = await lackingPods(known.rejection.controller, owners);
    if (workload === null) {
      this.#known.delete(key);
      return undefined;
    }
    const top = await owners.topOf(workload, known.rejection.controller);
    if (top.state === 'going') return { againInMs: AGAIN.baseMs };
    const owner = { ...top.workload, namespace: known.rejection.controller.namespace };
    this.#tell(known, owner);
    if (!known.rejection.isNoAnswer || !this.#context.isWaking) return undefined;
    return this.#wake(key, known, owner);
  }

  #tell(known: Known, owner: EventOwner): void {
    const { words } = known.rejection;
    const reasons = words.replace(POD_NAME, '');
    if (known.told === reasons) return;
    known.told = reasons;
    this.#context.events.record({
      regarding: owner,
      type: 'Warning',
      reason: 'PodsRefused',
      action: 'Inject',
      note: words,
    });
  }

  async #wake(key: string, known: Known, owner: EventOwner): Promise<Again | undefined> {
    const { injector, clock, events } = this.#context;
    // What was found before the rejection says nothing of the injector since.
    if (injector !== null && injector.answeredAtMs() <= known.refusedAtMs) {
      injector.askSoon();
      return undefined;
    }
    const earlyMs = known.nextWakeMs - clock.monotonicMs();
    if (earlyMs > 0) return { againInMs: earlyMs };
    if (known.wakes >= AGAIN.times) {
      this.#known.delete(key);
      return undefined;
    }
    const { kind, name } = known.rejection.controller;
    await this.#retry(known.rejection.controller);
    const note = `${kind} ${name} is asked to make its pods again`;
    events.record({ regarding: owner, type: 'Normal', reason: 'Retry', action: 'Wake', note });
    const waitMs = Math.min(AGAIN.baseMs * 2 ** known.wakes, AGAIN.maxMs);
    known.wakes += 1;
    known.nextWakeMs = clock.monotonicMs() + waitMs;
    return { againInMs: waitMs };
  }

  async #retry(controller: Rejection['controller']): Promise<void> {
    const { client, clock, logger, wakes } = this.#context;
    const { apiVersion, kind, namespace, name } = controller;
    const resource = POD_MAKERS.find((each) => each.kind === kind && apiVersionOf(each) === apiVersion);
    if (resource === undefined) return;
    const annotations = { [RETRY_ANNOTATION]: clock.now().toISOString() };
    expectOk(
      await client.send({
        method: 'PATCH',
        path: objectPath(resource, { namespace, name }),
        contentType: 'application/merge-patch+json',
        body: { metadata: { annotations } },
      }),
    );
    wakes.add({ kind });
    logger.info('wakes a controller whose pods were refused', { namespace, kind, name });
  }
}

type EventOwner = ObjectReference & { namespace: string };

const keyOf = ({ kind, namespace, name, uid }: Rejection['controller']): string =>
  [kind, namespace, name, uid].join('/');

/** The controller itself while it is there, opts in and has fewer pods than it wants; else null. */
async function lackingPods(
  { apiVersion, kind, namespace, name, uid }: Rejection['controller'],
  owners: OwnerReader,
): Promise<Workload | null> {
  const answer = await owners.read({ apiVersion, kind, name }, namespace);
  if (answer.state !== 'found' || (uid !== undefined && answer.uid !== uid)) return null;
  const { object } = answer;
  const isOurs = object.metadata.deletionTimestamp === undefined && wantsSidecar(object);
  return isOurs && lacksPods(kind, object) ? object : null;
}
