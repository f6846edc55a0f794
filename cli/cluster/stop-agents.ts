import { randomBytes } from 'node:crypto';
import { AGENT_LABEL } from '../../core/injection/names.ts';
import { parseStop, stopId } from '../../core/organisation/stops.ts';
import type { KubeClient } from '../../kube/client.ts';
import {
  createObject,
  deleteObject,
  expectOk,
  getObject,
  listObjects,
  patchObject,
} from '../../kube/objects.ts';
import { isLive } from '../../kube/pods.ts';
import { AGENT_OBSERVATIONS, PODS } from '../../kube/resources.ts';
import type { CliContext } from '../context.ts';
import { isForbidden, type ListedStop, type StopRequest, type Stops } from '../stop/stops.ts';
import { withCluster, type ClusterOptions, type ClusterResult } from './connect.ts';
import { AGENT_STOPS, type AgentStopObject } from './kinds.ts';

const STOP_ANNOTATION = 'platform.io/stop';
/** Changes with each annotation, so that the kubelet sees a change although the reason is the same. */
const SENT_ANNOTATION = 'stop.platform.io/sent';

/** Stops as objects of the cluster, with the rights of the kubeconfig. */
export function withClusterStops<T>(
  options: ClusterOptions,
  context: Pick<CliContext, 'env' | 'cwd' | 'now'>,
  act: (stops: Stops) => Promise<T>,
): Promise<ClusterResult<T>> {
  return withCluster(options, context, ({ client }) => act(stopsIn(client, options.namespace, context.now)));
}

const within = (namespace: string | null) => (namespace === null ? {} : { namespace });

const stopsIn = (client: KubeClient, rootNamespace: string, now: () => Date): Stops => ({
  pods: podsIn(client, now),
  async list(namespaces) {
    const wanted = namespaces === null ? [null] : [...new Set([...namespaces, rootNamespace])];
    const all: ListedStop[] = [];
    for (const namespace of wanted)
      try {
        const { items } = await listObjects(client, AGENT_STOPS, within(namespace));
        all.push(...items.flatMap(listedStop));
      } catch (error) {
        // A team may be permitted to list its own namespace only.
        if (!isForbidden(error) || namespace === null || namespaces?.includes(namespace)) throw error;
      }
    return all;
  },
  create: (request) => createStop(client, request, rootNamespace),
  async remove({ namespace, name }) {
    await deleteObject(client, AGENT_STOPS, { namespace, name });
  },
  async agents(namespace) {
    const selection = { ...within(namespace), only: 'metadata' as const };
    const { items } = await listObjects(client, AGENT_OBSERVATIONS, selection);
    return items.map(({ metadata }) => ({ namespace: metadata.namespace, name: metadata.name }));
  },
  async status({ namespace, name }) {
    const found = await getObject(client, AGENT_OBSERVATIONS, { namespace, name });
    return found === null ? null : (found.status ?? {});
  },
});

function listedStop(object: AgentStopObject): ListedStop[] {
  const stop = parseStop(object);
  if (stop === null) return [];
  const { namespace, name, since, spec } = stop;
  const { stopped, pending } = object.status ?? {};
  const counted = stopped === undefined || pending === undefined ? {} : { stopped, pending };
  return [{ id: stopId(stop), namespace, name, ...spec, since, stored: true, ...counted }];
}

async function createStop(
  client: KubeClient,
  { namespace = '', ...spec }: StopRequest,
  rootNamespace: string,
): Promise<ListedStop> {
  const by = await ownName(client);
  const metadata = { namespace: namespace || rootNamespace, name: `stop-${randomBytes(4).toString('hex')}` };
  const object: AgentStopObject = { metadata, spec: { ...spec, ...(by !== null && { by }) } };
  const created = await createObject(client, AGENT_STOPS, object);
  const [stop] = created.outcome === 'created' ? listedStop(created.object) : [];
  if (stop === undefined) throw new Error(`the AgentStop ${metadata.name} was not created; try again`);
  return stop;
}

/** The user name that the API server sees; null: it does not return it. */
async function ownName(client: KubeClient): Promise<string | null> {
  const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  const reply = await client.send<{ status?: { userInfo?: { username?: string } } }>({
    ...{ method: 'POST', path, body },
  });
  const name = reply.ok ? reply.body.status?.userInfo?.username : undefined;
  return name !== undefined && name.length <= 320 ? name : null;
}

const podsIn = (client: KubeClient, now: () => Date): NonNullable<Stops['pods']> => ({
  async list(namespace) {
    const { items } = await listObjects(client, PODS, {
      labelSelector: AGENT_LABEL,
      ...within(namespace),
    });
    return items.filter(isLive).map(({ metadata: { namespace: home = '', name, labels, annotations } }) => ({
      ...{ namespace: home, name, agent: { namespace: home, name: labels?.[AGENT_LABEL] ?? '' } },
      isAnnotated: annotations?.[STOP_ANNOTATION] !== undefined,
    }));
  },
  async annotate({ namespace, name }, reason) {
    const annotations = {
      [STOP_ANNOTATION]: reason,
      [SENT_ANNOTATION]: reason === null ? null : now().toISOString(),
    };
    const reply = await patchObject(client, PODS, { namespace, name }, { metadata: { annotations } });
    // A pod that has been deleted in the meantime needs no annotation.
    if (reply.ok || reply.status !== 404) expectOk(reply);
  },
});
