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
import { isRecord, jsonOf } from '../../core/untrusted/fields.ts';
import { KubeError, type KubeClient } from '../../kube/client.ts';
import { getObject, listObjects } from '../../kube/objects.ts';
import { DEPLOYMENTS, LEASES } from '../../kube/resources.ts';
import type { Workload } from '../../kube/types.ts';
import type { Clock } from '../../runtime/clock.ts';
import { pluralsOf, type ServedResource } from './gather-cluster.ts';
import { readHelmRelease, type HelmRelease, type ManifestObject } from './helm-release.ts';
import { CHART_LABEL, DEFINITION_NAME, DEFINITIONS, labelsOf, LEASE_NAME } from './kinds.ts';
import { chainFact, eachOf, mapFact, readFact } from './read-fact.ts';

const COMPONENT = 'app.kubernetes.io/component';

/** Finds the release in a namespace by the chart's Deployments; null: none. `wanted`: the release name, if given. */
export async function findRelease(
  client: KubeClient,
  namespace: string,
  wanted: string | null,
): Promise<{ release: ReleaseFacts; deployments: Workload[] } | null> {
  const labelSelector = wanted === null ? CHART_LABEL : labelsOf(wanted);
  const { items } = await listObjects(client, DEPLOYMENTS, { namespace, labelSelector });
  const names = [...new Set(items.map((each) => label(each, 'app.kubernetes.io/instance')))].sort();
  const [name] = names;
  if (name === undefined) return null;
  if (names.length > 1)
    throw new Error(
      `${namespace} contains several releases (${names.join(', ')}); select one with --release`,
    );
  const versions = [...new Set(items.map((each) => label(each, 'app.kubernetes.io/version')))].sort();
  return { release: { name, namespace, versions }, deployments: items };
}

function label({ metadata }: Workload, name: string): string {
  return metadata.labels?.[name] ?? '';
}

export type ReleasePart = Pick<
  InstalledFacts,
  'helm' | 'missingObjects' | 'deployments' | 'definition' | 'processes' | 'lease'
>;

export async function gatherRelease(
  client: KubeClient,
  clock: Clock,
  found: { release: ReleaseFacts; deployments: readonly Workload[] },
): Promise<ReleasePart> {
  const { release, deployments } = found;
  const { namespace } = release;
  const helm = await readFact(`list secrets in ${namespace}`, () => readHelmRelease(client, release));
  const [missingObjects, definition, processes, lease] = await Promise.all([
    chainFact(helm, (kept) => missingOf(client, kept, namespace)),
    readFact('get customresourcedefinitions', () => definitionOf(client)),
    processesOf(client, namespace, deployments),
    readFact(`get leases in ${namespace}`, () => leaseOf(client, clock, namespace)),
  ]);
  return {
    helm: mapFact(helm, helmFacts),
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

function deploymentFacts({ metadata, spec, status }: Workload): DeploymentFacts {
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
      async (each) => [each, await readFact(`read /apis/${each}`, () => pluralsOf(client, each))] as const,
    ),
  );
  const facts = await eachOf(objects, async (object) => {
    const api = served.get(object.apiVersion) ?? known([]);
    if (!api.known) return api;
    const resource = api.value.find(({ kind }) => kind === object.kind);
    if (resource === undefined) return known(`${object.kind} ${object.name}`);
    const where = resource.namespaced ? ` in ${object.namespace ?? namespace}` : '';
    return readFact(`get ${resource.name}${where}`, async () =>
      (await isThere(client, object, resource, namespace)) ? null : `${object.kind} ${object.name}`,
    );
  });
  const unreadable = facts.find((fact) => !fact.known);
  // An object known to be missing is reported in preference to an object that could not be read.
  const missing = facts.flatMap((fact) => (fact.known && fact.value !== null ? [fact.value] : []));
  return missing.length === 0 && unreadable?.known === false ? notKnown(unreadable.why) : known(missing);
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

/** Port names as in the chart. */
const PROCESSES = [
  { part: 'control-plane', scheme: 'https:', port: 'https' },
  { part: 'operator', scheme: '', port: 'http' },
] as const;

/** Through the API server proxy, because Services are not reachable from outside the cluster. */
async function processesOf(
  client: KubeClient,
  namespace: string,
  deployments: readonly Workload[],
): Promise<ProcessFacts[]> {
  return Promise.all(
    PROCESSES.map(async ({ part, scheme, port }) => {
      const service = deployments.find((each) => label(each, COMPONENT) === part)?.metadata.name;
      if (service === undefined)
        return { part, answer: known({ ok: false, text: 'its Deployment does not exist' }) };
      const path = `/api/v1/namespaces/${namespace}/services/${scheme}${service}:${port}/proxy/readyz`;
      const answer = await readFact(`get services/proxy in ${namespace}`, async () => {
        const reply = await client.send<unknown>({ method: 'GET', path });
        if (!reply.ok && [401, 403].includes(reply.status)) throw new KubeError(reply);
        return { ok: reply.ok, text: reply.ok ? '' : reasonIn(reply.message) };
      });
      return { part, answer };
    }),
  );
}

/** The `detail` of a problem document, else the text itself. */
function reasonIn(text: string): string {
  const problem = jsonOf(text);
  return isRecord(problem) && typeof problem['detail'] === 'string' ? problem['detail'] : text;
}

/** Longer than the interval between two renewals. */
const RENEWAL_MS = 2_500;
const MAX_READS = 3;

/** The clocks of this machine and the cluster may differ, so an apparently old Lease is watched for a renewal. */
async function leaseOf(client: KubeClient, clock: Clock, namespace: string): Promise<LeaseFacts | null> {
  const key = { namespace, name: LEASE_NAME };
  const first = await getObject(client, LEASES, key);
  if (first === null) return null;
  const { holderIdentity: holder = '', renewTime, leaseDurationSeconds = 0 } = first.spec ?? {};
  const ageMs = clock.now().getTime() - Date.parse(renewTime ?? '');
  if (holder === '' || (ageMs >= 0 && ageMs <= leaseDurationSeconds * 1_000))
    return { holder, fresh: holder !== '' };
  for (let reads = 0; reads < MAX_READS; reads++) {
    await clock.sleep(RENEWAL_MS);
    const again = await getObject(client, LEASES, key);
    if (again?.metadata.resourceVersion !== first.metadata.resourceVersion) return { holder, fresh: true };
  }
  return { holder, fresh: false };
}
