import type { Installed } from '../../core/injection/drift.ts';
import type { AgentObservation, ObservationStatus } from '../../core/observation/observation.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { EventRecorder } from '../../kube/events.ts';
import { sameJson } from '../../kube/merge-patch.ts';
import { deleteObject, expectOk } from '../../kube/objects.ts';
import { AGENT_OBSERVATIONS, parseKey } from '../../kube/resources.ts';
import { applyObject } from '../../kube/server-side-apply.ts';
import type { StatusWriter } from '../../kube/status-writer.ts';
import type { Pod, Service } from '../../kube/types.ts';
import type { Again } from '../../kube/work-queue.ts';
import { hasEnded, isLive } from './agent-pods.ts';
import { age } from './age.ts';
import { announceNew, announceTaken } from './announce.ts';
import { makesAgent } from './claim.ts';
import { OWN_CONDITIONS, ownConditions, type Sighting } from './conditions.ts';
import { agentWorkloadFirst, desiredObservation, isAsDesired, type MinimumBars } from './desired.ts';
import { driftIn } from './drift.ts';
import { createOwnerReader, type OwnerReader, type WorkloadAnswer, type WorkloadRef } from './owner-chain.ts';
import { activityOf, agentNameIn, wantsSidecar } from './workload-state.ts';

/** The manager of what this process applies. */
export const FIELD_MANAGER = 'platform-operator';
/** What somebody else has written into a field of this process must not keep it from its work. */
const APPLY = { fieldManager: FIELD_MANAGER, force: true };

export interface ReconcileContext {
  client: KubeClient;
  clock: Clock;
  logger: Logger;
  events: EventRecorder;
  statusWriter: StatusWriter<AgentObservation, ObservationStatus>;
  observationAt(key: string): AgentObservation | undefined;
  /** What pods that are made now get; null: not known here. */
  installed: Installed | null;
  /** The lowest bars that `platform.io/compliant-grade` and `platform.io/compliant-evidence` may set. */
  minimum: MinimumBars;
  /** The injector leaves these out. */
  excludedNamespaces: readonly string[];
  /** Pods of the agent, by label or by the name that injection would give them; ended and leaving ones too. */
  podsOf(key: string): Pod[];
  servicesIn(namespace: string): Service[];
}

/** Owners are being deleted, and their pods or the observation will follow within this time. */
const GOING_AGAIN_MS = 2_000;
/** Whatever no watch tells (a workload that is scaled, or no longer opted in) is seen at the latest after this time. */
const RESYNC_MS = 600_000;
const IDLE_RESYNC_MS = 60_000;
/** Up to a fifth earlier: all agents are looked at when a process begins to lead, and not all at once ever after. */
const resyncIn = (ms: number): number => ms * (1 - Math.random() / 5);

type Found = Awaited<ReturnType<typeof workloadsOf>>;

/** Brings the AgentObservation of one agent to what its pods and its workload say. Works on any state, so that a missed event heals. */
export async function reconcileAgent(context: ReconcileContext, key: string): Promise<Again | undefined> {
  const observation = context.observationAt(key);
  if (observation?.metadata.deletionTimestamp) return { againInMs: GOING_AGAIN_MS };
  const pods = context.podsOf(key).filter(isLive);
  const owners = createOwnerReader(context.client);
  const found = await workloadsOf(
    pods.filter((pod) => makesAgent(pod, context.excludedNamespaces)),
    owners,
  );
  // The control plane keeps these.
  if (observation?.spec.source === 'remote') {
    for (const workload of found.workloads) announceTaken(context.events, observation, workload);
    return undefined;
  }
  if (found.workloads.length > 0) return reconcileSeen(context, key, { pods, found });
  // Between the deletion of an owner and what follows from it: pods go too, or are orphaned and become somebody else's.
  if (found.going) return { againInMs: GOING_AGAIN_MS };
  return observation ? reconcileSkippedPods(context, key, { observation, owners }) : undefined;
}

async function workloadsOf(
  pods: readonly Pod[],
  owners: OwnerReader,
): Promise<{ workloads: WorkloadRef[]; going: boolean }> {
  const answers = await Promise.all(pods.map((pod) => owners.ownerOf(pod)));
  return {
    workloads: answers.flatMap((answer) => (answer.state === 'found' ? [answer.workload] : [])),
    going: answers.some((answer) => answer.state === 'going'),
  };
}

/** There are live pods with a sidecar, or that should have one: the observation exists, is theirs, and says what is seen. */
async function reconcileSeen(
  context: ReconcileContext,
  key: string,
  { pods, found }: { pods: Pod[]; found: Found },
): Promise<Again> {
  const known = context.observationAt(key);
  const { namespace = '', name } = parseKey(key);
  const workloads = agentWorkloadFirst(found.workloads, known);
  const [workload] = workloads;
  if (!workload) return { againInMs: resyncIn(RESYNC_MS) };
  const desired = desiredObservation({ namespace, name }, workload, {
    pods,
    minimum: context.minimum,
  });
  const { installed } = context;
  const sighting = { pods, workloads, services: context.servicesIn(namespace), installed };
  const observation =
    known && isAsDesired(known, desired) ? known : await apply(context, desired, { known, sighting });
  await applyConditions(context, observation, sighting);
  await age(context, key, observation, { activity: 'running', drift: driftIn(pods, installed) });
  return { againInMs: found.going ? GOING_AGAIN_MS : resyncIn(RESYNC_MS) };
}

/** No live pod: the agent rests, has stopped on its own, or is gone. */
async function reconcileSkippedPods(
  context: ReconcileContext,
  key: string,
  { observation, owners }: { observation: AgentObservation; owners: OwnerReader },
): Promise<Again | undefined> {
  const { agentRef } = observation.spec;
  if (!agentRef) return undefined;
  const answer = await owners.read(agentRef, observation.metadata.namespace);
  if (answer.state === 'unreadable') {
    await age(context, key, observation, { activity: 'running' });
    return { againInMs: resyncIn(RESYNC_MS) };
  }
  const leaving = context.podsOf(key).some((pod) => !hasEnded(pod));
  const why = whyLost(observation, answer);
  if (answer.state === 'gone' || (why !== null && !leaving)) {
    await remove(context, observation, `${agentRef.kind} ${agentRef.name} ${why}`);
    return undefined;
  }
  await age(context, key, observation, { activity: activityOf(agentRef.kind, answer.object) });
  return { againInMs: resyncIn(IDLE_RESYNC_MS) };
}

/** Why no pod of this agent will come any more; null: one may. */
function whyLost(
  { metadata, spec }: AgentObservation,
  answer: Exclude<WorkloadAnswer, { state: 'unreadable' }>,
): string | null {
  if (answer.state === 'gone') return 'is gone';
  if (!wantsSidecar(answer.object)) return 'no longer wants a sidecar';
  const name = agentNameIn(spec.agentRef?.kind ?? '', answer.object);
  return name === null || name === metadata.name ? null : `has the agent name ${name}`;
}

async function apply(
  context: ReconcileContext,
  desired: ReturnType<typeof desiredObservation>,
  { known, sighting }: { known: AgentObservation | undefined; sighting: Sighting },
): Promise<AgentObservation> {
  const { client, events, logger } = context;
  const answer = await applyObject(client, AGENT_OBSERVATIONS, desired, APPLY);
  const observation = expectOk(answer);
  const { kind, name } = desired.spec.agentRef ?? {};
  const { namespace, name: agent } = desired.metadata;
  if (known?.metadata.resourceVersion !== observation.metadata.resourceVersion)
    logger.info(known ? 'follows the agent to its workload' : 'observes', {
      namespace,
      agent,
      kind,
      workload: name,
    });
  if (answer.ok && answer.status === 201) announceNew(events, observation, sighting);
  return observation;
}

async function applyConditions(
  context: ReconcileContext,
  observation: AgentObservation,
  sighting: Sighting,
): Promise<void> {
  const { name, namespace } = observation.metadata;
  const known = (observation.status?.conditions ?? []).filter((condition) => isOwn(condition.type));
  const conditions = ownConditions(sighting, known, context.clock.now());
  const unchanged = conditions.every((condition) => known.some((each) => sameJson(each, condition)));
  if (unchanged) return;
  const applied = { metadata: { name, namespace }, status: { conditions } };
  const options = { ...APPLY, subresource: 'status' as const };
  expectOk(await applyObject(context.client, AGENT_OBSERVATIONS, applied, options));
}

const isOwn = (type: string): boolean => (OWN_CONDITIONS as readonly string[]).includes(type);

async function remove(context: ReconcileContext, observation: AgentObservation, why: string): Promise<void> {
  const { name, namespace, uid } = observation.metadata;
  if (await deleteObject(context.client, AGENT_OBSERVATIONS, { namespace, name }, uid))
    context.logger.info('removes an observation', { namespace, agent: name, why });
}
