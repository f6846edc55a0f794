import type { Installed } from '../../core/injection/drift.ts';
import type { AgentObservation } from '../../core/observation/observation.ts';
import type { Condition } from '../../core/shapes/condition.ts';
import type { ClusterParts } from '../../kube/cluster-parts.ts';
import type { EventRecorder } from '../../kube/events.ts';
import { sameJson } from '../../kube/merge-patch.ts';
import { deleteObject, expectOk } from '../../kube/objects.ts';
import { AGENT_OBSERVATIONS, parseKey } from '../../kube/resources.ts';
import { applyObject } from '../../kube/server-side-apply.ts';
import type { Pod, Service } from '../../kube/types.ts';
import type { Requeue } from '../../kube/work-queue.ts';
import type { KnownCas } from '../../runtime/known-cas.ts';
import { hasEnded, isLive } from '../../kube/pods.ts';
import { age, type AgeContext } from './age.ts';
import { announceNameTaken, announceNew } from './changes.ts';
import { makesAgent } from './claim.ts';
import { idleConditions, ownConditions, type AgentState } from './conditions.ts';
import { agentWorkloadFirst, desiredObservation, isAsDesired, type MinimumBars } from './desired.ts';
import { driftIn } from './drift.ts';
import type { Misfit } from './fits-condition.ts';
import { rejectedChangeIn } from './manifest-condition.ts';
import { createOwnerReader, type OwnerReader, type WorkloadResult, type WorkloadRef } from './owner-chain.ts';
import { activityOf, agentNameIn, wantsSidecar } from './workload-state.ts';

/** The field manager for server-side apply. */
export const FIELD_MANAGER = 'platform-operator';
/** `force`: take our fields back if someone else changed them. */
const APPLY = { fieldManager: FIELD_MANAGER, force: true };

export interface ReconcileContext extends AgeContext, ClusterParts {
  events: EventRecorder;
  observationAt(key: string): AgentObservation | undefined;
  /** What newly created pods get; null: unknown to this process. */
  installed: Installed | null;
  /** The CAs that pods may trust; null: unknown to this process. */
  knownCas: KnownCas | null;
  /** The lowest bars that `platform.io/compliant-grade` and `platform.io/compliant-evidence` may set. */
  minimum: MinimumBars;
  /** Namespaces that are excluded from injection. */
  excludedNamespaces: readonly string[];
  servicesIn(namespace: string): Service[];
  failedMountOf: (pod: Pod) => string | null;
  misfitOf(key: string): Misfit | null;
}

/** Retry delay while owners are being deleted, before their pods or the observation are deleted too. */
export const DELETING_RETRY_MS = 2_000;
/** Changes that no watch reports (a workload is scaled or no longer opts in) are detected after this time at the latest. */
const RESYNC_MS = 600_000;
const IDLE_RESYNC_MS = 60_000;
/** Up to a fifth earlier: a new leader reconciles all agents at once, and the jitter spreads the later reconciles. */
const resyncIn = (ms: number): number => ms * (1 - Math.random() / 5);

type Found = Awaited<ReturnType<typeof workloadsOf>>;

/** Reconciles the AgentObservation of one agent with its pods and its workload. Level-based, so a missed event has no effect. */
export async function reconcileAgent(context: ReconcileContext, key: string): Promise<Requeue | undefined> {
  // Also while it is being deleted: a finalizer can keep it forever, and without this process it would keep its last status.
  const observation = context.observationAt(key);
  const pods = context.podsOf(key).filter(isLive);
  const owners = createOwnerReader(context.client);
  const found = await workloadsOf(
    pods.filter((pod) => makesAgent(pod, context.excludedNamespaces)),
    owners,
  );
  // The control plane maintains observations of remote agents.
  if (observation?.spec.source === 'remote') {
    for (const workload of found.workloads) announceNameTaken(context, observation, workload);
    return undefined;
  }
  if (found.workloads.length > 0) return reconcileActive(context, key, { pods, found });
  // After the deletion of an owner its pods are deleted too, or they are orphaned and get another owner.
  if (found.isDeleting) return { requeueAfterMs: DELETING_RETRY_MS };
  return observation ? reconcileIdle(context, key, { observation, owners }) : undefined;
}

async function workloadsOf(
  pods: readonly Pod[],
  owners: OwnerReader,
): Promise<{ workloads: WorkloadRef[]; isDeleting: boolean }> {
  const results = await Promise.all(pods.map((pod) => owners.ownerOf(pod)));
  return {
    workloads: results.flatMap((result) => (result.state === 'found' ? [result.workload] : [])),
    isDeleting: results.some((result) => result.state === 'deleting'),
  };
}

/** For agents with live pods that have or should have a sidecar: creates or updates the observation and its status. */
async function reconcileActive(
  context: ReconcileContext,
  key: string,
  { pods, found }: { pods: Pod[]; found: Found },
): Promise<Requeue> {
  const known = context.observationAt(key);
  const { namespace = '', name } = parseKey(key);
  const workloads = agentWorkloadFirst(found.workloads, known);
  const [workload] = workloads;
  if (!workload) return { requeueAfterMs: resyncIn(RESYNC_MS) };
  const desired = desiredObservation({ namespace, name }, workload, {
    pods,
    minimum: context.minimum,
  });
  const { installed, failedMountOf, knownCas } = context;
  // The files do not exist before the injector has issued the first certificate.
  await knownCas?.read().catch(() => undefined);
  const drift = driftIn(pods, installed, knownCas);
  const agentState = {
    ...{ pods, workloads, drift, failedMountOf },
    services: context.servicesIn(namespace),
    misfit: context.misfitOf(key),
    rejectedChange: rejectedChangeIn(known?.status),
  };
  const observation =
    known && isAsDesired(known, desired) ? known : await apply(context, desired, { known, agentState });
  const conditions = ownConditions(agentState, observation.status?.conditions ?? [], context.clock.now());
  await applyConditions(context, observation, conditions);
  await age(context, key, observation, { activity: 'running', drift });
  return { requeueAfterMs: found.isDeleting ? DELETING_RETRY_MS : resyncIn(RESYNC_MS) };
}

/** For agents without live pods: the agent is idle or has ended, or its workload no longer exists. */
async function reconcileIdle(
  context: ReconcileContext,
  key: string,
  { observation, owners }: { observation: AgentObservation; owners: OwnerReader },
): Promise<Requeue | undefined> {
  const { agentRef } = observation.spec;
  if (!agentRef) return undefined;
  const result = await owners.read(agentRef, observation.metadata.namespace);
  const isRemoved = observation.metadata.deletionTimestamp !== undefined;
  if (result.state === 'unreadable' || (result.state === 'gone' && isRemoved)) {
    await age(context, key, observation, { activity: 'running' });
    return { requeueAfterMs: resyncIn(RESYNC_MS) };
  }
  const hasTerminatingPods = context.podsOf(key).some((pod) => !hasEnded(pod));
  const why = whyObsolete(observation, result);
  if (result.state === 'gone' || (why !== null && !hasTerminatingPods && !isRemoved)) {
    await remove(context, observation, `${agentRef.kind} ${agentRef.name} ${why}`);
    return undefined;
  }
  const conditions = idleConditions(observation, context.misfitOf(key), context.clock.now());
  await applyConditions(context, observation, conditions);
  await age(context, key, observation, { activity: activityOf(agentRef.kind, result.object) });
  return { requeueAfterMs: resyncIn(IDLE_RESYNC_MS) };
}

/** Why the workload will create no more pods of this agent; null: it may create pods. */
function whyObsolete(
  { metadata, spec }: AgentObservation,
  result: Exclude<WorkloadResult, { state: 'unreadable' }>,
): string | null {
  if (result.state === 'gone') return 'no longer exists';
  if (!wantsSidecar(result.object)) return 'no longer requests a sidecar';
  const name = agentNameIn(spec.agentRef?.kind ?? '', result.object);
  return name === null || name === metadata.name ? null : `now has the agent name ${name}`;
}

async function apply(
  context: ReconcileContext,
  desired: ReturnType<typeof desiredObservation>,
  { known, agentState }: { known: AgentObservation | undefined; agentState: AgentState },
): Promise<AgentObservation> {
  const { client, events, logger } = context;
  const response = await applyObject(client, AGENT_OBSERVATIONS, desired, APPLY);
  const observation = expectOk(response);
  const { kind, name } = desired.spec.agentRef ?? {};
  const { namespace, name: agent } = desired.metadata;
  if (known?.metadata.resourceVersion !== observation.metadata.resourceVersion)
    logger.info(known ? 'updated owner of AgentObservation' : 'created AgentObservation', {
      namespace,
      agent,
      kind,
      workload: name,
    });
  if (response.ok && response.status === 201) announceNew(events, observation, agentState);
  return observation;
}

async function applyConditions(
  context: ReconcileContext,
  observation: AgentObservation,
  conditions: readonly Condition[],
): Promise<void> {
  const { name, namespace } = observation.metadata;
  const known = observation.status?.conditions ?? [];
  const unchanged = conditions.every((condition) => known.some((each) => sameJson(each, condition)));
  if (unchanged) return;
  const applied = { metadata: { name, namespace }, status: { conditions } };
  const options = { ...APPLY, subresource: 'status' as const };
  expectOk(await applyObject(context.client, AGENT_OBSERVATIONS, applied, options));
}

async function remove(context: ReconcileContext, observation: AgentObservation, why: string): Promise<void> {
  const { name, namespace, uid } = observation.metadata;
  if (await deleteObject(context.client, AGENT_OBSERVATIONS, { namespace, name }, uid))
    context.logger.info('deleted AgentObservation', { namespace, agent: name, why });
}
