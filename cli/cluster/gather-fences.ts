import {
  fenceOfCiliumPolicy,
  fenceOfNetworkPolicy,
  type EgressFence,
} from '../../authoring/diagnosis/egress-fence.ts';
import { known, type Fact } from '../../authoring/diagnosis/facts.ts';
import type { KubeClient } from '../../kube/client.ts';
import { listObjects } from '../../kube/objects.ts';
import { resource, type Resource } from '../../kube/resources.ts';
import type { KubeObject } from '../../kube/types.ts';
import { noneIfNotServed, readFact } from './read-fact.ts';

type Policy = KubeObject & { spec?: unknown };

export const NETWORK_POLICIES = resource<Policy>('networking.k8s.io', 'networkpolicies', 'NetworkPolicy');
const CILIUM_POLICIES: Resource<Policy> = {
  ...resource<Policy>('cilium.io', 'ciliumnetworkpolicies', 'CiliumNetworkPolicy'),
  version: 'v2',
};

/** The network policies that limit outgoing connections. A cluster without Cilium has none of Cilium's. */
export async function fencesOf(client: KubeClient): Promise<Fact<EgressFence[]>> {
  const plain = await readFact('list networkpolicies in every namespace', () =>
    fencesIn(client, NETWORK_POLICIES, fenceOfNetworkPolicy),
  );
  if (!plain.known) return plain;
  const cilium = await readFact('list ciliumnetworkpolicies in every namespace', () =>
    fencesIn(client, CILIUM_POLICIES, fenceOfCiliumPolicy),
  );
  return cilium.known ? known([...plain.value, ...cilium.value]) : cilium;
}

async function fencesIn(
  client: KubeClient,
  resources: Resource<Policy>,
  fenceOf: typeof fenceOfNetworkPolicy,
): Promise<EgressFence[]> {
  // A cluster without Cilium does not serve its policies.
  const { items } = await listObjects(client, resources).catch(noneIfNotServed);
  return items.flatMap(
    ({ metadata: { namespace = '', name }, spec }) => fenceOf({ namespace, name }, spec) ?? [],
  );
}
