import { contextOf } from '../../core/observation/context-of.ts';
import type {
  AgentObservation,
  InstanceStatus,
  ObservationStatus,
} from '../../core/observation/observation.ts';
import { statusOf, withoutGone, type ObservationContext } from '../../core/observation/status-of.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { EventRecorder } from '../../kube/events.ts';
import { sameJson } from '../../kube/merge-patch.ts';
import { deleteObject, expectOk } from '../../kube/objects.ts';
import { AGENT_OBSERVATIONS, parseKey, type ObjectKey } from '../../kube/resources.ts';
import { applyObject } from '../../kube/server-side-apply.ts';
import type { StatusWriter } from '../../kube/status-writer.ts';
import type { Pod, Service } from '../../kube/types.ts';
import type { Again } from '../../kube/work-queue.ts';
import { hasEnded, hasSidecar, isLive } from './agent-pods.ts';
import { ownerNotes, regarding } from './changes.ts';
import { OWN_CONDITIONS, ownConditions, type Sighting } from './conditions.ts';
import { agentWorkloadFirst, desiredObservation, isAsDesired } from './desired.ts';
import { createOwnerReader, type OwnerReader, type WorkloadRef } from './owner-chain.ts';
import { activityOf, wantsSidecar } from './workload-state.ts';

/** The manager of what this process applies. */
export const FIELD_MANAGER = 'platform-operator';

export interface ReconcileContext {
  client: KubeClient;
  clock: Clock;
  logger: Logger;
  events: EventRecorder;
  statusWriter: StatusWriter<AgentObservation, ObservationStatus>;
  observationAt(key: string): AgentObservation | undefined;
  /** Pods with the agent's label, ended and leaving ones too. */
  podsOf(key: string): Pod[];
  servicesIn(namespace: string): Service[];
}

/** Owners are being deleted, and their pods or the observation will follow within this time. */
const GOING_AGAIN_MS = 2_000;
/** Whatever no watch tells (a workload that is scaled, or no longer opted in) is seen at the latest after this time. */
const RESYNC_MS = 600_000;
const IDLE_RESYNC_MS = 60_000;

type Found = Awaited<ReturnType<typeof workloadsOf>>;

/** Brings the AgentObservation of one agent to what its pods and its workload say. Works on any state, so that a missed event heals. */
export async function reconcileAgent(context: ReconcileContext, key: string): Promise<Again | undefined> {
  const observation = context.observationAt(key);
  // The control plane keeps these.
  if (observation?.spec.source === 'remote') return undefined;
  if (observation?.metadata.deletionTimestamp) return { againInMs: GOING_AGAIN_MS };
  const labelled = context.podsOf(key).filter(isLive);
  const owners = createOwnerReader(context.client);
  const found = await workloadsOf(labelled, owners);
  if (found.workloads.length > 0) return reconcileSeen(context, key, { labelled, found });
  // Between the deletion of an owner and what follows from it: pods go too, or are orphaned and become somebody else's.
  if (found.going) return { againInMs: GOING_AGAIN_MS };
  return observation ? reconcileUnseen(context, key, { observation, owners }) : undefined;
}

async function workloadsOf(
  pods: readonly Pod[],
  owners: OwnerReader,
): Promise<{ workloads: WorkloadRef[]; going: boolean }> {
  const answers = await Promise.all(
    pods.filter((pod) => hasSidecar(pod.spec)).map((pod) => owners.ownerOf(pod)),
  );
  return {
    workloads: answers.flatMap((answer) => (answer.state === 'found' ? [answer.workload] : [])),
    going: answers.some((answer) => answer.state === 'going'),
  };
}

/** There are live pods with a sidecar: the observation exists, is theirs, and says what is seen. */
async function reconcileSeen(
  context: ReconcileContext,
  key: string,
  { labelled, found }: { labelled: Pod[]; found: Found },
): Promise<Again> {
  const known = context.observationAt(key);
  const { namespace = '', name } = parseKey(key);
  const workloads = agentWorkloadFirst(found.workloads, known);
  const [workload] = workloads;
  if (!workload) return { againInMs: RESYNC_MS };
  const desired = desiredObservation({ namespace, name }, workload, labelled);
  const observation = known && isAsDesired(known, desired) ? known : await apply(context, desired, known);
  const services = context.servicesIn(namespace);
  await applyConditions(context, observation, { pods: labelled, workloads, services });
  await age(context, key, observation, 'running');
  return { againInMs: found.going ? GOING_AGAIN_MS : RESYNC_MS };
}

/** No live pod: the agent rests, has stopped on its own, or is gone. */
async function reconcileUnseen(
  context: ReconcileContext,
  key: string,
  { observation, owners }: { observation: AgentObservation; owners: OwnerReader },
): Promise<Again | undefined> {
  const { agentRef } = observation.spec;
  if (!agentRef) return undefined;
  const answer = await owners.read(agentRef, observation.metadata.namespace);
  if (answer.state === 'unreadable') {
    await age(context, key, observation, 'running');
    return { againInMs: RESYNC_MS };
  }
  const leaving = context.podsOf(key).some((pod) => !hasEnded(pod));
  if (answer.state === 'gone' || (!wantsSidecar(answer.object) && !leaving)) {
    const why = answer.state === 'gone' ? 'is gone' : 'no longer wants a sidecar';
    await remove(context, observation, `${agentRef.kind} ${agentRef.name} ${why}`);
    return undefined;
  }
  await age(context, key, observation, activityOf(agentRef.kind, answer.object));
  return { againInMs: IDLE_RESYNC_MS };
}

async function apply(
  context: ReconcileContext,
  desired: ReturnType<typeof desiredObservation>,
  known: AgentObservation | undefined,
): Promise<AgentObservation> {
  const { client, events, logger } = context;
  const answer = await applyObject(client, AGENT_OBSERVATIONS, desired, { fieldManager: FIELD_MANAGER });
  const observation = expectOk(answer);
  const { kind, name } = desired.spec.agentRef ?? {};
  const { namespace, name: agent } = desired.metadata;
  logger.info(known ? 'follows the agent to its workload' : 'observes', {
    namespace,
    agent,
    kind,
    workload: name,
  });
  if (answer.ok && answer.status === 201) {
    const normal = { type: 'Normal' as const, action: 'Create' };
    const note = `observes ${kind} ${name}, which runs with the sidecar`;
    events.record({ ...normal, regarding: regarding(observation), reason: 'Observed', note });
    const injected = `its pods run with the sidecar; AgentObservation ${agent} shows what it finds`;
    for (const each of ownerNotes(observation, { ...normal, reason: 'Injected', note: injected }))
      events.record(each);
  }
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
  expectOk(
    await applyObject(
      context.client,
      AGENT_OBSERVATIONS,
      { metadata: { name, namespace }, status: { conditions } },
      { fieldManager: FIELD_MANAGER, subresource: 'status' },
    ),
  );
}

const isOwn = (type: string): boolean => (OWN_CONDITIONS as readonly string[]).includes(type);

/** What time, and pods that are gone, do to a status; nothing is sent where nothing changes. */
async function age(
  context: ReconcileContext,
  key: string,
  observation: AgentObservation,
  activity: Required<ObservationContext>['activity'],
): Promise<void> {
  const at = context.clock.now();
  const pods = context.podsOf(key);
  const isThere = (instance: InstanceStatus): boolean =>
    pods.some(
      (pod) =>
        pod.metadata.name === instance.name &&
        !hasEnded(pod) &&
        (instance.uid === undefined || pod.metadata.uid === instance.uid),
    );
  const update = (current: AgentObservation): ObservationStatus =>
    statusOf(
      withoutGone(current.status ?? { phase: 'Pending' }, isThere, at),
      at,
      contextOf(current, activity),
    );
  // A copy that is behind the API server comes by again with its next watch event.
  if (sameJson(update(observation), observation.status)) return;
  await context.statusWriter.write(objectKeyOf(observation), update);
}

async function remove(context: ReconcileContext, observation: AgentObservation, why: string): Promise<void> {
  const { name, namespace, uid } = observation.metadata;
  if (await deleteObject(context.client, AGENT_OBSERVATIONS, objectKeyOf(observation), uid))
    context.logger.info('removes an observation', { namespace, agent: name, why });
}

function objectKeyOf({ metadata: { name, namespace } }: AgentObservation): ObjectKey {
  return { name, namespace };
}
