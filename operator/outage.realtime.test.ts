import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import type { AgentObservation } from '../core/observation/observation.ts';
import { KubeError } from '../kube/client.ts';
import { jsonLines } from '../kube/informer.ts';
import { sameJson } from '../kube/merge-patch.ts';
import { listObjects } from '../kube/objects.ts';
import { AGENT_OBSERVATIONS, collectionPath } from '../kube/resources.ts';
import type { AuditEntry } from '../testing/cluster/api-audit.ts';
import { apiServerOf, type ApiServerProcess } from '../testing/cluster/api-server-process.ts';
import { compactEtcd } from '../testing/cluster/compact-etcd.ts';
import { makeAgents, removeAgent } from '../testing/fleet/fleet.ts';
import { until, type OperatorRig } from '../testing/cluster/operator-rig.ts';
import { agent, NAMESPACE, OutageRig } from '../testing/cluster/outage-rig.ts';
import { IN_SOAK } from '../testing/time/real-time.ts';

/** The list that each informer of an operator and a control plane requests before its watch. */
const LISTS = [
  'control-plane agentobservations',
  'control-plane agentpolicies',
  'control-plane agentstops',
  'control-plane namespaces',
  'operator agentobservations',
  'operator agentpolicies',
  'operator agentstops',
  'operator events',
  'operator namespaces',
  'operator pods !platform.io/agent',
  'operator pods platform.io/agent',
  'operator services',
];

(whyNoControlPlane() ? describe.skip : describe)('an operator and control planes whose API server', () => {
  let outage: OutageRig;

  beforeAll(async () => {
    outage = await OutageRig.open();
  });
  afterAll(() => outage?.close());

  test('is killed and restarted', async () => {
    const { rig } = outage;
    const apiServer = await apiServerOf(rig.control);
    await apiServer.kill();
    // Caches expire after 15 s; the next test waits for this expiry anyway.
    if (IN_SOAK) await outage.areUnready();
    await restart(rig, apiServer);
    await outage.recover(makeAgents(rig, [agent('after-kill')]), ['after-kill']);
  });

  test('compacts their last known version while they are suspended', async () => {
    const { rig, operator, controlPlanes } = outage;
    await rig.quiet();
    const before = await listObjects(rig.client, AGENT_OBSERVATIONS);
    const others = before.items.map(({ metadata }) => metadata.name).filter((name) => name !== 'first');
    const names = [...others, 'elsewhere', 'unseen'].sort();
    const apiServer = await apiServerOf(rig.control);
    const signalAll = (signal: NodeJS.Signals) =>
      [operator, ...controlPlanes].forEach((each) => each.kill(signal));
    signalAll('SIGSTOP');
    await apiServer.kill();
    // The watch cache would still contain the compacted versions.
    await restart(rig, apiServer, ['--watch-cache=false']);
    await removeAgent(rig, agent('first'));
    await makeAgents(rig, [agent('unseen')]);
    await rig.post(collectionPath(AGENT_OBSERVATIONS, NAMESPACE), elsewhere);
    expect(await firstWatchEvent(rig, before.resourceVersion)).toMatchObject({ type: 'ADDED' });
    await compactEtcd(rig.control);
    expect(await firstWatchEvent(rig, before.resourceVersion)).toMatchObject({
      ...{ type: 'ERROR', object: { code: 410, reason: 'Expired' } },
    });
    const logged = rig.audit.all().length;
    signalAll('SIGCONT');
    await outage.recover(haveExactly(outage, names), ['unseen']);
    // No watch continued: each was replaced by the list that follows a 410, at different times.
    const lists = () => {
      const since = rig.audit.all().slice(logged);
      return [...new Set(since.filter(({ verb }) => verb === 'list').map(listed))].sort();
    };
    await until('a list of every informer', () => lists().length >= LISTS.length);
    expect(lists()).toEqual(LISTS);
    await rig.quiet();
    // An unchanged object causes no write.
    const after = await rig.observations();
    const named = (all: AgentObservation[]) => all.find(({ metadata }) => metadata.name === 'after-kill');
    expect(named(after)).toEqual(named(before.items));
  });
});

const elsewhere = {
  apiVersion: 'platform.io/v1',
  kind: 'AgentObservation',
  metadata: { name: 'elsewhere' },
  spec: { source: 'remote' },
};
async function restart(rig: OperatorRig, apiServer: ApiServerProcess, flags?: string[]): Promise<void> {
  await apiServer.start(flags);
  await until('the API server', async () => {
    const response = rig.client.send({ method: 'GET', path: collectionPath(AGENT_OBSERVATIONS) });
    return (await response.catch(() => null))?.ok === true;
  });
}

/** The account and the resource of a list request. */
function listed({ user, objectRef, requestURI }: AuditEntry): string {
  const selector = new URL(requestURI, 'https://api').searchParams.get('labelSelector');
  return [user.username.split(':').at(-1), objectRef?.resource, selector ?? ''].join(' ').trim();
}

/** The first event of a watch of the observations from this version. */
async function firstWatchEvent(rig: OperatorRig, resourceVersion: string): Promise<unknown> {
  const stream = await rig.client.stream({
    method: 'GET',
    path: collectionPath(AGENT_OBSERVATIONS),
    query: { watch: true, resourceVersion, timeoutSeconds: 1 },
  });
  if (!stream.ok) throw new KubeError(stream);
  for await (const event of jsonLines(stream.chunks)) return event;
  return null;
}

/** Resolves when the cluster and each control plane have exactly these agents. */
async function haveExactly(outage: OutageRig, names: readonly string[]): Promise<void> {
  await until(`${names.join(', ')} and no other`, async () => {
    const observed = (await outage.rig.observations()).map(({ metadata }) => metadata.name);
    return [observed, ...(await outage.agents())].every((list) => sameJson([...list].sort(), names));
  });
}
