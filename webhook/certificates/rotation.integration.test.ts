// Authorities and certificates are exchanged as fast as it goes while pods are created: as many times as ROTATIONS says.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { Server } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readKeyPair, reloadKeyPair } from '../../control-plane/tls.ts';
import { CA_ANNOTATION, SIDECAR_CONTAINER } from '../../core/injection/names.ts';
import type { Pod } from '../../core/injection/pod.ts';
import { whyNoControlPlane } from '../../e2e/cluster/control.ts';
import { systemClock } from '../../runtime/clock.ts';
import { listen, type Listener } from '../../runtime/http-listener.ts';
import { silentLogger, type Logger } from '../../runtime/logger.ts';
import { optedInPod } from '../../testing/pods.ts';
import { startTcpBalancer, type TcpBalancer } from '../../testing/tcp-balancer.ts';
import { WebhookCluster } from '../../testing/webhook-cluster.ts';
import { readConfig } from '../config.ts';
import { startWebhook, type Webhook } from '../start.ts';
import { TIMING } from './advance.ts';

const ROTATIONS = Number(process.env['ROTATIONS'] ?? 20);
const WORKERS = 3;
const CONTROL_PLANE_SECRET = 'agent-compliance-control-plane-tls';
const CONTROL_PLANE_HOST = 'agent-compliance-control-plane.platform-system.svc';
/** Every authority is old as soon as it is made; a change settles in the time in which all of this test have read it, with much to spare. */
const QUICK = {
  ...TIMING,
  authorityDays: 10,
  authorityRenewDays: 5000,
  leafDays: 5,
  leafRenewDays: 1,
  settleMs: 800,
};
const LOOK_MS = 50;

(whyNoControlPlane() ? describe.skip : describe)('rotation', () => {
  let cluster: WebhookCluster;
  let service: TcpBalancer;
  let webhooks: Webhook[] = [];
  const steps: string[] = [];
  let controlPlane: Listener;
  let folder: string;
  const stopped = new AbortController();
  const running: Promise<void>[] = [];

  beforeAll(async () => {
    cluster = await WebhookCluster.open();
    service = await startTcpBalancer();
    const logger: Logger = {
      ...silentLogger,
      info: (_message, fields) => steps.push(...((fields?.['steps'] as string[] | undefined) ?? [])),
    };
    const env = { SIDECAR_IMAGE: 'agent-compliance/sidecar:0.1.0', KUBECONFIG: cluster.kubeconfig };
    const config = readConfig(env);
    if (!config.ok) throw new Error(JSON.stringify(config.problems));
    const { signal } = stopped;
    const options = { timing: QUICK, everyMs: LOOK_MS };
    webhooks = await Promise.all(
      [1, 2].map(() => startWebhook({ ...config.config, PORT: 0 }, logger, signal, options)),
    );
    service.ready(webhooks.map(({ port }) => port));
    folder = await mkdtemp(join(tmpdir(), 'rotation-'));
    await mountControlPlaneSecret();
    await serveControlPlane();
    await cluster.pointTo(service.port);
  });

  afterAll(async () => {
    stopped.abort();
    await Promise.all(running);
    await Promise.all(webhooks.map((webhook) => webhook.close()));
    await controlPlane.close(0);
    await service.close();
    await cluster.close();
    await rm(folder, { recursive: true });
  });

  /** What the kubelet does for the control plane's pod, only sooner. */
  async function mountControlPlaneSecret(): Promise<void> {
    const files = async (): Promise<boolean> => {
      const entries = await cluster.secret(CONTROL_PLANE_SECRET);
      for (const [name, text] of Object.entries(entries)) await writeFile(join(folder, name), text);
      return entries['tls.key'] !== undefined;
    };
    while (!(await files())) await sleep(LOOK_MS);
    const keep = async () => {
      while (!stopped.signal.aborted) {
        await files();
        await sleep(LOOK_MS);
      }
    };
    running.push(keep());
  }

  async function serveControlPlane(): Promise<void> {
    const files = { certFile: join(folder, 'tls.crt'), keyFile: join(folder, 'tls.key') };
    const current = await readKeyPair(files);
    controlPlane = await listen({ handler: (_request, response) => response.end(), port: 0, tls: current });
    const server = controlPlane.server as Server;
    const { signal } = stopped;
    const rest = { clock: systemClock, logger: silentLogger, everyMs: LOOK_MS, signal };
    running.push(reloadKeyPair({ files, server, current, ...rest }));
  }

  /** What a sidecar that was given these authorities says of the control plane: null, or the reason against it. */
  const reported = (ca: string): Promise<string | null> =>
    new Promise((resolve) => {
      const host = { host: '127.0.0.1', port: controlPlane.port, servername: CONTROL_PLANE_HOST };
      const socket = connect({ ...host, ca }, () => {
        socket.destroy();
        resolve(null);
      });
      socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    });

  const authorityOf = (pod: Pod) => pod.metadata?.annotations?.[CA_ANNOTATION] ?? '';
  /** What the API server counts of calls that gave no answer, and of pods that were refused. */
  const failures = () =>
    Promise.all(
      ['fail_open_count', 'rejection_count'].map((name) =>
        cluster.metric(`apiserver_admission_webhook_${name}`),
      ),
    );

  const rotations = () => steps.filter((step) => step === 'retire-previous').length;

  test(
    `${ROTATIONS} times: no pod is refused, and every pod can report to the control plane`,
    async () => {
      const wrong: unknown[] = [];
      const trusts = new Set<string>();
      let created = 0;
      let reports = 0;
      const before = rotations();
      const failedBefore = await failures();
      const create = async (): Promise<void> => {
        // The pod of this turn, and that of the turn before it: one was injected just now, the other some time ago.
        let older = '';
        while (rotations() - before < ROTATIONS) {
          const answer = await cluster.create(optedInPod());
          const pod = answer.ok ? answer.body : null;
          if (pod?.spec.initContainers?.[0]?.name !== SIDECAR_CONTAINER) wrong.push(answer);
          created += 1;
          if (pod === null) continue;
          const ca = authorityOf(pod);
          trusts.add(ca);
          for (const each of new Set([ca, older || ca])) {
            const reason = await reported(each);
            if (reason !== null) wrong.push({ reason, ca: each === ca ? 'of this turn' : 'older' });
            reports += 1;
          }
          older = ca;
        }
      };
      await Promise.all(Array.from({ length: WORKERS }, create));
      expect(wrong).toEqual([]);
      expect(created).toBeGreaterThan(ROTATIONS * WORKERS);
      expect(reports).toBeGreaterThan(created);
      // Each rotation has three trusts: the next beside the present one, both the other way round, the new one alone.
      expect(trusts.size).toBeGreaterThan(ROTATIONS);
      expect(await failures()).toEqual(failedBefore);
    },
    60_000 + ROTATIONS * 10_000,
  );
});
