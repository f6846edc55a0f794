// Rotates CAs and certificates ROTATIONS times while pods are created. The test advances the clock by the settle time only
// when every server presents the new certificate, and every client has completed two turns with the certificate.
import { X509Certificate } from 'node:crypto';
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
import { systemClock, type Clock } from '../../runtime/clock.ts';
import { listen, type Listener } from '../../runtime/http-listener.ts';
import { KnownCas } from '../../runtime/known-cas.ts';
import { silentLogger, type Logger } from '../../runtime/logger.ts';
import { optedInPod } from '../../testing/cluster/pods.ts';
import { IN_SOAK } from '../../testing/time/real-time.ts';
import { startTcpBalancer, type TcpBalancer } from '../../testing/http/tcp-balancer.ts';
import { MANIFEST_CONFIGURATION, WebhookCluster } from '../../testing/cluster/webhook-cluster.ts';
import type { Webhook } from '../start.ts';
import { TIMING } from './advance.ts';

const ROTATIONS = Number(process.env['ROTATIONS'] ?? 4);
const WORKERS = 3;
const WEBHOOK_SECRET = 'agent-compliance-webhook-tls';
const CONTROL_PLANE_SECRET = 'agent-compliance-control-plane-tls';
const CONTROL_PLANE_HOST = 'agent-compliance-control-plane.platform-system.svc';
/** Every CA is due for renewal as soon as it is created. */
const ALWAYS_DUE = { ...TIMING, caDays: 10, caRenewDays: 5000, leafDays: 5, leafRenewDays: 1 };
/** Interval of the loops, and pause of a worker after each turn. Each pass takes processor time of the API server. */
const POLL_MS = IN_SOAK ? 20 : 50;
const PAUSE_MS = IN_SOAK ? 0 : 50;

(whyNoControlPlane() ? describe.skip : describe)('rotation', () => {
  let cluster: WebhookCluster;
  let service: TcpBalancer;
  let webhooks: Webhook[] = [];
  const steps: string[] = [];
  let controlPlane: Listener;
  let directory: string;
  /** Elapsed settle time in milliseconds. */
  let settledMs = 0;
  const clock: Clock = { ...systemClock, monotonicMs: () => settledMs };
  /** Completed turns of each worker. */
  const turns = Array<number>(WORKERS).fill(0);
  const stopped = new AbortController();
  const running: Promise<void>[] = [];

  beforeAll(async () => {
    cluster = await WebhookCluster.open();
    service = await startTcpBalancer();
    const logger: Logger = {
      ...silentLogger,
      info: (_message, fields) => steps.push(...((fields?.['steps'] as string[] | undefined) ?? [])),
    };
    const env = {
      SIDECAR_IMAGE: 'registry.example/agent-compliance/sidecar:0.1.0',
      MANIFEST_CONFIGURATION,
    };
    const options = { timing: ALWAYS_DUE, clock, everyMs: POLL_MS, logger, signal: stopped.signal };
    webhooks = await Promise.all([1, 2].map(() => cluster.startWebhook(env, options)));
    service.ready(webhooks.map(({ port }) => port));
    directory = await mkdtemp(join(tmpdir(), 'rotation-'));
    await mountControlPlaneSecret();
    await serveControlPlane();
    await cluster.pointTo(service.port);
    await cluster.pointManifestsTo(service.port);
    while (!(await writeManifest()).ok) await sleep(POLL_MS);
  });

  /** As a dry run; without AgentPolicies every manifest is accepted. */
  const writeManifest = () =>
    cluster.client.send({
      method: 'POST',
      path: '/api/v1/namespaces/team/configmaps',
      query: { dryRun: 'All' },
      body: { metadata: { name: 'manifest' }, data: { 'agent.yaml': 'any' } },
    });

  afterAll(async () => {
    stopped.abort();
    await Promise.all(running);
    await Promise.all(webhooks.map((webhook) => webhook.close()));
    await controlPlane.close(0);
    await service.close();
    await cluster.close();
    await rm(directory, { recursive: true });
  });

  /** Mounts the Secret of the control plane like the kubelet, but with less delay. */
  async function mountControlPlaneSecret(): Promise<void> {
    const files = async (): Promise<boolean> => {
      const entries = await cluster.secret(CONTROL_PLANE_SECRET);
      for (const [name, text] of Object.entries(entries)) await writeFile(join(directory, name), text);
      return entries['tls.key'] !== undefined;
    };
    while (!(await files())) await sleep(POLL_MS);
    const keep = async () => {
      while (!stopped.signal.aborted) {
        await files();
        await sleep(POLL_MS);
      }
    };
    running.push(keep());
  }

  async function serveControlPlane(): Promise<void> {
    const files = { certFile: join(directory, 'tls.crt'), keyFile: join(directory, 'tls.key') };
    const current = await readKeyPair(files);
    controlPlane = await listen({ handler: (_request, response) => response.end(), port: 0, tls: current });
    const server = controlPlane.server as Server;
    const { signal } = stopped;
    const rest = { clock: systemClock, logger: silentLogger, everyMs: POLL_MS, signal };
    running.push(reloadKeyPair({ files, server, current, ...rest }));
  }

  let readMs = 0;
  const files = ['ca.crt', 'tls.crt'];
  /** Reads the files each time. */
  const newCas = () =>
    new KnownCas(
      files.map((file) => join(directory, file)),
      { monotonicMs: () => (readMs += 60_000) },
    );
  /** A CA was removed and the next one was promoted, so nothing that the control plane has is signed by the removed CA. */
  const isForgotten = (since: number): boolean => {
    const later = steps.slice(since);
    const retired = later.indexOf('retire-previous');
    return retired >= 0 && later.lastIndexOf('promote-next') > retired;
  };
  /**
   * Waits until the control plane knows the CAs of a pod: its files may be older than the pod. Years separate two rotations, but
   * not here: `since` is the number of steps before the pod was created.
   */
  async function becomeKnown(cas: KnownCas, ca: string, since: number): Promise<void> {
    await until(async () => {
      await cas.read().catch(() => undefined);
      return cas.has(ca) === true || isForgotten(since);
    });
  }

  /** Connects to the control plane like a sidecar that trusts these CAs. Returns null, or the error code. */
  const connectError = (ca: string): Promise<string | null> =>
    new Promise((resolve) => {
      const host = { host: '127.0.0.1', port: controlPlane.port, servername: CONTROL_PLANE_HOST };
      const socket = connect({ ...host, ca }, () => {
        socket.destroy();
        resolve(null);
      });
      socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    });

  /** The certificate that a server presents, base64 of its DER form. */
  const presented = (port: number): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
        resolve(socket.getPeerX509Certificate()?.raw.toString('base64') ?? '');
        socket.destroy();
      });
      socket.on('error', reject);
    });

  /** Whether both webhooks and the control plane present the certificates that are stored. */
  async function isPropagated(): Promise<boolean> {
    const stored = async (name: string) => {
      const { 'tls.crt': cert = '' } = await cluster.secret(name);
      return cert === '' ? '' : new X509Certificate(cert).raw.toString('base64');
    };
    const [webhook, other] = await Promise.all([stored(WEBHOOK_SECRET), stored(CONTROL_PLANE_SECRET)]);
    const served = await Promise.all([...webhooks, controlPlane].map(({ port }) => presented(port)));
    return served.every((cert, index) => cert === (index < webhooks.length ? webhook : other));
  }

  const until = async (condition: () => boolean | Promise<boolean>): Promise<void> => {
    while (!stopped.signal.aborted && !(await condition())) await sleep(POLL_MS);
  };

  /** Advances the settle time repeatedly, each time after every party uses the previous change. */
  async function settle(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      await until(isPropagated);
      const before = [...turns];
      await until(() => isOver() || turns.every((turn, worker) => turn >= (before[worker] ?? 0) + 2));
      if (await isPropagated()) settledMs += TIMING.settleMs;
    }
  }

  const caOf = (pod: Pod) => pod.metadata?.annotations?.[CA_ANNOTATION] ?? '';
  /** The API server's counters of failed webhook calls and of rejected pods. */
  const failures = () =>
    Promise.all(
      ['fail_open_count', 'rejection_count'].map((name) =>
        cluster.metric(`apiserver_admission_webhook_${name}`),
      ),
    );

  const rotations = () => steps.filter((step) => step === 'retire-previous').length;

  test(
    `${ROTATIONS} times: no pod and no manifest is rejected, and every pod can report to the control plane`,
    async () => {
      const wrong: unknown[] = [];
      const trusts = new Set<string>();
      let created = 0;
      let reports = 0;
      const before = rotations();
      const failedBefore = await failures();
      const isOver = () => rotations() - before >= ROTATIONS;
      const create = async (_: unknown, worker: number): Promise<void> => {
        // Tests the CAs of this turn's pod and of the previous turn's pod, which was injected some time ago.
        let older: { ca: string; since: number } | null = null;
        const cas = newCas();
        for (; !isOver(); turns[worker]! += 1) {
          const since = steps.length;
          const response = await cluster.create(optedInPod());
          const pod = response.ok ? response.body : null;
          if (pod?.spec.initContainers?.[0]?.name !== SIDECAR_CONTAINER) wrong.push(response);
          created += 1;
          const written = await writeManifest();
          if (!written.ok) wrong.push(written);
          if (pod === null) continue;
          const current = { ca: caOf(pod), since };
          trusts.add(current.ca);
          for (const each of older === null || older.ca === current.ca ? [current] : [current, older]) {
            const reason = await connectError(each.ca);
            if (reason !== null) wrong.push({ reason, ca: each === current ? 'of this turn' : 'older' });
            await becomeKnown(cas, each.ca, each.since);
            reports += 1;
          }
          older = current;
          await sleep(PAUSE_MS);
        }
      };
      await Promise.all([settle(isOver), ...turns.map(create)]);
      expect(wrong).toEqual([]);
      expect(created).toBeGreaterThan(ROTATIONS * WORKERS);
      expect(reports).toBeGreaterThan(created);
      // Each rotation has three bundles: current and next CA, new and previous CA, new CA alone.
      expect(trusts.size).toBeGreaterThan(ROTATIONS);
      expect(await failures()).toEqual(failedBefore);
    },
    60_000 + ROTATIONS * 10_000,
  );
});
