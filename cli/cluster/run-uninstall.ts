import type { Fact } from '../../authoring/diagnosis/facts.ts';
import {
  leftoverReport,
  type LabelledObject,
  type LeftoverReport,
} from '../../authoring/diagnosis/leftovers.ts';
import { ADMISSION_POLICIES } from '../../kube/canary-condition.ts';
import type { KubeClient } from '../../kube/client.ts';
import { getObject, listObjects } from '../../kube/objects.ts';
import {
  AGENT_OBSERVATIONS,
  DEPLOYMENTS,
  JOBS,
  LEASES,
  NAMESPACES,
  PODS,
  resource,
  SECRETS,
  SERVICES,
  VALIDATING_CONFIGURATIONS,
  WEBHOOK_CONFIGURATIONS,
  type Resource,
} from '../../kube/resources.ts';
import type { KubeObject } from '../../kube/types.ts';
import type { CliContext } from '../context.ts';
import { withCluster, type ClusterOptions, type ClusterResult } from './connect.ts';
import { podsOf } from './gather-agents.ts';
import { NETWORK_POLICIES } from './gather-fences.ts';
import { BINDINGS, CHART_LABEL, CHART_NAME, CONFIG_MAPS, DEFINITIONS, labelsOf } from './kinds.ts';
import { chartIn, newestOf } from './helm-release.ts';
import { eachOf, noneIfNotServed, readFact } from './read-fact.ts';

const RBAC = 'rbac.authorization.k8s.io';

/** Every kind that the chart can create. */
const KINDS: readonly Resource<KubeObject>[] = [
  ...[WEBHOOK_CONFIGURATIONS, BINDINGS, DEFINITIONS, NAMESPACES, DEPLOYMENTS, SECRETS, CONFIG_MAPS],
  ...[SERVICES, LEASES, VALIDATING_CONFIGURATIONS],
  resource('', 'persistentvolumeclaims', 'PersistentVolumeClaim'),
  ADMISSION_POLICIES,
  resource(RBAC, 'clusterroles', 'ClusterRole'),
  resource(RBAC, 'clusterrolebindings', 'ClusterRoleBinding'),
  resource(RBAC, 'roles', 'Role'),
  resource(RBAC, 'rolebindings', 'RoleBinding'),
  resource('', 'serviceaccounts', 'ServiceAccount'),
  ...[PODS, JOBS],
  resource('policy', 'poddisruptionbudgets', 'PodDisruptionBudget'),
  NETWORK_POLICIES,
];

/** Lists the objects of the product that exist in the cluster. */
export async function findLeftovers(
  options: ClusterOptions,
  context: Pick<CliContext, 'env' | 'cwd'>,
): Promise<ClusterResult<LeftoverReport>> {
  const { namespace, release } = options;
  return withCluster(options, context, async ({ server, client }) => {
    const [hasNamespace, releases, objects, observations, pods] = await Promise.all([
      readFact(
        'get namespaces',
        async () => (await getObject(client, NAMESPACES, { name: namespace })) !== null,
      ),
      readFact(`list secrets in ${namespace}`, () => releasesIn(client, namespace, release)),
      eachOf(KINDS, (kind) => labelled(client, kind, release)),
      readFact('list agentobservations in every namespace', () => observationsOf(client)),
      readFact('list pods in every namespace', () => podsOf(client, namespace)),
    ]);
    return leftoverReport(server, { namespace, hasNamespace, releases, objects, observations, pods });
  });
}

/** The newest revision of each release of the chart. */
async function releasesIn(
  client: KubeClient,
  namespace: string,
  wanted: string | undefined,
): Promise<{ name: string; status: string }[]> {
  const labelSelector = wanted === undefined ? 'owner=helm' : `owner=helm,name=${wanted}`;
  const { items } = await listObjects(client, SECRETS, { namespace, labelSelector });
  const byName = Map.groupBy(items, ({ metadata }) => metadata.labels?.['name'] ?? '');
  return [...byName].flatMap(([name, secrets]) => {
    const newest = newestOf(secrets);
    if (newest === undefined || chartIn(newest) !== CHART_NAME) return [];
    return [{ name, status: newest.metadata.labels?.['status'] ?? 'unknown' }];
  });
}

/** Objects of one kind with the chart's label, in every namespace. */
async function labelled(
  client: KubeClient,
  kind: Resource<KubeObject>,
  release: string | undefined,
): Promise<Fact<LabelledObject[]>> {
  const labelSelector = release === undefined ? CHART_LABEL : labelsOf(release);
  return readFact(`list ${kind.plural} in every namespace`, async () => {
    const { items } = await listObjects(client, kind, { labelSelector }).catch(noneIfNotServed);
    return items
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map(({ metadata: { namespace = null, name, labels, annotations } }) => ({
        kind: kind.kind,
        resource: kind.group === '' ? kind.plural : `${kind.plural}.${kind.group}`,
        namespace,
        name,
        release: labels?.['app.kubernetes.io/instance'] ?? '',
        isKept: annotations?.['helm.sh/resource-policy'] === 'keep',
      }));
  });
}

async function observationsOf(client: KubeClient): Promise<{ namespace: string; name: string }[]> {
  const { items } = await listObjects(client, AGENT_OBSERVATIONS).catch(noneIfNotServed);
  return items.map(({ metadata: { namespace, name } }) => ({ namespace, name }));
}
