import { known, notKnown, type Fact } from '../../core/diagnosis/fact.ts';
import type {
  DefinitionFacts,
  DeploymentFacts,
  HelmFacts,
  InstalledFacts,
  LeaseFacts,
  ProcessFacts,
  ReleaseFacts,
} from '../../core/diagnosis/facts.ts';
import { KubeError, type KubeClient } from '../../kube/client.ts';
import { getObject, listObjects } from '../../kube/objects.ts';
import { LEASES } from '../../kube/resources.ts';
import type { Clock } from '../../runtime/clock.ts';
import { pluralsOf, type ServedResource } from './gather-cluster.ts';
import { readHelmRelease, type HelmRelease, type ManifestObject } from './helm-release.ts';
import {
  CHART_LABEL,
  DEFINITION_NAME,
  DEFINITIONS,
  labelsOf,
  LEASE_NAME,
  RELEASE_DEPLOYMENTS,
  type Deployment,
} from './kinds.ts';
import { eachOf, look, lookOn } from './look.ts';

const COMPONENT = 'app.kubernetes.io/component';

/** The release in a namespace, by the Deployments of the chart; null: there is none. `wanted`: its name, if it is said. */
export async function findRelease(
  client: KubeClient,
  namespace: string,
  wanted: string | null,
): Promise<{ release: ReleaseFacts; deployments: Deployment[] } | null> {
  const labelSelector = wanted === null ? CHART_LABEL : labelsOf(wanted);
  const { items } = await listObjects(client, RELEASE_DEPLOYMENTS, { namespace, labelSelector });
  const names = [...new Set(items.map((each) => label(each, 'app.kubernetes.io/instance')))].sort();
  const [name] = names;
  if (name === undefined) return null;
  if (names.length > 1)
    throw new Error(`${namespace} has the releases ${names.join(', ')}: say which one by --release`);
  const versions = [...new Set(items.map((each) => label(each, 'app.kubernetes.io/version')))].sort();
  return { release: { name, namespace, versions }, deployments: items };
}

function label({ metadata }: Deployment, name: string): string {
  return metadata.labels?.[name] ?? '';
}

export type ReleasePart = Pick<
  InstalledFacts,
  'helm' | 'missingObjects' | 'deployments' | 'definition' | 'processes' | 'lease'
>;

export async function gatherRelease(
  client: KubeClient,
  clock: Clock,
  found: { release: ReleaseFacts; deployments: readonly Deployment[] },
): Promise<ReleasePart> {
  const { release, deployments } = found;
  const { namespace } = release;
  const helm = await look(`list secrets in ${namespace}`, () => readHelmRelease(client, release));
  const [missingObjects, definition, processes, lease] = await Promise.all([
    lookOn(helm, (kept) => missingOf(client, kept, namespace)),
    look('get customresourcedefinitions', () => definitionOf(client)),
    processesOf(client, namespace, deployments),
    look(`get leases in ${namespace}`, () => leaseOf(client, clock, namespace)),
  ]);
  return {
    helm: helm.known ? known(helmFacts(helm.value)) : helm,
    missingObjects,
    deployments: known(deployments.map(deploymentFacts)),
    definition,
    processes,
    lease,
  };
}

function helmFacts(kept: HelmRelease | null): HelmFacts | null {
  if (kept === null) return null;
  const { status, secret, content } = kept;
  if (!content.ok) return { status, hasGuard: null, unreadable: { secret, why: content.why } };
  const hasGuard = content.objects.some(
    ({ kind, name }) => kind === 'ValidatingAdmissionPolicy' && name.endsWith('-guard'),
  );
  return { status, hasGuard, unreadable: null };
}

function deploymentFacts({ metadata, spec, status }: Deployment): DeploymentFacts {
  return { name: metadata.name, wanted: spec?.replicas ?? 1, available: status?.availableReplicas ?? 0 };
}

async function missingOf(
  client: KubeClient,
  kept: HelmRelease | null,
  namespace: string,
): Promise<Fact<string[]>> {
  if (kept === null) return known([]);
  if (!kept.content.ok) return notKnown('the newest revision of the release cannot be read');
  const { objects } = kept.content;
  const versions = [...new Set(objects.map(({ apiVersion }) => apiVersion))];
  const served = new Map(
    await eachOf(
      versions,
      async (each) => [each, await look(`read /apis/${each}`, () => pluralsOf(client, each))] as const,
    ),
  );
  const facts = await eachOf(objects, async (object) => {
    const api = served.get(object.apiVersion) ?? known([]);
    if (!api.known) return api;
    const resource = api.value.find(({ kind }) => kind === object.kind);
    if (resource === undefined) return known(`${object.kind} ${object.name}`);
    const where = resource.namespaced ? ` in ${object.namespace ?? namespace}` : '';
    return look(`get ${resource.name}${where}`, async () =>
      (await isThere(client, object, resource, namespace)) ? null : `${object.kind} ${object.name}`,
    );
  });
  const unseen = facts.find((fact) => !fact.known);
  // One that is seen to be missing is worth more than that another could not be looked at.
  const missing = facts.flatMap((fact) => (fact.known && fact.value !== null ? [fact.value] : []));
  return missing.length === 0 && unseen?.known === false ? notKnown(unseen.why) : known(missing);
}

async function isThere(
  client: KubeClient,
  { apiVersion, kind, name, namespace }: ManifestObject,
  { name: plural, namespaced }: ServedResource,
  fallback: string,
): Promise<boolean> {
  const [version = '', group = ''] = apiVersion.split('/').reverse();
  const key = { name, ...(namespaced && { namespace: namespace ?? fallback }) };
  return (await getObject(client, { group, version, plural, kind }, key)) !== null;
}

async function definitionOf(client: KubeClient): Promise<DefinitionFacts | null> {
  const found = await getObject(client, DEFINITIONS, { name: DEFINITION_NAME });
  if (found === null) return null;
  return {
    established: found.status?.conditions?.some(isEstablished) === true,
    served: (found.spec?.versions ?? []).filter(({ served }) => served).map(({ name }) => name),
  };
}

function isEstablished({ type, status }: { type: string; status: string }): boolean {
  return type === 'Established' && status === 'True';
}

/** Ports by the names that the chart gives them. */
const PROCESSES = [
  { part: 'control-plane', scheme: 'https:', port: 'https' },
  { part: 'operator', scheme: '', port: 'http' },
] as const;

/** Through the API server, since nobody outside the cluster reaches a Service. */
async function processesOf(
  client: KubeClient,
  namespace: string,
  deployments: readonly Deployment[],
): Promise<ProcessFacts[]> {
  return Promise.all(
    PROCESSES.map(async ({ part, scheme, port }) => {
      const service = deployments.find((each) => label(each, COMPONENT) === part)?.metadata.name;
      if (service === undefined)
        return { part, answer: known({ ok: false, text: 'its Deployment is not there' }) };
      const path = `/api/v1/namespaces/${namespace}/services/${scheme}${service}:${port}/proxy/readyz`;
      const answer = await look(`get services/proxy in ${namespace}`, async () => {
        const reply = await client.send<unknown>({ method: 'GET', path });
        if (!reply.ok && [401, 403].includes(reply.status)) throw new KubeError(reply);
        return { ok: reply.ok, text: reply.ok ? '' : reasonIn(reply.message) };
      });
      return { part, answer };
    }),
  );
}

/** The `detail` of a problem document, or the words as they are. */
function reasonIn(text: string): string {
  try {
    const { detail } = JSON.parse(text) as { detail?: unknown };
    return typeof detail === 'string' ? detail : text;
  } catch {
    return text;
  }
}

/** Longer than between two renewals. */
const RENEWAL_MS = 2_500;
const LOOKS = 3;

/** The clocks of this machine and of the cluster may differ, so a Lease that looks old is watched for a renewal. */
async function leaseOf(client: KubeClient, clock: Clock, namespace: string): Promise<LeaseFacts | null> {
  const key = { namespace, name: LEASE_NAME };
  const first = await getObject(client, LEASES, key);
  if (first === null) return null;
  const { holderIdentity: holder = '', renewTime, leaseDurationSeconds = 0 } = first.spec ?? {};
  const ageMs = clock.now().getTime() - Date.parse(renewTime ?? '');
  if (holder === '' || (ageMs >= 0 && ageMs <= leaseDurationSeconds * 1_000))
    return { holder, fresh: holder !== '' };
  for (let looks = 0; looks < LOOKS; looks++) {
    await clock.sleep(RENEWAL_MS);
    const again = await getObject(client, LEASES, key);
    if (again?.metadata.resourceVersion !== first.metadata.resourceVersion) return { holder, fresh: true };
  }
  return { holder, fresh: false };
}
