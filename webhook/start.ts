import type { Server } from 'node:https';
import { KubeClient } from '../kube/client.ts';
import { loadClusterAccess } from '../kube/cluster-access.ts';
import { systemClock, type Clock } from '../runtime/clock.ts';
import { CLUSTER_LIMITS } from '../runtime/connection-limits.ts';
import { listen } from '../runtime/http-listener.ts';
import { injectionSettings } from '../runtime/injection-config.ts';
import type { Logger } from '../runtime/logger.ts';
import { createMetrics, type Metrics } from '../runtime/metrics.ts';
import type { Running } from '../runtime/run-process.ts';
import { createWebhookApp } from './app.ts';
import type { CertificateTiming } from './certificates/advance.ts';
import { issueCa } from './certificates/issue.ts';
import { CertificateManager } from './certificates/certificate-manager.ts';
import { createLeafUse, type LeafUse } from './certificates/leaf-use.ts';
import { ownReplicaOf, type WebhookConfig } from './config.ts';
import { Handover, type HandoverOptions } from './handover.ts';
import { ManifestGate, type GateSources } from './organisation/gate.ts';
import { isReview } from './routes/reviews.ts';

/** Time for requests in flight after the stop signal. The API server waits no longer than its time-out. */
const GRACE_MS = 10_000;

export interface Webhook extends Running {
  readonly port: number;
}

export interface StartOptions {
  clock?: Clock;
  timing?: CertificateTiming;
  everyMs?: number;
}

/** Opens the port, issues the certificates, and serves until `close`. */
export async function startWebhook(
  config: WebhookConfig,
  logger: Logger,
  signal: AbortSignal,
  options: StartOptions = {},
): Promise<Webhook> {
  const { clock = systemClock } = options;
  const client = new KubeClient({ access: loadClusterAccess(config.KUBECONFIG), part: 'webhook' });
  const metrics = createMetrics();
  const settings = injectionSettings(config, config.POD_NAMESPACE);
  const leafUse = createLeafUse(isReview);
  const organisation = organisationOf(config, { client, logger, clock });
  const { certificates, handover } = sharedState(config, { ...options, client, logger, clock, leafUse });
  const handler = createWebhookApp({
    logger,
    metrics,
    clock,
    settings: () => {
      const ca = certificates.trust();
      return ca === null ? null : { ...settings, ca };
    },
    organisation,
    unready: () => (signal.aborted ? 'this process is stopping' : certificates.unready()),
  });
  // A temporary self-signed certificate until the real one is issued. The kubelet's probes do not verify it.
  const tls = await issueCa({ now: clock.now(), days: 1 });
  const listener = await listen({
    handler: handover.around(leafUse.around(handler)),
    port: config.PORT,
    tls,
    limits: CLUSTER_LIMITS,
  });
  const server = listener.server as Server;
  leafUse.follow(server);
  watchTls(server, metrics, certificates);
  certificates.start();
  organisation?.start();
  logger.info('listening', { port: listener.port });
  return {
    port: listener.port,
    async close() {
      await certificates.close();
      await listener.close(GRACE_MS);
      await organisation?.close();
      handover.close();
      await client.close();
    },
  };
}

/** null: the organisation rules are not applied. */
const organisationOf = (config: WebhookConfig, sources: GateSources): ManifestGate | null =>
  config.MANIFEST_CONFIGURATION === null ? null : new ManifestGate(sources);

/** What this process shares with the other replicas through their Secret. */
function sharedState(
  config: WebhookConfig,
  sources: Omit<StartOptions, 'clock'> &
    Pick<HandoverOptions, 'client' | 'logger' | 'clock'> & { leafUse: LeafUse },
): { certificates: CertificateManager; handover: Handover } {
  const namespace = config.POD_NAMESPACE;
  const servedBy = (service: string, secret: string) => ({
    secret: { namespace, name: secret },
    hosts: hostsOf(service, namespace),
  });
  const certificates = new CertificateManager({
    ...sources,
    webhook: servedBy(config.WEBHOOK_SERVICE, config.TLS_SECRET),
    controlPlane: servedBy(config.CONTROL_PLANE_SERVICE, config.CONTROL_PLANE_TLS_SECRET),
    configuration: config.WEBHOOK_CONFIGURATION,
    manifestConfiguration: config.MANIFEST_CONFIGURATION,
    policy: config.CANARY_POLICY,
    beforeReady: (stopping) => handover.takeOver(stopping),
  });
  const handover = new Handover({
    ...sources,
    self: ownReplicaOf(config),
    secret: { namespace, name: config.TLS_SECRET },
    host: hostOf(config.WEBHOOK_SERVICE, namespace),
    trust: () => certificates.trust(),
  });
  return { certificates, handover };
}

function watchTls(server: Server, metrics: Metrics, certificates: CertificateManager): void {
  const errors = metrics.counter(
    'platform_webhook_tls_errors_total',
    'Failed TLS handshakes, for example because the API server does not trust the certificate.',
  );
  server.on('tlsClientError', (error: NodeJS.ErrnoException) =>
    errors.add({ code: error.code ?? 'unknown' }),
  );
  metrics.gauge(
    'platform_webhook_certificate_expiry_seconds',
    'Unix time at which the serving certificate expires.',
    () => {
      const end = certificates.expiresAt();
      return end === null ? [] : [{ value: Math.floor(end.getTime() / 1000) }];
    },
  );
}

/** The name by which the API server calls a Service. */
const hostOf = (service: string, namespace: string): string => `${service}.${namespace}.svc`;

/** The host names of a Service of the release, and loopback for a port-forward. */
function hostsOf(service: string, namespace: string): string[] {
  const name = hostOf(service, namespace);
  return [name, `${name}.cluster.local`, `${service}.${namespace}`, service, 'localhost', '127.0.0.1'];
}
