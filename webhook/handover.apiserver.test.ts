// Replicas of two versions as separate processes behind a Service that still leads to the previous version only: the API server
// keeps its connections, and the change of the endpoints has not arrived.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Pod } from '../core/injection/pod.ts';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { freePorts } from '../examples/demo/free-ports.ts';
import type { KubeResponse } from '../kube/client.ts';
import { optedInPod } from '../testing/cluster/pods.ts';
import { ProcessRig, type RunningPart } from '../testing/machine/process-rig.ts';
import { startTcpBalancer, type TcpBalancer } from '../testing/http/tcp-balancer.ts';
import { askWebhook, WebhookCluster } from '../testing/cluster/webhook-cluster.ts';
import { until } from '../testing/time/until.ts';

const NAMESPACE = 'platform-system';
const SECRET = `/api/v1/namespaces/${NAMESPACE}/secrets/agent-compliance-webhook-tls`;
const PREVIOUS = 'registry.example/agent-compliance/sidecar:0.1.0';
const CURRENT = 'registry.example/agent-compliance/sidecar:0.2.0';
const HANDING_OVER = 'handing over reviews to a newer version';

interface Replica {
  part: RunningPart;
  port: number;
}

(whyNoControlPlane() ? describe.skip : describe)('a rollout of the webhook', () => {
  let cluster: WebhookCluster;
  let service: TcpBalancer;
  let rig: ProcessRig;
  let replicas: Replica[] = [];

  beforeAll(async () => {
    cluster = await WebhookCluster.open();
    [service, rig] = await Promise.all([startTcpBalancer(), ProcessRig.open()]);
  });
  afterAll(async () => {
    await Promise.all([rig?.close(), service?.close()]);
    await cluster?.close();
  });
  beforeEach(() => cluster.forgetCertificates());
  afterEach(async () => {
    service.ready([]);
    await Promise.all(replicas.splice(0).map(({ part }) => part.stop()));
  });

  /** The ReplicaSet of a version, as the controller of Deployments leaves it. */
  const setRevision = (hash: string, revision: number): Promise<void> =>
    cluster.apply([
      {
        apiVersion: 'apps/v1',
        kind: 'ReplicaSet',
        metadata: {
          name: `agent-compliance-webhook-${hash}`,
          namespace: NAMESPACE,
          annotations: { 'deployment.kubernetes.io/revision': String(revision) },
          ownerReferences: [
            {
              ...{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'agent-compliance-webhook' },
              ...{ uid: '00000000-0000-4000-8000-000000000001', controller: true },
            },
          ],
        },
        spec: {
          replicas: 0,
          selector: { matchLabels: { hash } },
          template: {
            metadata: { labels: { hash } },
            spec: { containers: [{ name: 'webhook', image: 'registry.example/webhook:1' }] },
          },
        },
      },
    ]);

  async function start(hash: string, image: string): Promise<Replica> {
    const [port = 0] = await freePorts(1);
    const pod = { POD_IP: '127.0.0.1', POD_TEMPLATE_HASH: hash };
    const env = { ...pod, PORT: String(port), SIDECAR_IMAGE: image, KUBECONFIG: cluster.kubeconfig };
    const replica = { part: await rig.start('webhook', /listening/, env), port };
    replicas.push(replica);
    return replica;
  }

  async function startReady(hash: string, image: string): Promise<Replica> {
    const replica = await start(hash, image);
    await until(() => isReady(replica.port));
    return replica;
  }

  async function kill(replica: Replica): Promise<void> {
    replicas = replicas.filter((each) => each !== replica);
    replica.part.kill('SIGKILL');
    await replica.part.stop();
  }

  /** The sidecar images of pods that are created one after the other; the error for a pod that is not admitted. */
  async function images(count: number): Promise<unknown[]> {
    const found: unknown[] = [];
    for (let index = 0; index < count; index += 1) found.push(imageOf(await cluster.create(optedInPod())));
    return [...new Set(found)];
  }

  async function announced(): Promise<unknown> {
    const answer = await cluster.client.send<Pod>({ method: 'GET', path: SECRET });
    const text = answer.ok ? answer.body.metadata?.annotations?.['platform.io/newest-injector'] : undefined;
    return text === undefined ? null : JSON.parse(text);
  }

  /** A replica of the previous version, to which the API server has an open connection. */
  async function startPrevious(): Promise<Replica> {
    await setRevision('previous', 1);
    const previous = await startReady('previous', PREVIOUS);
    service.ready([previous.port]);
    await cluster.pointTo(service.port);
    expect(await images(3)).toEqual([PREVIOUS]);
    return previous;
  }

  test('as soon as a new replica is ready, every pod has its sidecar, and no pod is rejected meanwhile', async () => {
    const previous = await startPrevious();
    await setRevision('current', 2);
    const created: unknown[] = [];
    let isOver = false;
    const creation = (async () => {
      while (!isOver) {
        created.push(imageOf(await cluster.create(optedInPod())));
        await sleep(20);
      }
    })();
    await startReady('current', CURRENT);
    const concurrent = await Promise.all(Array.from({ length: 10 }, () => images(3)));
    isOver = true;
    await creation;
    expect([...new Set(concurrent.flat())]).toEqual([CURRENT]);
    expect(new Set(created)).toEqual(new Set([PREVIOUS, CURRENT]));
    expect(created.lastIndexOf(PREVIOUS)).toBeLessThan(created.indexOf(CURRENT));
    expect(previous.part.output().match(new RegExp(HANDING_OVER, 'g'))).toHaveLength(1);
  });

  test('a replica of the previous version that starts during the rollout does not take over', async () => {
    await startPrevious();
    await setRevision('current', 2);
    const current = await startReady('current', CURRENT);
    const restarted = await startReady('previous', PREVIOUS);
    service.ready([restarted.port]);
    await cluster.pointTo(service.port);
    expect(await images(5)).toEqual([CURRENT]);
    expect(await announced()).toMatchObject({ revision: 2, port: current.port });
  });

  test('replicas of one version hand over nothing, and the last one to start is announced', async () => {
    const first = await startPrevious();
    const second = await startReady('previous', PREVIOUS);
    expect(await images(5)).toEqual([PREVIOUS]);
    expect(await announced()).toMatchObject({ revision: 1, port: second.port });
    expect(first.part.output() + second.part.output()).not.toContain(HANDING_OVER);
  });

  test.each<['ends' | 'hangs', (replica: Replica) => unknown]>([
    ['ends', kill],
    ['hangs', ({ part }) => part.kill('SIGSTOP')],
  ])('a new replica that %s does not silence the previous ones', async (_how, fail) => {
    const previous = await startPrevious();
    await setRevision('current', 2);
    const current = await startReady('current', CURRENT);
    expect(await images(3)).toEqual([CURRENT]);
    await fail(current);
    expect(await images(5)).toEqual([PREVIOUS]);
    expect(previous.part.output()).toContain('cannot reach the newer version of the injector');
    expect(await announced()).toMatchObject({ revision: 2 });
    current.part.kill('SIGCONT');
  });

  test('after a rollback, replicas of the version before the rollback hand over', async () => {
    await startPrevious();
    await setRevision('current', 2);
    const current = await startReady('current', CURRENT);
    await setRevision('previous', 3);
    const restored = await startReady('previous', PREVIOUS);
    service.ready([current.port]);
    await cluster.pointTo(service.port);
    expect(await images(5)).toEqual([PREVIOUS]);
    expect(await announced()).toMatchObject({ revision: 3, port: restored.port });
  });

  test('after a rollback without a new pod, the remaining replica is announced', async () => {
    const previous = await startPrevious();
    await setRevision('current', 2);
    const current = await startReady('current', CURRENT);
    expect(await images(3)).toEqual([CURRENT]);
    await setRevision('previous', 3);
    await kill(current);
    expect(await images(3)).toEqual([PREVIOUS]);
    await until(async () => ((await announced()) as { revision: number }).revision === 3);
    expect(await announced()).toMatchObject({ port: previous.port });
  });
});

function imageOf(answer: KubeResponse<Pod>): unknown {
  return answer.ok ? answer.body.spec.initContainers?.[0]?.image : answer.message;
}

const isReady = async (port: number) => (await askWebhook(port, '/readyz')).status === 200;
