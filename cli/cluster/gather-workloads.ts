import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import {
  annotationMistakesOf,
  type AnnotationMistake,
} from '../../authoring/diagnosis/annotation-mistakes.ts';
import {
  known,
  type Fact,
  type ManifestFacts,
  type ManifestText,
  type WorkloadFacts,
} from '../../authoring/diagnosis/facts.ts';
import { MANIFEST_KEY, optedInOf, type OptedIn } from '../../authoring/diagnosis/opted-in.ts';
import type { KubeClient } from '../../kube/client.ts';
import { EVENTS, type StoredEvent } from '../../kube/events.ts';
import { getObject, listObjects } from '../../kube/objects.ts';
import {
  apiVersionOf,
  CRON_JOBS,
  DAEMON_SETS,
  DEPLOYMENTS,
  JOBS,
  REPLICA_SETS,
  STATEFUL_SETS,
  type Resource,
} from '../../kube/resources.ts';
import type { KubeObject, Workload } from '../../kube/types.ts';
import { CONFIG_MAPS, type ConfigMap } from './kinds.ts';
import { chainFact, eachOf, mapFact, readFact } from './read-fact.ts';

const CONTROLLERS = [DEPLOYMENTS, STATEFUL_SETS, DAEMON_SETS, CRON_JOBS, JOBS, REPLICA_SETS];
/** Pods and controllers with these owners are no workloads themselves: their owner is. */
const OWNERS = CONTROLLERS.map(({ kind }) => kind);

/** What is kept of a workload, or of a controller that belongs to one. */
export interface Top {
  optedIn: OptedIn | null;
  mistakes: readonly AnnotationMistake[];
  /** `CronJob chat`; null: it is a workload itself. */
  owner: string | null;
  /** The UID while its controller may create pods. */
  uid: string | null;
  /** From its status: why its controller cannot create pods. */
  refused: string | null;
}

/** What is kept of a pod or a controller; null: it concerns no agent. */
export function topOf(resource: Resource<KubeObject>, object: KubeObject): Top | null {
  const { kind } = resource;
  const { spec, status } = object as Workload;
  const { uid = '', ownerReferences = [] } = object.metadata;
  const owner = ownerReferences.find(({ controller }) => controller === true);
  const isOwned = owner !== undefined && OWNERS.includes(owner.kind);
  // A Deployment shows the state of its ReplicaSets, but a CronJob does not show that of its Jobs.
  if (hasEnded(status) || (isOwned && kind !== 'Job')) return null;
  // Items of a list have no kind and apiVersion.
  const whole = { ...object, kind, apiVersion: apiVersionOf(resource) };
  const optedIn = optedInOf(whole);
  const mistakes = isOwned ? [] : annotationMistakesOf(whole);
  if (optedIn === null && mistakes.length === 0) return null;
  const isWanted = spec?.replicas !== 0 && spec?.suspend !== true;
  return {
    // Pods of a kind that is not read, such as of another project, are one workload.
    optedIn:
      optedIn && kind === 'Pod' && owner ? { ...optedIn, kind: owner.kind, name: owner.name } : optedIn,
    mistakes,
    owner: isOwned ? `${owner.kind} ${owner.name}` : null,
    uid: isWanted ? uid : null,
    refused: conditionOf(status, 'ReplicaFailure')?.message ?? null,
  };
}

function conditionOf(status: Workload['status'], type: string) {
  return status?.conditions?.find((each) => each.type === type && each.status === 'True');
}

const hasEnded = (status: Workload['status']): boolean =>
  ['Complete', 'Failed'].some((type) => conditionOf(status, type) !== undefined);

/** The workloads of the cluster that opt in, and mistakes in the annotations of all workloads. `pods`: workloads themselves. */
export async function workloadsOf(
  client: KubeClient,
  pods: Fact<readonly Top[]>,
): Promise<{ workloads: Fact<WorkloadFacts[]>; mistakes: Fact<AnnotationMistake[]> }> {
  const found: Top[] = [];
  for (const resource of CONTROLLERS) {
    const keep = (object: Workload): null => {
      const top = topOf(resource, object);
      if (top !== null) found.push(top);
      return null;
    };
    const permission = `list ${resource.plural} in every namespace`;
    const fact = await readFact(permission, () => listObjects(client, resource, { keep }));
    if (!fact.known) return { workloads: fact, mistakes: fact };
  }
  const all = mapFact(pods, (tops) => [...found, ...tops]);
  return {
    workloads: await chainFact(all, (tops) => workloadFacts(client, tops)),
    mistakes: mapFact(all, (tops) => tops.flatMap(({ mistakes }) => mistakes)),
  };
}

const keyOf = (namespace: string, workload: string): string => `${namespace} ${workload}`;

async function workloadFacts(client: KubeClient, tops: readonly Top[]): Promise<Fact<WorkloadFacts[]>> {
  const opted = tops.flatMap(({ optedIn, ...rest }) => (optedIn === null ? [] : [{ ...rest, ...optedIn }]));
  const refusals = await refusalsOf(client, new Set(opted.flatMap(({ uid }) => uid ?? [])));
  const byWorkload = Map.groupBy(opted, ({ namespace, kind, name, owner }) =>
    keyOf(namespace, owner ?? `${kind} ${name}`),
  );
  const workloads = [...byWorkload.values()].flatMap((all) => {
    const workload = all.find(({ owner }) => owner === null);
    return workload === undefined ? [] : [{ workload, all }];
  });
  return known(
    await eachOf(workloads, async ({ workload: { kind, namespace, name, agentName, configMap }, all }) => ({
      ...{ kind, namespace, name, agentName },
      refused: mapFact(refusals, (messages) => {
        const found = all.map(({ uid, refused }) => refused ?? messages.get(uid ?? ''));
        return found.find((message) => message !== undefined) ?? null;
      }),
      manifest: configMap === null ? null : await manifestOf(client, namespace, configMap),
    })),
  );
}

type Occurred = StoredEvent & { deprecatedLastTimestamp?: string; eventTime?: string };

/**
 * The messages of controllers that could not create their last pod, by UID. Only Deployments and ReplicaSets show this in
 * their status; the other controllers show it only in Events, which the API server keeps for an hour.
 */
async function refusalsOf(
  client: KubeClient,
  wanted: ReadonlySet<string>,
): Promise<Fact<ReadonlyMap<string, string>>> {
  return readFact('list events in every namespace', async () => {
    const newest = new Map<string, Occurred>();
    const keep = (event: Occurred): null => {
      const uid = event.regarding?.uid ?? '';
      if (wanted.has(uid) && lastTimeOf(event) >= lastTimeOf(newest.get(uid))) newest.set(uid, event);
      return null;
    };
    await listObjects(client, EVENTS, { fieldSelector: 'reason=FailedCreate', keep });
    const still = await eachOf([...newest], async ([uid, event]) => {
      const { namespace = '' } = event.metadata;
      const fieldSelector = `reason=SuccessfulCreate,regarding.uid=${uid}`;
      const { items } = await listObjects<Occurred>(client, EVENTS, { namespace, fieldSelector });
      // Times have whole seconds. A controller that still cannot create a pod retries, so its next Event is later.
      const isOver = items.some((created) => lastTimeOf(created) >= lastTimeOf(event));
      return isOver ? [] : [[uid, messageIn(event)] as const];
    });
    return new Map(still.flat());
  });
}

function lastTimeOf(event: Occurred | undefined): number {
  const { series, deprecatedLastTimestamp, eventTime, metadata } = event ?? {};
  const text =
    series?.lastObservedTime ?? deprecatedLastTimestamp ?? eventTime ?? metadata?.creationTimestamp ?? '';
  return Date.parse(text) || 0;
}

/** Without what the controller adds to the message of the API server. */
function messageIn({ note = '' }: StoredEvent): string {
  return note.replace(
    /^(\(combined from similar events\): )?(Error creating: |Create Pod \S+ in StatefulSet \S+ failed error: )?/i,
    '',
  );
}

async function manifestOf(client: KubeClient, namespace: string, configMap: string): Promise<ManifestFacts> {
  const key = { namespace, name: configMap };
  const found = await readFact(`get configmaps in ${namespace}`, () => getObject(client, CONFIG_MAPS, key));
  return { configMap, text: mapFact(found, textIn) };
}

/** The kubelet mounts the keys of both members as files. */
function textIn(configMap: ConfigMap | null): ManifestText {
  if (configMap === null) return { state: 'absent' };
  const text = configMap.data?.[MANIFEST_KEY];
  const binary = configMap.binaryData?.[MANIFEST_KEY];
  if (text === undefined && binary === undefined) return { state: 'no-key' };
  const bytes = text === undefined ? Buffer.from(binary ?? '', 'base64') : Buffer.from(text);
  if (bytes.includes(0) || !isUtf8(bytes)) return { state: 'not-text' };
  return {
    state: 'there',
    member: text === undefined ? 'binaryData' : 'data',
    text: new TextDecoder().decode(bytes),
    hash: createHash('sha256').update(bytes).digest('hex'),
    changedAt: changeOf(configMap.metadata),
  };
}

/** Without managed fields, which a client can remove, the creation. */
function changeOf({ creationTimestamp = '', managedFields = [] }: ConfigMap['metadata']): Date {
  const times = [creationTimestamp, ...managedFields.map(({ time = '' }) => time)];
  return new Date(Math.max(...times.map((time) => Date.parse(time) || 0)));
}
