// Two replicas as separate processes that share state only through the cluster.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { CA_ANNOTATION } from '../core/injection/names.ts';
import type { Pod } from '../core/injection/pod.ts';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { freePorts } from '../examples/demo/free-ports.ts';
import type { KubeResponse } from '../kube/client.ts';
import { optedInPod } from '../testing/cluster/pods.ts';
import { ProcessRig, type RunningPart } from '../testing/machine/process-rig.ts';
import { IN_SOAK } from '../testing/time/real-time.ts';
import { startTcpBalancer, type TcpBalancer } from '../testing/http/tcp-balancer.ts';
import { askWebhook, WebhookCluster } from '../testing/cluster/webhook-cluster.ts';
import { certificatesIn } from './certificates/tls-state.ts';
import { until } from '../testing/time/until.ts';

/** How often two replicas start at once; half as often one of them is killed (`make soak`: 20). */
const STARTS = Number(process.env['STARTS'] ?? 2);
const TIMES = Array.from({ length: STARTS }, (_, index) => index + 1);
/** Times of the kills, spread over the first tenth of a second. */
const KILLS = TIMES.filter((time) => time % 2 === 1).map((time) => Math.round((time * 10) / STARTS));
/** The image that the guard accepts. */
const SIDECAR_IMAGE = 'registry.example/agent-compliance/sidecar:0.1.0';
const SECRET = 'agent-compliance-webhook-tls';
const HOST = 'agent-compliance-webhook.platform-system.svc';
/** Between two pods; without a pause they take most of the processor time of this file. */
const PAUSE_MS = IN_SOAK ? 0 : 20;
const ROTATING = join(import.meta.dirname, '../testing/processes/rotating-webhook.ts');

interface Replica {
  part: RunningPart;
  port: number;
}

(whyNoControlPlane() ? describe.skip : describe)('two replicas', () => {
  let cluster: WebhookCluster;
  let service: TcpBalancer;
  let rig: ProcessRig;
  let replicas: Replica[] = [];

  beforeAll(async () => {
    cluster = await WebhookCluster.open();
    [service, rig] = await Promise.all([startTcpBalancer(), ProcessRig.open()]);
  });

  afterAll(async () => {
    await Promise.all([rig.close(), service.close()]);
    await cluster.close();
  });

  afterEach(async () => {
    service.ready([]);
    await Promise.all(replicas.splice(0).map(({ part }) => part.stop()));
  });

  async function startTwo(program?: string): Promise<[Replica, Replica]> {
    const [one, two] = await freePorts(2);
    return Promise.all([start(program, one), start(program, two)]);
  }

  async function start(program?: string, ownPort?: number): Promise<Replica> {
    const [port = 0] = ownPort === undefined ? await freePorts(1) : [ownPort];
    const env = { PORT: String(port), SIDECAR_IMAGE, KUBECONFIG: cluster.kubeconfig };
    const part = await (program === undefined
      ? rig.start('webhook', /listening/, env)
      : rig.startProgram(program, /listening/, env));
    const replica = { part, port };
    replicas.push(replica);
    return replica;
  }

  async function kill(replica: Replica): Promise<void> {
    replicas = replicas.filter((each) => each !== replica);
    process.kill(replica.part.pid, 'SIGKILL');
    await replica.part.stop();
  }

  /** Waits until the replica is ready, then adds it to the Service after a short delay. */
  async function addToService(replica: Replica, behind: number[]): Promise<void> {
    await until(async () => (await askWebhook(replica.port, '/readyz')).status === 200);
    await sleep(200);
    behind.push(replica.port);
    service.ready([...behind]);
  }

  /** Creates pods until `end` resolves; returns the responses for pods that were not injected. */
  async function createUntil(end: Promise<unknown>): Promise<{ count: number; failed: unknown[] }> {
    const failed: unknown[] = [];
    const over = new AbortController();
    const ended = end.finally(() => over.abort());
    // `end` may reject while a pod is being created; the error is handled below.
    ended.catch(() => undefined);
    let count = 0;
    for (; !over.signal.aborted; count += 1) {
      const answer = await cluster.create(optedInPod());
      if (!isInjected(answer)) failed.push(answer);
      await sleep(PAUSE_MS);
    }
    await ended;
    return { count, failed };
  }

  /** Expects one CA in the Secret that the API server trusts and that signed the certificate of every replica. */
  async function expectOneCa(): Promise<void> {
    const { 'ca.crt': ca = '' } = await cluster.secret(SECRET);
    expect(certificatesIn(ca)).toHaveLength(1);
    expect(await cluster.caBundle()).toBe(ca);
    for (const { port } of replicas)
      expect(await askWebhook(port, '/livez', { ca, servername: HOST })).toMatchObject({ status: 200 });
  }

  async function tlsErrors({ port }: Replica): Promise<string[]> {
    const { body } = await askWebhook(port, '/metrics');
    expect(body).toContain('# TYPE platform_webhook_tls_errors_total counter');
    return body.split('\n').filter((line) => line.startsWith('platform_webhook_tls_errors_total'));
  }

  test.each(TIMES)('that start at once share one CA, and no handshake fails (%i)', async () => {
    await cluster.forgetCertificates();
    const both = await startTwo();
    const behind: number[] = [];
    const additions = both.map((replica) => addToService(replica, behind));
    await Promise.race(additions);
    await cluster.pointTo(service.port);
    const all = Promise.all(additions).then(() => sleep(300));
    const { count, failed } = await createUntil(all);
    expect(failed).toEqual([]);
    expect(count).toBeGreaterThan(0);
    await expectOneCa();
    expect(await Promise.all(both.map(tlsErrors))).toEqual([[], []]);
    const creators = both.filter(({ part }) => part.output().includes('create-ca'));
    expect(creators).toHaveLength(1);
  });

  test.each(KILLS)('share one CA when one is killed while both issue certificates (%i)', async (time) => {
    await cluster.forgetCertificates();
    const [first, second] = await startTwo();
    await sleep(time * 12);
    await kill(first);
    await addToService(second, []);
    await cluster.pointTo(service.port);
    await expectOneCa();
    await addToService(await start(), [second.port]);
    expect((await createUntil(sleep(200))).failed).toEqual([]);
    await expectOneCa();
  });

  test('continue with one CA when one after the other is killed during rotations', async () => {
    let [survivor, victim] = await startTwo(ROTATING);
    for (const time of KILLS) {
      await sleep(300 + time * 37);
      await kill(victim);
      [survivor, victim] = [await start(ROTATING), survivor];
    }
    await kill(victim);
    const rotations = () => survivor.part.output().split('retire-previous').length;
    const before = rotations();
    await addToService(survivor, []);
    await cluster.pointTo(service.port);
    const { failed } = await createUntil(until(() => Promise.resolve(rotations() > before + 1)));
    expect(failed).toEqual([]);
    await kill(survivor);
    // The next replica completes an interrupted rotation later, but can serve at once.
    await addToService(await start(), []);
    expect((await createUntil(sleep(200))).failed).toEqual([]);
    const { 'ca.crt': ca = '' } = await cluster.secret(SECRET);
    expect(await cluster.caBundle()).toContain(ca);
  });
});

function isInjected(answer: KubeResponse<Pod>): boolean {
  return answer.ok && answer.body.metadata?.annotations?.[CA_ANNOTATION] !== undefined;
}
