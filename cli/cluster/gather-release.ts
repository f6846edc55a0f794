import { setTimeout as sleep } from 'node:timers/promises';
import {
  known,
  notKnown,
  type DefinitionFacts,
  type DeploymentFacts,
  type Fact,
  type HelmFacts,
  type LeaseFacts,
  type ProcessFacts,
  type ReleaseFacts,
} from '../../authoring/diagnosis/facts.ts';
import { isRecord, jsonOf } from '../../core/untrusted/fields.ts';
import { KubeError, type KubeClient } from '../../kube/client.ts';
import { getObject, listObjects } from '../../kube/objects.ts';
import { DEPLOYMENTS, LEASES } from '../../kube/resources.ts';
import type { Workload } from '../../kube/types.ts';
import { pluralsOf } from './gather-cluster.ts';
import { readHelmRelease } from './helm-release.ts';
import { CHART_LABEL, DEFINITION_NAME, DEFINITIONS, labelsOf, LEASE_NAME } from './kinds.ts';
import { chainFact, eachOf, readFact } from './read-fact.ts';

const COMPONENT = 'app.kubernetes.io/component';

/** Finds the release in a namespace by the chart's Deployments; null: none. `wanted`: the release name, if given. */
export async function findRelease(
  client: KubeClient,
  namespace: string,
  wanted: string | undefined,
): Promise<{ release: ReleaseFacts; deployments: Workload[] } | null> {
  const labelSelector = wanted === undefined ? CHART_LABEL : labelsOf(wanted);
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

export async function gatherRelease(
  client: KubeClient,
  now: () => Date,
  { release, deployments }: { release: ReleaseFacts; deployments: readonly Workload[] },
) {
  const { namespace } = release;
  const helm = await readFact(`list secrets in ${namespace}`, () => readHelmRelease(client, release));
  const [missingObjects, definition, processes, lease] = await Promise.all([
    chainFact(helm, (kept) => missingOf(client, kept, namespace)),
    readFact('get customresourcedefinitions', () => definitionOf(client)),
    processesOf(client, namespace, deployments),
    readFact(`get leases in ${namespace}`, () => leaseOf(client, now, namespace)),
  ]);
  const sizes = known(deployments.map(deploymentFacts));
  return { helm, missingObjects, deployments: sizes, definition, processes, lease };
}

function deploymentFacts({ metadata, spec, status }: Workload): DeploymentFacts {
  return { name: metadata.name, wanted: spec?.replicas ?? 1, available: status?.availableReplicas ?? 0 };
}

async function missingOf(
  client: KubeClient,
  kept: HelmFacts | null,
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
    const { name: plural, namespaced } = resource;
    const key = { name: object.name, ...(namespaced && { namespace: object.namespace ?? namespace }) };
    const [version = '', group = ''] = object.apiVersion.split('/').reverse();
    return readFact(`get ${plural}${namespaced ? ` in ${key.namespace}` : ''}`, async () => {
      const found = await getObject(client, { group, version, plural, kind: object.kind }, key);
      return found === null ? `${object.kind} ${object.name}` : null;
    });
  });
  const unreadable = facts.find((fact) => !fact.known);
  // An object known to be missing is reported in preference to an object that could not be read.
  const missing = facts.flatMap((fact) => (fact.known && fact.value !== null ? [fact.value] : []));
  return missing.length === 0 && unreadable?.known === false ? notKnown(unreadable.why) : known(missing);
}

async function definitionOf(client: KubeClient): Promise<DefinitionFacts | null> {
  const found = await getObject(client, DEFINITIONS, { name: DEFINITION_NAME });
  if (found === null) return null;
  const { conditions = [] } = found.status ?? {};
  return {
    established: conditions.some(({ type, status }) => type === 'Established' && status === 'True'),
    served: (found.spec?.versions ?? []).filter(({ served }) => served).map(({ name }) => name),
  };
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
        return { part, ready: known({ ok: false, text: 'its Deployment does not exist' }) };
      const path = `/api/v1/namespaces/${namespace}/services/${scheme}${service}:${port}/proxy/readyz`;
      const ready = await readFact(`get services/proxy in ${namespace}`, async () => {
        const reply = await client.send<unknown>({ method: 'GET', path });
        if (!reply.ok && [401, 403].includes(reply.status)) throw new KubeError(reply);
        return { ok: reply.ok, text: reply.ok ? '' : reasonIn(reply.message) };
      });
      return { part, ready };
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
async function leaseOf(client: KubeClient, now: () => Date, namespace: string): Promise<LeaseFacts | null> {
  const key = { namespace, name: LEASE_NAME };
  const first = await getObject(client, LEASES, key);
  if (first === null) return null;
  const { holderIdentity: holder = '', renewTime, leaseDurationSeconds = 0 } = first.spec ?? {};
  const ageMs = now().getTime() - Date.parse(renewTime ?? '');
  if (holder === '' || (ageMs >= 0 && ageMs <= leaseDurationSeconds * 1_000))
    return { holder, fresh: holder !== '' };
  for (let reads = 0; reads < MAX_READS; reads++) {
    await sleep(RENEWAL_MS);
    const again = await getObject(client, LEASES, key);
    if (again?.metadata.resourceVersion !== first.metadata.resourceVersion) return { holder, fresh: true };
  }
  return { holder, fresh: false };
}
