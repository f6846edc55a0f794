import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { AgentObservation } from '../core/observation/observation.ts';
import type { Condition } from '../core/shapes/condition.ts';
import type { InstanceStatus } from '../core/shapes/instance.ts';
import type { ObservationStatus } from '../core/shapes/observation.ts';
import { statusOf } from '../core/observation/status-of.ts';
import { contextOf } from '../core/observation/context-of.ts';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import type { KubeClient } from '../kube/client.ts';
import { expectOk, getObject, listObjects } from '../kube/objects.ts';
import {
  AGENT_OBSERVATIONS,
  AGENT_POLICIES,
  AGENT_STOPS,
  apiVersionOf,
  collectionPath,
  CRON_JOBS,
  DEPLOYMENTS,
  JOBS,
  LEASES,
  objectPath,
  PODS,
  REPLICA_SETS,
  SERVICES,
  STATEFUL_SETS,
  type Resource,
} from '../kube/resources.ts';
import { StatusWriter } from '../kube/status-writer.ts';
import type { Pod } from '../kube/types.ts';
import { systemClock, type Clock } from '../runtime/clock.ts';
import { silentLogger, type Logger } from '../runtime/logger.ts';
import { installedOf } from './config.ts';
import type { AgentPolicyStatus } from '../core/shapes/agent-policy.ts';
import type { AgentStopStatus } from '../core/shapes/agent-stop.ts';
import type { OrganisationFinding, OrganisationStatus } from '../core/shapes/organisation.ts';
import { ApiCluster, found as until } from '../testing/cluster/api-cluster.ts';
import { OPERATOR_PERMISSIONS } from '../testing/cluster/operator-permissions.ts';
import { apiAudit, permissionsOf } from '../testing/cluster/api-audit.ts';
import { reportedInstance } from '../testing/fleet/fleet.ts';
import { configOf } from '../testing/cluster/operator-config.ts';
import { issueCa } from '../webhook/certificates/issue.ts';
import { startOperator, type Operator } from './start.ts';

const injected = {
  version: '1',
  config: 'c',
  agent: { container: 'agent', port: 8000 },
  restore: [],
  ownLabel: false,
};

/** Without nodes no new pod becomes ready, so a rolling update would never end. */
const RECREATE = { strategy: { type: 'Recreate', rollingUpdate: null } };

/** An injected pod, reduced to the fields that the operator reads. */
const template = (agent: string, extra: object = {}) => ({
  metadata: {
    labels: { app: agent, 'platform.io/agent': agent },
    annotations: { 'platform.io/inject': 'true', 'platform.io/injected': JSON.stringify(injected), ...extra },
  },
  spec: {
    initContainers: [
      {
        name: 'platform-sidecar',
        image: 'sidecar',
        restartPolicy: 'Always',
        ports: [{ name: 'http', containerPort: 4000 }],
      },
    ],
    containers: [{ name: 'agent', image: 'agent', ports: [{ containerPort: 8000 }] }],
  },
});

(whyNoControlPlane() ? describe.skip : describe)('the operator on a real API server', () => {
  let cluster: ApiCluster;
  let client: KubeClient;
  let operator: Operator | null = null;
  const scratch = mkdtempSync(join(tmpdir(), 'agent-compliance-operator-'));
  const audit = apiAudit(scratch);
  /** Namespace of the operator, with its Lease. */
  let home = '';
  let kubeconfig = '';
  let namespace = '';
  let count = 0;

  beforeAll(async () => {
    cluster = await ApiCluster.start({ controllers: true, apiServerArgs: audit.args });
    ({ client } = cluster);
    await cluster.define('agentobservations', 'agentpolicies', 'agentstops');
  }, 300_000);

  afterAll(async () => {
    await operator?.close();
    await cluster?.close();
    rmSync(scratch, { recursive: true, force: true });
  });

  /** Creates a namespace for an operator: a ServiceAccount with exactly its permissions, and a Lease. */
  async function moveIn(name: string): Promise<void> {
    home = name;
    await cluster.account(home, 'operator', OPERATOR_PERMISSIONS);
    await cluster.post(collectionPath(LEASES, home), { metadata: { name: 'platform-operator' } });
    kubeconfig = await cluster.kubeconfigOf(home, 'operator');
    const probe = await cluster.clientOf(home, 'operator');
    await until('the permissions', async () => {
      const query = { limit: 1 };
      return (await probe.send({ method: 'GET', path: collectionPath(PODS), query })).ok;
    });
  }

  function start(
    logger: Logger = silentLogger,
    podName = 'operator-1',
    env: Record<string, string> = {},
    clock: Clock = systemClock,
  ): Promise<Operator> {
    const config = configOf({
      // Here workloads may be in the operator's own namespace, which is excluded by default.
      EXCLUDED_NAMESPACES: 'kube-system',
      ...env,
      POD_NAMESPACE: home,
      POD_NAME: podName,
      GUARD_POLICY: 'guard',
      KUBECONFIG: kubeconfig,
    });
    return startOperator(config, logger, new AbortController().signal, { clock });
  }

  async function create(resource: Resource<unknown>, name: string, rest: object): Promise<void> {
    const body = { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata: { name }, ...rest };
    await cluster.post(collectionPath(resource, namespace), body);
  }

  const deploy = (name: string, agent = name, replicas = 1, extra = {}) =>
    create(DEPLOYMENTS, name, {
      spec: { replicas, selector: { matchLabels: { app: agent } }, template: template(agent, extra) },
    });

  const patch = (resource: Resource<unknown>, name: string, body: object) =>
    cluster.patch(objectPath(resource, { namespace, name }), body);
  const patchStatus = (resource: Resource<unknown>, name: string, status: object) =>
    cluster.patch(objectPath(resource, { namespace, name }, 'status'), { status });
  const remove = (resource: Resource<unknown>, name: string, propagationPolicy = 'Background') =>
    cluster.remove(objectPath(resource, { namespace, name }), { propagationPolicy });

  /** The sum of all series of a metric; 0 without series. */
  async function metric(of: Operator, name: string): Promise<number> {
    const text = await (await fetch(`http://127.0.0.1:${of.port}/metrics`)).text();
    const lines = text
      .split('\n')
      .filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`));
    return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
  }

  /** Resolves when this operator is the leader, has reconciled everything, and its queues are empty. */
  async function hasReconciled(of: Operator): Promise<void> {
    const { items } = await listObjects(client, AGENT_OBSERVATIONS);
    const isDone = async () =>
      (await metric(of, 'leader_election_master_status')) === 1 &&
      (await metric(of, 'controller_runtime_reconcile_total')) >= Math.max(1, items.length) &&
      (await metric(of, 'workqueue_depth')) === 0;
    await until('a reconcile of every agent', isDone);
  }

  /** Runs another operator as leader until it has reconciled everything, then stops it. */
  async function runAnotherLeader(env: Record<string, string> = {}): Promise<void> {
    const next = await start(silentLogger, 'operator-2', env);
    try {
      await hasReconciled(next);
    } finally {
      await next.close();
    }
  }

  const observe = (name: string) => getObject(client, AGENT_OBSERVATIONS, { namespace, name });
  const condition = (observation: AgentObservation | null, type: Condition['type']) => {
    const found = observation?.status?.conditions?.find((each) => each.type === type);
    return found && { status: found.status, reason: found.reason, message: found.message };
  };
  const settled = (name: string) =>
    until('the settled observation', async () => {
      const observation = await observe(name);
      return observation?.status?.conditions?.some((each) => each.type === 'Ready') &&
        condition(observation, 'Injected')
        ? observation
        : null;
    });

  const twoPods = () =>
    until('two pods', async () => {
      const found = await podsOf('x');
      return found.length === 2 && found;
    });

  async function podsOf(agent: string): Promise<Pod[]> {
    return (await listObjects(client, PODS, { namespace, labelSelector: `platform.io/agent=${agent}` }))
      .items;
  }

  /** Writes the status that the control plane writes for a heartbeat. */
  async function report(
    name: string,
    pod: Pod,
    change: Partial<InstanceStatus> = {},
    organisation?: OrganisationStatus,
  ): Promise<void> {
    const writer = new StatusWriter<AgentObservation, ObservationStatus>({
      client,
      resource: AGENT_OBSERVATIONS,
      fieldManager: 'platform-control-plane',
    });
    const at = new Date();
    const instance = reportedInstance(pod, at, change);
    await writer.write({ namespace, name }, (current) =>
      statusOf(
        {
          ...(current.status ?? { phase: 'Pending' }),
          instances: [
            ...(current.status?.instances ?? []).filter((each) => each.name !== instance.name),
            instance,
          ],
          lastChecked: instance.lastHeartbeat,
          ...(organisation && { organisation }),
        },
        at,
        contextOf(current),
      ),
    );
  }

  /** Type and reason of the operator's Events on objects of this kind. */
  async function eventsOn(kind: string): Promise<string[]> {
    const { items } = await listObjects(client, EVENTS, { namespace });
    return items
      .filter(
        (event) => event.regarding.kind === kind && event.reportingController === 'platform.io/operator',
      )
      .map(({ type, reason }) => `${type} ${reason}`)
      .sort();
  }

  /** An opted-in pod that the webhook did not inject. */
  const bareTemplate = (app: string, annotations: object = {}) => ({
    metadata: { labels: { app }, annotations: { 'platform.io/inject': 'true', ...annotations } },
    spec: { containers: [{ name: 'agent', image: 'agent', ports: [{ containerPort: 8000 }] }] },
  });

  const deployBare = (name: string) =>
    create(DEPLOYMENTS, name, {
      spec: { replicas: 2, selector: { matchLabels: { app: name } }, template: bareTemplate(name) },
    });

  /** The garbage collector discovers new resource definitions every 30 seconds. */
  async function garbageCollectorKnows(): Promise<void> {
    await create(SERVICES, 'owner', { spec: { ports: [{ port: 1 }] } });
    const owner = await getObject(client, SERVICES, { namespace, name: 'owner' });
    const ownerReferences = [{ apiVersion: 'v1', kind: 'Service', name: 'owner', uid: owner?.metadata.uid }];
    await create(AGENT_OBSERVATIONS, 'owned', {
      metadata: { name: 'owned', ownerReferences },
      spec: { source: 'remote' },
    });
    await remove(SERVICES, 'owner');
    await until('the garbage collector', async () => !(await observe('owned')));
  }

  describe('one operator', () => {
    beforeAll(async () => {
      await moveIn(await cluster.controlledNamespace('home'));
      operator = await start();
    });
    afterAll(async () => {
      await operator?.close();
      operator = null;
    });
    beforeEach(async () => {
      namespace = await cluster.controlledNamespace(`test-${(count += 1)}`);
    });

    test('creates an observation for an injected Deployment, owned by the Deployment', async () => {
      await deploy('x');
      const observation = await settled('x');
      const deployment = await getObject(client, DEPLOYMENTS, { namespace, name: 'x' });
      const owner = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' };
      expect(observation.spec).toEqual({ source: 'sidecar', agentRef: owner });
      expect(observation.metadata.ownerReferences).toEqual([{ ...owner, uid: deployment?.metadata.uid }]);
      expect(observation.status).toMatchObject({ phase: 'Pending', instances: [], instanceCount: 0 });
      const shown = observation.status?.conditions
        ?.map(({ type, status, reason }) => [type, status, reason])
        .sort();
      expect(shown).toEqual([
        ['AgentReachable', 'Unknown', 'NotReporting'],
        ['Allowed', 'Unknown', 'NotReporting'],
        ['Compliant', 'Unknown', 'NotReporting'],
        ['Conflict', 'False', 'OneWorkload'],
        ['Injected', 'True', 'SidecarPresent'],
        ['ManifestValid', 'Unknown', 'NotStarted'],
        ['ModelReachable', 'Unknown', 'NotReporting'],
        ['PolicyLoaded', 'Unknown', 'NotReporting'],
        ['Ready', 'False', 'AwaitingFirstHeartbeat'],
        ['Reporting', 'Unknown', 'AwaitingFirstHeartbeat'],
        ['Routed', 'Unknown', 'NoService'],
        ['SidecarFits', 'Unknown', 'NotStarted'],
        ['Stopped', 'False', 'Running'],
      ]);

      await remove(DEPLOYMENTS, 'x');
      await until('the end of the observation', async () => !(await observe('x')));
      // The observation must not be created again while the pods are terminating.
      await until('the end of the pods', async () => (await podsOf('x')).length === 0);
      await delay(500);
      expect(await observe('x')).toBeNull();
    }, 300_000);

    test('reports an agent as Unknown that sends no heartbeat after its pod has started, and never before', async () => {
      await deploy('x');
      // The pod waits for a node.
      expect((await settled('x')).status?.awaitedSince).toBeUndefined();
      const [pod] = await podsOf('x');
      await patchStatus(PODS, pod!.metadata.name, { phase: 'Running' });
      const started = await until('the start of the stale time', async () => {
        const status = (await observe('x'))?.status;
        return status?.awaitedSince === undefined ? null : status;
      });
      expect(started.phase).toBe('Pending');
      // Two minutes pass.
      const awaitedSince = new Date(Date.now() - 121_000).toISOString();
      await patchStatus(AGENT_OBSERVATIONS, 'x', { awaitedSince });
      const silent = await until('the phase Unknown', async () => {
        const observation = await observe('x');
        return observation?.status?.phase === 'Unknown' && observation;
      });
      expect(condition(silent, 'Reporting')).toEqual({
        status: 'False',
        reason: 'NeverReported',
        message: `no heartbeat has ever been received; expected since ${awaitedSince}`,
      });
      for (const kind of ['Deployment', 'AgentObservation'])
        await until('the Event', async () =>
          (await eventsOn(kind)).some((event) => event.endsWith('Unknown')),
        );

      await report('x', pod!, { score: 80 });
      expect((await observe('x'))?.status).toMatchObject({ phase: 'Healthy', grade: 'B' });
      await report('x', pod!, { score: 80, lastHeartbeat: new Date(Date.now() - 121_000).toISOString() });
      const old = await until('the old grade', async () => (await observe('x'))?.status?.oldGrade);
      expect(old).toBe('B (old)');
    }, 300_000);

    test('moves the observation to a Deployment that is created again under the same name', async () => {
      await deploy('x');
      const before = await settled('x');
      const old = (await podsOf('x')).map(({ metadata }) => metadata.uid);
      await remove(DEPLOYMENTS, 'x');
      await deploy('x');
      const uid = (await getObject(client, DEPLOYMENTS, { namespace, name: 'x' }))?.metadata.uid;
      expect(uid).not.toBe(before.metadata.ownerReferences?.[0]?.uid);
      const isOwned = async () => (await observe('x'))?.metadata.ownerReferences?.[0]?.uid === uid;
      await until('the new owner', isOwned);
      await until('the end of the old pods', async () => {
        const uids = (await podsOf('x')).map(({ metadata }) => metadata.uid);
        return uids.length > 0 && !uids.some((each) => old.includes(each));
      });
      await hasReconciled(operator!);
      expect(await isOwned()).toBe(true);
      await until(
        'the end of the conflict',
        async () => condition(await observe('x'), 'Conflict')?.status === 'False',
      );
    }, 300_000);

    test('creates an observation for every kind of workload, and removes the observation with it', async () => {
      const once = (agent: string) => {
        const { metadata, spec } = template(agent);
        return { metadata, spec: { ...spec, restartPolicy: 'Never' } };
      };
      const selected = (agent: string) => ({
        selector: { matchLabels: { app: agent } },
        template: template(agent),
      });
      const kinds: [name: string, Resource<unknown>, object][] = [
        ['stateful', STATEFUL_SETS, { spec: { serviceName: 'x', ...selected('stateful') } }],
        ['set', REPLICA_SETS, { spec: selected('set') }],
        ['job', JOBS, { spec: { template: once('job') } }],
        ['pod', PODS, { metadata: { name: 'pod', ...template('pod').metadata }, spec: template('pod').spec }],
      ];
      await Promise.all(
        kinds.map(async ([name, resource, rest]) => {
          await create(resource, name, rest);
          const agentRef = { apiVersion: apiVersionOf(resource), kind: resource.kind, name };
          expect((await settled(name)).spec.agentRef).toEqual(agentRef);
          await remove(resource, name);
          await until('the end of the observation', async () => !(await observe(name)));
        }),
      );
    }, 300_000);

    test('finds the CronJob that owns the Job of a pod, and reports the CronJob as idle between two runs', async () => {
      const jobTemplate = {
        spec: { template: { ...template('x'), spec: { ...template('x').spec, restartPolicy: 'Never' } } },
      };
      await create(CRON_JOBS, 'x', { spec: { schedule: '0 0 1 1 *', jobTemplate } });
      const cronJob = await getObject(client, CRON_JOBS, { namespace, name: 'x' });
      const owner = {
        apiVersion: 'batch/v1',
        kind: 'CronJob',
        name: 'x',
        uid: cronJob?.metadata.uid,
        controller: true,
      };
      await create(JOBS, 'x-1', { metadata: { name: 'x-1', ownerReferences: [owner] }, ...jobTemplate });
      expect((await settled('x')).spec.agentRef).toEqual({
        apiVersion: 'batch/v1',
        kind: 'CronJob',
        name: 'x',
      });
      await remove(JOBS, 'x-1');
      await until('Idle', async () => condition(await observe('x'), 'Reporting')?.reason === 'Idle');
      expect((await observe('x'))?.status?.phase).toBe('Pending');
    }, 300_000);

    test('reports Pending and ScaledToZero without replicas, and keeps the usage of the deleted pods of today', async () => {
      await deploy('x');
      await settled('x');
      await report('x', (await podsOf('x'))[0]!);
      await until('Healthy', async () => (await observe('x'))?.status?.phase === 'Healthy');
      await patch(DEPLOYMENTS, 'x', { spec: { replicas: 0 } });
      const observation = await until('ScaledToZero', async () => {
        const current = await observe('x');
        return condition(current, 'Reporting')?.reason === 'ScaledToZero' ? current : null;
      });
      const day = new Date().toISOString().slice(0, 10);
      expect(observation?.status).toMatchObject({
        phase: 'Pending',
        instances: [],
        instanceCount: 0,
        tokens: 7,
        departedToday: { day, tokens: 7, costUsd: 0 },
      });
      expect(condition(observation, 'Injected')?.status).toBe('True');
    }, 300_000);

    test('reports Unknown after the stale time without a heartbeat, and emits an Event', async () => {
      await deploy('x');
      await settled('x');
      const pod = (await podsOf('x'))[0]!;
      await report('x', pod);
      expect((await observe('x'))?.status?.phase).toBe('Healthy');
      await until('the Event', async () => (await eventsOn('AgentObservation')).includes('Normal Healthy'));
      const almostStale = new Date(Date.now() - 117_000).toISOString();
      await report('x', pod, { lastHeartbeat: almostStale });
      await until('Unknown', async () => (await observe('x'))?.status?.phase === 'Unknown');
      expect(condition(await observe('x'), 'Reporting')).toEqual({
        status: 'False',
        reason: 'Stale',
        message: `no heartbeat since ${almostStale}`,
      });
      const events = await until('the Events', async () => {
        const list = await listObjects(client, EVENTS, { namespace });
        const notes = list.items.filter((event) => event.regarding.kind === 'AgentObservation');
        return notes.length >= 4 ? notes : null;
      });
      expect(events.map(({ type, reason, note }) => [type, reason, note]).sort()).toEqual([
        ['Normal', 'GradeChanged', 'grade (none) became A, score 100'],
        ['Normal', 'Healthy', 'phase Pending became Healthy'],
        ['Normal', 'Observed', 'observing Deployment x, which runs with the sidecar'],
        ['Warning', 'Unknown', `phase Healthy became Unknown: no heartbeat since ${almostStale}`],
      ]);
      // A repetition is counted.
      await report('x', pod);
      await until('its return', async () => (await eventsOn('AgentObservation')).length > events.length);
      await report('x', pod, { lastHeartbeat: almostStale });
      await until('the count', async () => {
        const { items } = await listObjects(client, EVENTS, { namespace });
        return items.some(({ reason, series }) => reason === 'Unknown' && series?.count === 2);
      });
    }, 300_000);

    test('reports a silent agent whose deleted observation a finalizer keeps, also without its workload', async () => {
      await deploy('x');
      await settled('x');
      const pod = (await podsOf('x'))[0]!;
      await patch(AGENT_OBSERVATIONS, 'x', { metadata: { finalizers: ['example.com/keep'] } });
      await remove(AGENT_OBSERVATIONS, 'x');
      const silent = () => ({ lastHeartbeat: new Date(Date.now() - 121_000).toISOString() });
      await report('x', pod);
      await report('x', pod, silent());
      await until('Unknown', async () => (await observe('x'))?.status?.phase === 'Unknown');
      await remove(DEPLOYMENTS, 'x');
      await until('the end of the pods', async () => (await podsOf('x')).length === 0);
      // As if the deletion of the workload were the last that the operator had done.
      await patchStatus(AGENT_OBSERVATIONS, 'x', { phase: 'Healthy' });
      await until('its correction', async () => (await observe('x'))?.status?.phase !== 'Healthy');
      await patch(AGENT_OBSERVATIONS, 'x', { metadata: { finalizers: null } });
      await until('the end', async () => (await observe('x')) === null);
    }, 300_000);

    test('removes the instance of a deleted pod while others report', async () => {
      await deploy('x', 'x', 2);
      await settled('x');
      const pods = await twoPods();
      for (const pod of pods) await report('x', pod);
      await remove(PODS, pods[0]!.metadata.name);
      const status = await until('one instance', async () => {
        const current = (await observe('x'))?.status;
        return current?.instanceCount === 1 ? current : null;
      });
      expect(status).toMatchObject({ phase: 'Healthy', tokens: 14, departedToday: { tokens: 7 } });
      expect(status.instances?.map((each) => each.name)).toEqual([pods[1]!.metadata.name]);
    }, 300_000);

    test('removes the observation of an agent name that its workload no longer has', async () => {
      await deploy('x');
      await settled('x');
      const named = template('x', { 'platform.io/agent-name': 'y' });
      const labels = { app: 'x', 'platform.io/agent': 'y' };
      await patch(DEPLOYMENTS, 'x', {
        spec: { ...RECREATE, template: { metadata: { ...named.metadata, labels } } },
      });
      expect((await settled('y')).spec.agentRef?.name).toBe('x');
      await until('the end of the old observation', async () => !(await observe('x')));
    }, 300_000);

    test('reverts manual changes of its own fields, and keeps the fields of others', async () => {
      await deploy('x');
      const original = await settled('x');
      const { uid } = original.metadata;
      const change = async (body: object, subresource?: 'status') => {
        const path = objectPath(AGENT_OBSERVATIONS, { namespace, name: 'x' }, subresource);
        const contentType = 'application/merge-patch+json';
        const query = { fieldManager: 'kubectl-edit' };
        expectOk(await client.send({ method: 'PATCH', path, query, body, contentType }));
      };
      const conditions = (await observe('x'))?.status?.conditions ?? [];
      const wrong = conditions.map((each) =>
        each.type === 'Injected' ? { ...each, status: 'False' } : each,
      );
      const without = conditions.filter(({ type }) => type !== 'Routed' && type !== 'Ready');
      const drift = [{ reason: 'sidecar-missing', pods: 9, example: 'x' }];
      const agentRef = { ...original.spec.agentRef, name: 'another' };
      const changes: [string, object, 'status'?][] = [
        ['the workload', { spec: { agentRef } }],
        ['the owner', { metadata: { ownerReferences: null } }],
        ['the phase', { status: { phase: 'Unhealthy' } }, 'status'],
        ['a condition of the operator', { status: { conditions: wrong } }, 'status'],
        ['missing conditions', { status: { conditions: without } }, 'status'],
        ['the drift', { status: { drift } }, 'status'],
      ];
      await change({ spec: { heartbeatSeconds: 60 }, metadata: { labels: { team: 'blue' } } });
      for (const [what, body, subresource] of changes) {
        await change(body, subresource);
        await until(`the original value: ${what}`, async () => {
          const { metadata, spec, status } = (await observe('x')) ?? {};
          const shown = (each: Condition) => `${each.type} ${each.status} ${each.reason}`;
          return (
            spec?.agentRef?.name === 'x' &&
            metadata?.ownerReferences?.[0]?.uid === original.metadata.ownerReferences?.[0]?.uid &&
            status?.phase === 'Pending' &&
            status.drift === undefined &&
            JSON.stringify(status.conditions?.map(shown).sort()) ===
              JSON.stringify(conditions.map(shown).sort())
          );
        });
      }
      const { metadata, spec } = (await observe('x'))!;
      expect([metadata.uid, metadata.labels, spec.heartbeatSeconds]).toEqual([uid, { team: 'blue' }, 60]);

      await remove(AGENT_OBSERVATIONS, 'x');
      await until('a new observation', async () => {
        const newUid = (await observe('x'))?.metadata.uid;
        return newUid !== undefined && newUid !== uid;
      });
    }, 300_000);

    test('removes observations without an agent, and reports a remote observation that blocks a name', async () => {
      const agentRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'missing' };
      await create(AGENT_OBSERVATIONS, 'ghost', { spec: { source: 'sidecar', agentRef } });
      await until('its end', async () => !(await observe('ghost')));
      await deploy('y');
      await settled('y');
      const second = { ...agentRef, name: 'y' };
      await create(AGENT_OBSERVATIONS, 'alias', { spec: { source: 'sidecar', agentRef: second } });
      await until('its end', async () => !(await observe('alias')));
      await create(AGENT_OBSERVATIONS, 'x', { spec: { source: 'remote' } });
      await deploy('x');
      await until('the Event', async () => (await eventsOn('Deployment')).includes('Warning NotObserved'));
      expect((await observe('x'))?.spec).toEqual({ source: 'remote' });
    }, 300_000);

    test('removes the observation of a workload that no longer requests a sidecar', async () => {
      await deploy('x');
      await settled('x');
      const bare = {
        metadata: { labels: { 'platform.io/agent': null }, annotations: null },
        spec: { initContainers: null },
      };
      await patch(DEPLOYMENTS, 'x', {
        spec: { ...RECREATE, template: bare },
      });
      await until('the end of the observation', async () => !(await observe('x')));
      expect(await getObject(client, DEPLOYMENTS, { namespace, name: 'x' })).not.toBeNull();
    }, 300_000);

    test('reports a conflict of two workloads with one name, and the end of the conflict', async () => {
      await deploy('a', 'x');
      await settled('x');
      await create(STATEFUL_SETS, 'b', {
        spec: { serviceName: 'b', selector: { matchLabels: { app: 'x' } }, template: template('x') },
      });
      await until('Conflict', async () => condition(await observe('x'), 'Conflict')?.status === 'True');
      expect(condition(await observe('x'), 'Conflict')).toEqual({
        status: 'True',
        reason: 'NameClaimedTwice',
        message:
          'Deployment a, StatefulSet b use the same agent name; set a different platform.io/agent-name annotation on each',
      });
      expect((await observe('x'))?.spec.agentRef?.name).toBe('a');
      await remove(DEPLOYMENTS, 'a');
      const observation = await until('the other workload', async () => {
        const current = await observe('x');
        return current?.spec.agentRef?.name === 'b' && condition(current, 'Conflict')?.status === 'False'
          ? current
          : null;
      });
      expect(observation.metadata.ownerReferences?.map((owner) => owner.name)).toEqual(['b']);
    }, 300_000);

    test('sets Routed by the target port of a Service', async () => {
      await deploy('x');
      await settled('x');
      const message =
        "traffic bypasses the sidecar: Service front port 80 targets 8000; set targetPort to the name of the agent's port or to 4000";
      const noService = { reason: 'NoService', message: "no Service sends traffic to the agent's port" };
      const rows: [object, object][] = [
        [
          { port: 80, targetPort: 'http' },
          { status: 'True', reason: 'ThroughSidecar', message: 'through the sidecar: Service front' },
        ],
        [
          { port: 80, targetPort: 8000 },
          { status: 'False', reason: 'ServiceBypassesSidecar', message },
        ],
        [{ port: 9000 }, { status: 'Unknown', ...noService }],
      ];
      for (const [port, expected] of rows) {
        await create(SERVICES, 'front', { spec: { selector: { app: 'x' }, ports: [port] } });
        await until('Routed', async () => {
          const found = condition(await observe('x'), 'Routed');
          return JSON.stringify(found) === JSON.stringify(expected);
        });
        await remove(SERVICES, 'front');
        await until('NoService', async () => condition(await observe('x'), 'Routed')?.reason === 'NoService');
      }
    }, 300_000);

    test('warns of an agent that uses a port of the sidecar, and never reports the agent as routed', async () => {
      await deploy('x');
      await settled('x');
      const ports = [{ port: 80, targetPort: 'http' }];
      await create(SERVICES, 'front', { spec: { selector: { app: 'x' }, ports } });
      const routedIs = (expected: string) =>
        until(expected, async () => condition(await observe('x'), 'Routed')?.reason === expected);
      await routedIs('ThroughSidecar');
      // The kubelet's report for a sidecar that cannot bind, while the agent on port 4001 responds to the kubelet's probes.
      const [pod] = await podsOf('x');
      const path = `${objectPath(PODS, { namespace, name: pod!.metadata.name })}/status`;
      const ended = (exitCode: number) => ({ terminated: { exitCode, reason: 'Error' } });
      const kubeletReports = async (state: object, lastState: object) => {
        const sidecar = {
          name: 'platform-sidecar',
          image: 'i',
          imageID: 'i',
          restartCount: 1,
          started: true,
        };
        const initContainerStatuses = [{ ...sidecar, ready: true, state, lastState }];
        const body = { status: { phase: 'Running', initContainerStatuses } };
        const contentType = 'application/merge-patch+json';
        expectOk(await client.send({ method: 'PATCH', path, contentType, body }));
      };
      await kubeletReports({ waiting: { reason: 'CrashLoopBackOff' } }, ended(137));
      await routedIs('SidecarDown');
      await kubeletReports({ running: {} }, ended(98));
      await routedIs('PortTaken');
      expect(condition(await observe('x'), 'Routed')?.status).toBe('False');
      for (const kind of ['Deployment', 'AgentObservation'])
        await until('the Event', async () => (await eventsOn(kind)).includes('Warning PortTaken'));
    }, 300_000);

    test("updates the grade bar with the pods' annotation", async () => {
      await deploy('x', 'x', 1, { 'platform.io/compliant-grade': 'A' });
      await settled('x');
      await report('x', (await podsOf('x'))[0]!, { score: 80 });
      expect(condition(await observe('x'), 'Compliant')).toMatchObject({
        status: 'False',
        reason: 'GradeTooLow',
      });
      const annotations = { 'platform.io/compliant-grade': null };
      await patch(PODS, (await podsOf('x'))[0]!.metadata.name, { metadata: { annotations } });
      await until('the default bar', async () => {
        const found = await observe('x');
        const bar = found?.metadata.annotations?.['platform.io/compliant-grade'];
        return bar === undefined && condition(found, 'Compliant')?.status === 'True';
      });
    }, 300_000);

    test("updates the evidence bar with the pods' annotation", async () => {
      await deploy('x', 'x', 1, { 'platform.io/compliant-evidence': '80' });
      await settled('x');
      const [pod] = await podsOf('x');
      const evidence = { shown: 3, declared: 4, reported: 0, notShown: ['tool search'] };
      await report('x', pod!, { evidence });
      const observation = await observe('x');
      expect(condition(observation, 'Compliant')).toMatchObject({ status: 'Unknown', reason: 'NotShown' });
      expect(observation?.status?.evidence).toMatchObject({ percent: 75, shown: 3, declared: 4 });
      const annotations = { 'platform.io/compliant-evidence': null };
      await patch(PODS, pod!.metadata.name, { metadata: { annotations } });
      await until('the default bar', async () => {
        const found = await observe('x');
        const bar = found?.metadata.annotations?.['platform.io/compliant-evidence'];
        return bar === undefined && condition(found, 'Compliant')?.status === 'True';
      });
    }, 300_000);

    test('does not change the observation of a remote agent', async () => {
      await create(AGENT_OBSERVATIONS, 'far', { spec: { source: 'remote' } });
      const before = await observe('far');
      await delay(1_000);
      expect(await observe('far')).toEqual(before);
    }, 300_000);

    test('emits an Event for a changed manifest', async () => {
      await deploy('x');
      await settled('x');
      const manifestChange = { at: '2026-11-28T12:00:00.000Z', from: 'a', to: 'b', summary: 'what changed' };
      await patchStatus(AGENT_OBSERVATIONS, 'x', { manifestChange: { ...manifestChange, severity: 'LOW' } });
      await until('the Event', async () => (await eventsOn('Deployment')).includes('Normal ManifestChanged'));
    });
  });

  describe('an operator of its own', () => {
    beforeEach(async () => {
      namespace = await cluster.controlledNamespace(`own-${(count += 1)}`);
      await moveIn(namespace);
      operator = await start();
    });
    afterEach(async () => {
      await operator?.close();
    });

    test('changes nothing after a restart', async () => {
      await deploy('x', 'x', 2);
      await settled('x');
      for (const pod of await twoPods()) await report('x', pod);
      await until('the Event', async () => (await eventsOn('AgentObservation')).includes('Normal Healthy'));
      await hasReconciled(operator!);
      await operator!.close();
      const before = await observe('x');
      await runAnotherLeader();
      expect((await observe('x'))?.metadata.resourceVersion).toBe(before?.metadata.resourceVersion);
    }, 300_000);

    test('reports opted-in pods without a sidecar once, even after a leader change, and reports the fix', async () => {
      await deployBare('x');
      const settledOf = (drift: boolean) =>
        until('the drift', async () => {
          const observation = await observe('x');
          const isSettled = observation?.status?.conditions?.some(({ type }) => type === 'Ready') === true;
          const pods = observation?.status?.drift?.[0]?.pods ?? 0;
          return isSettled && pods === (drift ? 2 : 0) ? observation : null;
        });
      const observation = await settledOf(true);
      expect(observation.spec.agentRef).toEqual({ apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' });
      expect(condition(observation, 'Injected')).toMatchObject({ status: 'False', reason: 'SidecarMissing' });
      expect(observation.status?.drift).toEqual([
        { reason: 'sidecar-missing', pods: 2, example: expect.stringMatching(/^x-/) },
      ]);
      await until('the Event', async () => (await eventsOn('Deployment')).length > 0);

      await operator?.close();
      await runAnotherLeader();
      expect((await observe('x'))?.metadata.resourceVersion).toBe(observation.metadata.resourceVersion);
      expect(await eventsOn('Deployment')).toEqual(['Warning SidecarMissing']);
      operator = await start();

      await patch(DEPLOYMENTS, 'x', { spec: { ...RECREATE, template: template('x') } });
      const repaired = await settledOf(false);
      expect(repaired.status).not.toHaveProperty('drift');
      expect(condition(repaired, 'Injected')).toMatchObject({ status: 'True', reason: 'SidecarPresent' });
      await until('the Event', async () => (await eventsOn('Deployment')).length > 1);
      expect(await eventsOn('Deployment')).toEqual(['Normal Injected', 'Warning SidecarMissing']);
    }, 300_000);

    test('counts pods whose sidecar differs from the current installation', async () => {
      await operator?.close();
      const [own, other] = await Promise.all([...Array(2)].map(() => issueCa({ now: new Date(), days: 1 })));
      const directory = mkdtempSync(join(tmpdir(), 'operator-ca-'));
      const file = join(directory, 'ca.crt');
      writeFileSync(file, own!.cert);
      const env = { SIDECAR_IMAGE: 'sidecar:1', SIDECAR_CA_FILES: file };
      operator = await start(silentLogger, 'operator-1', env);
      const present = installedOf(configOf(env), namespace);
      const record = (version: string, config: string, ca = own!.cert) => ({
        'platform.io/ca': ca,
        'platform.io/injected': JSON.stringify({ ...injected, version, config }),
      });
      await deploy('x', 'x', 1, record(present!.version, present!.configHash));
      expect(condition(await settled('x'), 'Injected')).toMatchObject({ reason: 'SidecarPresent' });
      expect((await observe('x'))?.status).not.toHaveProperty('drift');
      await deploy('y', 'y', 1, record(present!.version, 'other'));
      const drift = await until('the drift', async () => (await observe('y'))?.status?.drift);
      expect(drift).toEqual([
        { reason: 'configuration-outdated', pods: 1, example: expect.stringMatching(/^y-/) },
      ]);
      expect(condition(await observe('y'), 'Injected')).toMatchObject({
        status: 'True',
        reason: 'SidecarOutdated',
      });
      await deploy('z', 'z', 1, record(present!.version, present!.configHash, other!.cert));
      expect(await until('the drift', async () => (await observe('z'))?.status?.drift)).toEqual([
        { reason: 'ca-unknown', pods: 1, example: expect.stringMatching(/^z-/) },
      ]);
      expect(condition(await observe('z'), 'Injected')).toMatchObject({
        status: 'False',
        reason: 'CaUnknown',
      });
      rmSync(directory, { recursive: true });
    }, 300_000);

    test('reports once on the workload why its pods are skipped, and creates no observation', async () => {
      await operator?.close();
      const env = { EXCLUDED_NAMESPACES: `kube-system,${namespace}` };
      operator = await start(silentLogger, 'operator-1', env);
      await deployBare('x');
      await until('the Event', async () => (await eventsOn('Deployment')).length > 0);
      await operator.close();
      await runAnotherLeader(env);
      expect(await eventsOn('Deployment')).toEqual(['Warning InjectionSkipped']);
      expect(await observe('x')).toBeNull();
    }, 300_000);

    test('runs one of two replicas as leader, and the other after the leader stops', async () => {
      const second = await start(silentLogger, 'operator-2');
      try {
        await deploy('x');
        await settled('x');
        const shows = async (each: Operator | null, text: string) =>
          (await (await fetch(`http://127.0.0.1:${each?.port}/metrics`)).text()).includes(text);
        const leads = 'leader_election_master_status{name="platform-operator"} 1';
        const leading = [await shows(operator, leads), await shows(second, leads)];
        expect([...leading].sort()).toEqual([false, true]);
        const [first, next] = leading[0] ? [operator!, second] : [second, operator!];
        const reconciled = 'controller_runtime_reconcile_total{controller="agents",result="requeue_after"}';
        await until('a reconcile', () => shows(first, reconciled));
        await first.close();
        await deploy('y');
        await settled('y');
        expect(await shows(next, leads)).toBe(true);
      } finally {
        await second.close();
      }
    }, 300_000);

    test('exports the state of each agent on every replica, until the agent is deleted', async () => {
      const second = await start(silentLogger, 'operator-2');
      try {
        await deploy('x');
        await settled('x');
        const ofAgent = `{namespace="${namespace}",agent="x",`;
        const shown = async () => {
          const both = [operator!, second].map(({ port }) => fetch(`http://127.0.0.1:${port}/metrics`));
          return await Promise.all(both.map(async (each) => (await each).text()));
        };
        const injected = `platform_agent_condition${ofAgent}condition="Injected",status="True",reason="SidecarPresent"} 1\n`;
        await until('the state of the agent', async () =>
          (await shown()).every((text) => text.includes(injected)),
        );
        for (const text of await shown())
          expect(text).toContain(`platform_agent_compliant${ofAgent}status="Unknown"`);
        await remove(DEPLOYMENTS, 'x');
        await until('the end of its series', async () =>
          (await shown()).every((text) => !text.includes(ofAgent)),
        );
      } finally {
        await second.close();
      }
    }, 300_000);

    test('is ready after its caches are synced', async () => {
      await until('readiness', async () => (await fetch(`http://127.0.0.1:${operator!.port}/readyz`)).ok);
      expect((await fetch(`http://127.0.0.1:${operator!.port}/livez`)).status).toBe(200);
    });

    test('writes what became of an AgentPolicy, and an Event for an agent that breaks it', async () => {
      const rule = (id: string, check: object) => ({ id, action: 'Deny', ...check });
      const policyOf = (name: string, ...rules: object[]) =>
        cluster.post(collectionPath(AGENT_POLICIES), {
          ...{
            apiVersion: 'platform.io/v1',
            kind: 'AgentPolicy',
            metadata: { name: `${namespace}-${name}` },
          },
          spec: {
            namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
            rules,
          },
        });
      // The statuses are written every ten seconds.
      const sleep: Clock['sleep'] = (ms, signal) => systemClock.sleep(Math.min(ms, 500), signal);
      await operator?.close();
      operator = await start(silentLogger, 'operator-1', {}, { ...systemClock, sleep });
      await policyOf('good', rule('models', { models: { allowed: ['openai/*'] } }));
      await policyOf('bad', rule('text', { expression: 'a ++ b' }));
      await deploy('x');
      await settled('x');
      const [pod] = await until('the pod', async () => (await podsOf('x')).length === 1 && podsOf('x'));
      const message = 'model anthropic/claude is not one of openai/*';
      const broken = {
        policy: `${namespace}-good`,
        rule: 'models',
        severity: 'high' as const,
        action: 'Deny' as const,
        ...{ path: 'spec.model.id', message },
      } satisfies OrganisationFinding;
      const about = { judgedAt: '2026-11-28T12:00:00Z', manifestHash: 'a', brokenTotal: 1, notJudged: [] };
      await report('x', pod!, {}, { ...about, broken: [broken] });
      const statusOfPolicy = async (name: string): Promise<AgentPolicyStatus | undefined> => {
        const path = objectPath(AGENT_POLICIES, { name: `${namespace}-${name}` });
        const { status } = expectOk(
          await client.send<{ status?: AgentPolicyStatus }>({ method: 'GET', path }),
        );
        return status;
      };
      await until('the status', async () => (await statusOfPolicy('good'))?.broken === 1);
      expect(await statusOfPolicy('good')).toMatchObject({
        agents: 1,
        rules: [{ id: 'models', enforcedAt: ['ci', 'manifest', 'start', 'runtime', 'lanes'], broken: 1 }],
        conditions: [{ type: 'Accepted', status: 'True', reason: 'Accepted', observedGeneration: 1 }],
      });
      await until('the other one', async () => (await statusOfPolicy('bad'))?.conditions !== undefined);
      expect((await statusOfPolicy('bad'))?.conditions).toMatchObject([
        {
          ...{ type: 'Accepted', status: 'False', reason: 'InvalidExpression' },
          message: expect.stringContaining('rule text: '),
        },
      ]);
      await until('the Event', async () => (await eventsOn('Deployment')).includes('Warning NotAllowed'));
    });

    test('writes what became of an AgentStop, keeps it in the status of the agent, and deletes an expired one', async () => {
      const sleep: Clock['sleep'] = (ms, signal) => systemClock.sleep(Math.min(ms, 500), signal);
      await operator?.close();
      operator = await start(silentLogger, 'operator-1', {}, { ...systemClock, sleep });
      await deploy('x');
      await settled('x');
      const [pod] = await until('the pod', async () => (await podsOf('x')).length === 1 && podsOf('x'));
      await report('x', pod!);
      // Here the namespace of the agents is that of the release, where a stop is about every namespace.
      const stopAs = (name: string, spec: object) =>
        create(AGENT_STOPS, name, {
          spec: { namespaces: [namespace], reason: 'leak', by: 'alice', ...spec },
        });
      const statusOfStop = async (name: string): Promise<AgentStopStatus | undefined> => {
        const path = objectPath(AGENT_STOPS, { namespace, name });
        return expectOk(await client.send<{ status?: AgentStopStatus }>({ method: 'GET', path })).status;
      };
      const stopIn = async () => (await observe('x'))?.status?.stop;
      await stopAs('incident', { agents: ['x'] });
      await until('the stop of the agent', async () => (await stopIn())?.id === `${namespace}/incident`);
      await until('a status', async () => (await statusOfStop('incident'))?.pending === 1);
      const id = `${namespace}/incident`;
      const { since } = (await stopIn())!;
      await report('x', pod!, { stop: { id, since, lanes: true } });
      await until('the confirmation', async () => (await statusOfStop('incident'))?.stopped === 1);
      expect(await statusOfStop('incident')).toEqual({ agents: 1, stopped: 1, pending: 0 });
      await until('the Event', async () => (await eventsOn('Deployment')).includes('Warning AgentStopped'));
      // A resume reaches the status although no heartbeat arrives.
      await remove(AGENT_STOPS, 'incident');
      await until('the resume', async () => (await stopIn()) === undefined);
      await until('its Event', async () => (await eventsOn('Deployment')).includes('Normal AgentResumed'));
      await stopAs('expired', { until: '2026-01-01T00:00:00Z' });
      const expired = objectPath(AGENT_STOPS, { namespace, name: 'expired' });
      await until('its deletion', async () => !(await cluster.serves(expired)));
      expect(await stopIn()).toBeUndefined();
    });

    // Late, because the garbage collector discovers new kinds every 30 seconds.
    test('follows orphaned pods after the deletion of their Deployment, and removes the observation with them', async () => {
      await garbageCollectorKnows();
      await deploy('x');
      const { metadata } = await settled('x');
      await report('x', (await podsOf('x'))[0]!);
      await remove(DEPLOYMENTS, 'x', 'Orphan');
      const observation = await until('the ReplicaSet', async () => {
        const current = await observe('x');
        return current?.spec.agentRef?.kind === 'ReplicaSet' ? current : null;
      });
      expect(observation.metadata.uid).toBe(metadata.uid);
      expect(observation.status?.phase).toBe('Healthy');
      expect(observation.metadata.ownerReferences?.map((owner) => owner.kind)).toEqual(['ReplicaSet']);
      await remove(REPLICA_SETS, observation.spec.agentRef?.name ?? '', 'Orphan');
      await until('the Pod', async () => (await observe('x'))?.spec.agentRef?.kind === 'Pod');
      await remove(PODS, (await podsOf('x'))[0]!.metadata.name);
      await until('the end of the observation', async () => !(await observe('x')));
    }, 300_000);
  });

  test('uses all of its permissions and no others', () => {
    const { used, decisions } = audit.of('operator');
    expect(decisions).toEqual(['allow']);
    const granted = permissionsOf([...OPERATOR_PERMISSIONS.cluster, ...OPERATOR_PERMISSIONS.namespace]);
    expect(used).toEqual(granted.filter((each) => !NOT_IN_AUDIT_LOG.includes(each)).sort());
  });
});

/** Permissions that the audit log does not show in this run, each for a reason. */
const NOT_IN_AUDIT_LOG = [
  // Checked as part of the server-side apply that creates the object; logged as patch.
  'create platform.io agentobservations',
  // Pods of a DaemonSet need nodes, and this cluster has none.
  'get apps daemonsets',
];

interface StoredEvent {
  regarding: { kind: string };
  type: string;
  reason: string;
  note: string;
  reportingController: string;
  series?: { count: number };
}

const EVENTS: Resource<StoredEvent> = {
  group: 'events.k8s.io',
  version: 'v1',
  plural: 'events',
  kind: 'Event',
};
