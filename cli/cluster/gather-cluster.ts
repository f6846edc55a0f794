import {
  known,
  type ClusterFacts,
  type ExistingObject,
  type Fact,
  type InstallFacts,
} from '../../authoring/diagnosis/facts.ts';
import {
  describePermission,
  ESCALATE,
  EVERYTHING,
  grantedPermissions,
  installPermissions,
  type Permission,
} from '../../authoring/diagnosis/install-permissions.ts';
import type { KubeClient } from '../../kube/client.ts';
import { expectOk, getObject } from '../../kube/objects.ts';
import { NAMESPACES } from '../../kube/resources.ts';
import type { KubeObject } from '../../kube/types.ts';
import { DEFINITION_NAMES, DEFINITIONS } from './kinds.ts';
import { eachOf, readFact } from './read-fact.ts';

/** APIs that the product uses, beyond those that every API server has. */
const NEEDED: readonly (readonly [groupVersion: string, resource: string])[] = [
  ['admissionregistration.k8s.io/v1', 'mutatingwebhookconfigurations'],
  ['admissionregistration.k8s.io/v1', 'validatingadmissionpolicies'],
  ['admissionregistration.k8s.io/v1', 'validatingadmissionpolicybindings'],
  ['admissionregistration.k8s.io/v1', 'validatingwebhookconfigurations'],
  ['apiextensions.k8s.io/v1', 'customresourcedefinitions'],
  ['apps/v1', 'deployments'],
  ['authentication.k8s.io/v1', 'tokenreviews'],
  ['batch/v1', 'cronjobs'],
  ['coordination.k8s.io/v1', 'leases'],
  ['events.k8s.io/v1', 'events'],
  ['policy/v1', 'poddisruptionbudgets'],
  ['rbac.authorization.k8s.io/v1', 'clusterroles'],
];

export async function gatherCluster(client: KubeClient): Promise<ClusterFacts> {
  const version = await readFact('read /version', async () => {
    const response = expectOk(
      await client.send<{ gitVersion?: string }>({ method: 'GET', path: '/version' }),
    );
    return response.gitVersion ?? '';
  });
  const missingApis = await readFact('read /apis', async () => {
    const groupVersions = [...new Set(NEEDED.map(([groupVersion]) => groupVersion))];
    const served = new Map(
      await eachOf(groupVersions, async (each) => [each, await pluralsOf(client, each)] as const),
    );
    return NEEDED.filter(([each, resource]) => !served.get(each)?.some(({ name }) => name === resource)).map(
      ([each, resource]) => `${each} ${resource}`,
    );
  });
  return { version, missingApis };
}

export interface ServedResource {
  name: string;
  kind: string;
  namespaced: boolean;
}

/** Resources that the API server has in a group and version; empty if the group is unknown. */
export async function pluralsOf(client: KubeClient, groupVersion: string): Promise<ServedResource[]> {
  const parts = groupVersion.split('/').map(encodeURIComponent);
  const path = [parts.length > 1 ? '/apis' : '/api', ...parts].join('/');
  const response = await client.send<{ resources?: ServedResource[] }>({ method: 'GET', path });
  if (!response.ok && response.status === 404) return [];
  return (expectOk(response).resources ?? []).filter(({ name }) => !name.includes('/'));
}

/** Namespaces that the chart creates by default. */
const CHART_NAMESPACES = ['platform-remote', 'platform-canary'];

export async function gatherInstall(
  client: KubeClient,
  { release, namespace }: { release: string; namespace: string },
): Promise<InstallFacts> {
  const [cluster, missingPermissions, existing] = await Promise.all([
    gatherCluster(client),
    readFact('create selfsubjectaccessreviews', () => missingPermissionsOf(client, namespace)),
    existingOf(client),
  ]);
  return { ...cluster, release, namespace, missingPermissions, existing };
}

async function missingPermissionsOf(client: KubeClient, namespace: string): Promise<string[]> {
  if (await isAllowed(client, EVERYTHING)) return [];
  const delegated = (await isAllowed(client, ESCALATE)) ? [] : grantedPermissions();
  const wanted = [...installPermissions(namespace), ...delegated];
  const results = await eachOf(wanted, async (right) => ({ right, allowed: await isAllowed(client, right) }));
  return results.filter(({ allowed }) => !allowed).map(({ right }) => describePermission(right));
}

export async function isAllowed(client: KubeClient, { resource, ...right }: Permission): Promise<boolean> {
  const [plural = '', subresource] = resource.split('/');
  const body = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes: { ...right, resource: plural, ...(subresource && { subresource }) } },
  };
  const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
  const response = await client.send<{ status?: { allowed?: boolean } }>({ method: 'POST', path, body });
  return expectOk(response).status?.allowed === true;
}

async function existingOf(client: KubeClient): Promise<Fact<ExistingObject[]>> {
  const wanted = [
    ...CHART_NAMESPACES.map((name) => ({ resource: NAMESPACES, name })),
    ...DEFINITION_NAMES.map((name) => ({ resource: DEFINITIONS, name })),
  ];
  const found: ExistingObject[] = [];
  for (const { resource, name } of wanted) {
    const { kind, plural } = resource;
    const fact = await readFact(`get ${plural}`, () => getObject<KubeObject>(client, resource, { name }));
    if (!fact.known) return fact;
    if (fact.value !== null) found.push({ kind, name, owner: ownerOf(fact.value) });
  }
  return known(found);
}

function ownerOf({ metadata }: KubeObject): ExistingObject['owner'] {
  const release = metadata.annotations?.['meta.helm.sh/release-name'];
  const namespace = metadata.annotations?.['meta.helm.sh/release-namespace'];
  return release === undefined || namespace === undefined ? null : { release, namespace };
}
