// Two replicas as processes of their own, which know of each other only by what is in the cluster.
import { request } from 'node:https';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { CA_ANNOTATION } from '../core/injection/names.ts';
import type { Pod } from '../core/injection/pod.ts';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { freePorts } from '../examples/demo/free-ports.ts';
import type { KubeAnswer } from '../kube/client.ts';
import { optedInPod } from '../testing/pods.ts';
import { ProcessRig, type RunningPart } from '../testing/process-rig.ts';
import { startTcpBalancer, type TcpBalancer } from '../testing/tcp-balancer.ts';
import { WebhookCluster } from '../testing/webhook-cluster.ts';
import { certificatesIn } from './certificates/tls-state.ts';

/** How often two start at once, and half as often one of them is killed (`make soak`: 20). */
const STARTS = Number(process.env['STARTS'] ?? 2);
const TIMES = Array.from({ length: STARTS }, (_, index) => index + 1);
/** Each moment of the first tenth of a second, in so many steps. */
const KILLS = TIMES.filter((time) => time % 2 === 1).map((time) => Math.round((time * 10) / STARTS));
/** The one that the guard lets through. */
const SIDECAR_IMAGE = 'registry.example/agent-compliance/sidecar:0.1.0';
const SECRET = 'agent-compliance-webhook-tls';
const HOST = 'agent-compliance-webhook.platform-system.svc';
/** How long something may take that is no bar: a busy machine must not decide. */
const PATIENCE_MS = 240_000;
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
      ? rig.start('webhook', /listens/, env)
      : rig.startProgram(program, /listens/, env));
    const replica = { part, port };
    replicas.push(replica);
    return replica;
  }

  async function kill(replica: Replica): Promise<void> {
    replicas = replicas.filter((each) => each !== replica);
    process.kill(replica.part.pid, 'SIGKILL');
    await replica.part.stop();
  }

  /** When it is ready it comes behind the Service, a little later as ever. */
  async function served(replica: Replica, behind: number[]): Promise<void> {
    await until(async () => (await ask(replica.port, '/readyz')).status === 200);
    await sleep(200);
    behind.push(replica.port);
    service.ready([...behind]);
  }

  /** Asks for pods until `end` resolves; why those that were not injected were not. */
  async function createUntil(end: Promise<unknown>): Promise<{ count: number; refused: unknown[] }> {
    const refused: unknown[] = [];
    const over = new AbortController();
    const ended = end.finally(() => over.abort());
    // It may fail while a pod is being asked for; it is looked at below.
    ended.catch(() => undefined);
    let count = 0;
    for (; !over.signal.aborted; count += 1) {
      const answer = await cluster.create(optedInPod());
      if (!isInjected(answer)) refused.push(answer);
    }
    await ended;
    return { count, refused };
  }

  /** The Secret's authority, which must be what the API server trusts and of whom every replica has its certificate. */
  async function expectOneCa(): Promise<void> {
    const { 'ca.crt': authority = '' } = await cluster.secret(SECRET);
    expect(certificatesIn(authority)).toHaveLength(1);
    expect(await cluster.caBundle()).toBe(authority);
    for (const { port } of replicas)
      expect(await ask(port, '/livez', authority)).toMatchObject({ status: 200 });
  }

  async function tlsErrors({ port }: Replica): Promise<string[]> {
    const { body } = await ask(port, '/metrics');
    expect(body).toContain('# TYPE platform_webhook_tls_errors_total counter');
    return body.split('\n').filter((line) => line.startsWith('platform_webhook_tls_errors_total'));
  }

  test.each(TIMES)('that start at once have one authority, and no handshake fails (%i)', async () => {
    await cluster.forgetCertificates();
    const both = await startTwo();
    const behind: number[] = [];
    const coming = both.map((replica) => served(replica, behind));
    await Promise.race(coming);
    await cluster.pointTo(service.port);
    const all = Promise.all(coming).then(() => sleep(300));
    const { count, refused } = await createUntil(all);
    expect(refused).toEqual([]);
    expect(count).toBeGreaterThan(0);
    await expectOneCa();
    expect(await Promise.all(both.map(tlsErrors))).toEqual([[], []]);
    const makers = both.filter(({ part }) => part.output().includes('create-authority'));
    expect(makers).toHaveLength(1);
  });

  test.each(KILLS)(
    'of which one is killed while both make certificates have one authority (%i)',
    async (time) => {
      await cluster.forgetCertificates();
      const [first, second] = await startTwo();
      await sleep(time * 12);
      await kill(first);
      await served(second, []);
      await cluster.pointTo(service.port);
      await expectOneCa();
      await served(await start(), [second.port]);
      expect((await createUntil(sleep(200))).refused).toEqual([]);
      await expectOneCa();
    },
  );

  test('of which one after the other is killed in the middle of exchanges go on with one authority', async () => {
    let [survivor, victim] = await startTwo(ROTATING);
    for (const time of KILLS) {
      await sleep(300 + time * 37);
      await kill(victim);
      [survivor, victim] = [await start(ROTATING), survivor];
    }
    await kill(victim);
    const exchanges = () => survivor.part.output().split('retire-previous').length;
    const before = exchanges();
    await served(survivor, []);
    await cluster.pointTo(service.port);
    const { refused } = await createUntil(until(() => Promise.resolve(exchanges() > before + 1)));
    expect(refused).toEqual([]);
    await kill(survivor);
    // What is left in the middle of an exchange, the next replica ends in its own time; it can serve at once.
    await served(await start(), []);
    expect((await createUntil(sleep(200))).refused).toEqual([]);
    const { 'ca.crt': authority = '' } = await cluster.secret(SECRET);
    expect(await cluster.caBundle()).toContain(authority);
  });
});

function isInjected(answer: KubeAnswer<Pod>): boolean {
  return answer.ok && answer.body.metadata?.annotations?.[CA_ANNOTATION] !== undefined;
}

/** Without `ca` nobody looks at the certificate, as the kubelet does. */
function ask(port: number, path: string, ca?: string): Promise<{ status: number; body: string }> {
  const trust = ca === undefined ? { rejectUnauthorized: false } : { ca, servername: HOST };
  return new Promise((resolve) => {
    const sent = request({ host: '127.0.0.1', port, path, agent: false, ...trust }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
    });
    sent.on('error', (error) => resolve({ status: 0, body: error.message }));
    sent.end();
  });
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + PATIENCE_MS; !(await condition());) {
    if (Date.now() > end) throw new Error('it does not come to pass');
    await sleep(50);
  }
}
